//! File systems of our own, mounted for a test and gone after it, whatever happened in it.
//!
//! Where the machine does not let us, a test fails with what is needed, unless `HAPAX_NO_ROOT=1` says that this is known.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file system that is unmounted when this is dropped. A loop device goes with it.
pub struct Mounted(PathBuf);

impl Mounted {
    /// `mount ARGUMENTS… folder`. Why not, if it cannot be.
    pub fn new(arguments: &[&str], folder: &Path) -> Result<Self, String> {
        // What a run that was killed has left.
        while is_mounted(folder) && unmount(folder) {}
        fs::create_dir_all(folder).map_err(|error| error.to_string())?;
        let output = Command::new("mount").args(arguments).arg(folder).output();
        let output = output.map_err(|error| format!("mount: {error}"))?;
        if output.status.success() {
            return Ok(Self(folder.to_owned()));
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        unmount(&self.0);
    }
}

/// Unmounts now, or as soon as whoever still has a file open lets go of it.
fn unmount(folder: &Path) -> bool {
    let run = |options: &[&str]| Command::new("umount").args(options).arg(folder).output();
    let done = |options: &[&str]| run(options).is_ok_and(|output| output.status.success());
    done(&[]) || done(&["--lazy"])
}

fn is_mounted(folder: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    mounts.lines().any(|line| line.split(' ').nth(1).is_some_and(|it| Path::new(it) == folder))
}

/// Mounts, or says what is needed. Nothing only if it is known that this machine does not let us.
pub fn mount(test: &str, arguments: &[&str], folder: &Path) -> Option<Mounted> {
    Mounted::new(arguments, folder).map_err(|why| cannot(test, &why)).ok()
}

/// Fails with what is needed, unless it is known that this machine does not let us; then says so, loudly.
pub fn cannot(test: &str, why: &str) {
    let known = std::env::var("HAPAX_NO_ROOT").is_ok_and(|it| it == "1");
    let why = why.trim();
    assert!(
        known,
        "{test} needs root, mkfs.ext4, mount and a free loop device (/dev/loop*): {why}. HAPAX_NO_ROOT=1 leaves it out."
    );
    println!("not run: {test}, which needs to mount a file system: {why}");
}
