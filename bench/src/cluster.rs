//! A private Postgres: made for the measurement, with the settings that it comes with, and gone afterwards.
//!
//! What holds: nothing that makes it less durable is set, and both sides use the same one. It never runs as root, because
//! it refuses to; if root asks, it runs as the user `postgres`, who came with the package.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

use crate::clock::now;

const START_MAX: Duration = Duration::from_secs(30);
const USER: &str = "postgres";

/// A running Postgres.
pub(crate) struct Cluster {
    postmaster: Child,
    port: u16,
    folder: TempDir,
}

impl Cluster {
    /// Makes one in a new folder under this one, which must be on the disk that is to be measured.
    pub(crate) async fn start(programs: &Path, under: &Path) -> anyhow::Result<Cluster> {
        let folder = tempfile::Builder::new().prefix("hapax-bench-").tempdir_in(under)?;
        let data = folder.path().join("data");
        if rustix::process::geteuid().is_root() {
            let (user, group) = owner_of_postgres()?;
            chown(folder.path(), Some(user), Some(group))?;
        }
        let log = folder.path().join("initdb.log");
        let made = unprivileged(&programs.join("initdb"))
            .args(["--username", USER, "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--pgdata"])
            .arg(&data)
            .stdin(Stdio::null())
            .stdout(File::create(&log)?)
            .stderr(File::options().append(true).open(&log)?)
            .status()
            .context("initdb does not run")?;
        if !made.success() {
            bail!("initdb failed: {}", fs::read_to_string(&log).unwrap_or_default());
        }
        let port = free_port()?;
        let log = File::create(folder.path().join("postgres.log"))?;
        let postmaster = unprivileged(&programs.join("postgres"))
            .args(["-h", "127.0.0.1", "-p", &port.to_string(), "-k"])
            .arg(folder.path())
            .arg("-D")
            .arg(&data)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("postgres does not start")?;
        let cluster = Cluster { postmaster, port, folder };
        let deadline = now() + START_MAX;
        while let Err(error) = cluster.connect().await {
            if now() > deadline {
                let log = fs::read_to_string(cluster.folder.path().join("postgres.log")).unwrap_or_default();
                bail!("postgres does not answer: {error:#}\n{log}");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(cluster)
    }

    /// A connection, driven in the background.
    pub(crate) async fn connect(&self) -> anyhow::Result<Client> {
        let (client, connection) = tokio_postgres::connect(&self.url(), NoTls).await?;
        // It ends when its client is dropped; if it ends before, the client says why.
        tokio::spawn(connection);
        Ok(client)
    }

    /// Where it listens. Both sides come this way.
    pub(crate) fn url(&self) -> String {
        format!("postgres://{USER}@127.0.0.1:{}/postgres?sslmode=disable", self.port)
    }

    /// Where files of the measurement may lie, on the disk that is measured.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Where it listens, for whoever speaks its protocol without a driver.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The process that started all its others.
    pub(crate) fn pid(&self) -> u32 {
        self.postmaster.id()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        interrupt(&mut self.postmaster, Signal::INT);
    }
}

/// Asks a child to end, and waits for it.
pub(crate) fn interrupt(child: &mut Child, signal: Signal) {
    if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // If it has ended already, that is as good.
        _ = kill_process(pid, signal);
    }
    _ = child.wait();
}

/// Where the programs of Postgres are: what was said, or the newest version of Debian's packages.
pub(crate) fn programs(said: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    if let Some(said) = said {
        return Ok(said);
    }
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let newest = versions.filter_map(|it| it.file_name().to_str()?.parse::<u32>().ok()).max();
    let newest = newest.context("no Postgres in /usr/lib/postgresql; say where with --postgres-bin")?;
    Ok(PathBuf::from(format!("/usr/lib/postgresql/{newest}/bin")))
}

fn unprivileged(program: &Path) -> Command {
    if !rustix::process::geteuid().is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid", USER, "--regid", USER, "--clear-groups", "--"]).arg(program);
    command
}

/// The user and the group whose home the package made.
fn owner_of_postgres() -> anyhow::Result<(u32, u32)> {
    let home = fs::metadata("/var/lib/postgresql").context("there is no user postgres to run it as")?;
    Ok((home.uid(), home.gid()))
}

/// One that nobody listens on just now.
pub(crate) fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}
