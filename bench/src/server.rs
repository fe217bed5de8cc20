//! Servers of Hapax: the release binary, each in a process of its own.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::Signal;

use crate::clock::now;
use crate::cluster::interrupt;

const START_MAX: Duration = Duration::from_secs(30);

/// A running server.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts one on this store, in a folder of its own, and waits until it listens.
    pub(crate) async fn start(program: &Path, store: &str, folder: &Path) -> anyhow::Result<Server> {
        fs::create_dir_all(folder)?;
        let log = folder.join("log");
        let mut process = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--store", store])
            // Where no settings of anybody are.
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .with_context(|| format!("{} does not start", program.display()))?;
        let deadline = now() + START_MAX;
        loop {
            let said = fs::read_to_string(&log)?;
            if let Some(address) = address_in(&said) {
                return Ok(Server { process, address });
            }
            if now() > deadline || process.try_wait()?.is_some() {
                interrupt(&mut process, Signal::KILL);
                bail!("the server does not listen: {said}");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        interrupt(&mut self.process, Signal::TERM);
    }
}

/// Where a server says that it listens. Whole lines only: half an address is another one.
fn address_in(said: &str) -> Option<SocketAddr> {
    let (lines, _) = said.rsplit_once('\n')?;
    let (_, rest) = lines.split_once("listening on http://")?;
    rest.split(',').next()?.parse().ok()
}

/// The release binary: what was said, or built now beside this program.
pub(crate) fn program(said: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    if let Some(said) = said {
        return said.canonicalize().with_context(|| format!("there is no {}", said.display()));
    }
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo).args(["build", "--release", "--locked", "--package", "hapax"]).status()?;
    if !built.success() {
        bail!("hapax does not build");
    }
    let here = std::env::current_exe()?;
    let target = here.parent().and_then(Path::parent).context("this program is in no folder")?;
    Ok(target.join("release/hapax"))
}
