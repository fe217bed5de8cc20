//! A server of somebody else's, in a process of its own: started, waited for, and ended.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::process::Signal;

use crate::clock::now;
use crate::cluster::interrupt;

const START_MAX: Duration = Duration::from_secs(30);

/// A running server.
pub(super) struct Process {
    child: Child,
    pub(super) address: SocketAddr,
}

impl Process {
    /// Starts it and waits until somebody listens on its port.
    pub(super) async fn start(mut command: Command, port: u16, log: &Path) -> anyhow::Result<Process> {
        let said = File::create(log)?;
        command.stdin(Stdio::null()).stdout(said.try_clone()?).stderr(said);
        let shown = command.get_program().to_owned();
        let child = command.spawn().with_context(|| format!("{} does not start", shown.display()))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut process = Process { child, address };
        let deadline = now() + START_MAX;
        while TcpStream::connect(address).is_err() {
            if now() > deadline || process.child.try_wait()?.is_some() {
                bail!("{} does not listen: {}", shown.display(), fs::read_to_string(log).unwrap_or_default());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(process)
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // What it wrote is thrown away, so it need not put anything in order.
        interrupt(&mut self.child, Signal::KILL);
    }
}
