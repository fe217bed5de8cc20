//! A disk whose syncs wait at a gate, so that a test decides when a commit is durable, and whether it ever is.

use std::io;
use std::sync::{Arc, Condvar, Mutex};

use hapax_store::embedded::disk::{Disk, DiskFile, SimDisk};

/// What a sync meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gate {
    /// It goes through.
    Open,
    /// It waits.
    Shut,
    /// It fails.
    Broken,
    /// It panics.
    Gone,
}

#[derive(Clone)]
pub(crate) struct Gated {
    pub(crate) disk: SimDisk,
    state: Arc<(Mutex<(Gate, usize)>, Condvar)>,
}

impl Gated {
    pub(crate) fn new() -> Self {
        Self { disk: SimDisk::new(1), state: Arc::new((Mutex::new((Gate::Open, 0)), Condvar::new())) }
    }

    pub(crate) fn set(&self, gate: Gate) {
        let (state, moved) = &*self.state;
        state.lock().expect("no panic").0 = gate;
        moved.notify_all();
    }

    /// Waits until somebody stands at the gate.
    pub(crate) fn wait_for_one(&self) {
        let (state, moved) = &*self.state;
        drop(moved.wait_while(state.lock().expect("no panic"), |(_, waiting)| *waiting == 0).expect("no panic"));
    }

    fn pass(&self) -> io::Result<()> {
        let (state, moved) = &*self.state;
        let mut now = state.lock().expect("no panic");
        now.1 += 1;
        moved.notify_all();
        let mut now = moved.wait_while(now, |(gate, _)| *gate == Gate::Shut).expect("no panic");
        now.1 -= 1;
        let gate = now.0;
        drop(now);
        assert!(gate != Gate::Gone, "on purpose");
        if gate == Gate::Broken { Err(io::Error::other("the gate is broken")) } else { Ok(()) }
    }
}

pub(crate) struct GatedFile {
    file: <SimDisk as Disk>::File,
    disk: Gated,
}

impl Disk for Gated {
    type File = GatedFile;
    type Lock = <SimDisk as Disk>::Lock;

    fn lock(&self) -> io::Result<Self::Lock> {
        self.disk.lock()
    }

    fn create_dir(&self, path: &str) -> io::Result<()> {
        self.disk.create_dir(path)
    }

    fn create(&self, path: &str) -> io::Result<GatedFile> {
        Ok(GatedFile { file: self.disk.create(path)?, disk: self.clone() })
    }

    fn open(&self, path: &str) -> io::Result<GatedFile> {
        Ok(GatedFile { file: self.disk.open(path)?, disk: self.clone() })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.disk.rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.disk.remove(path)
    }

    fn remove_dir(&self, path: &str) -> io::Result<()> {
        self.disk.remove_dir(path)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.disk.list(path)
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.disk.sync_dir(path)
    }

    fn free_space(&self) -> io::Result<u64> {
        self.disk.free_space()
    }
}

impl DiskFile for GatedFile {
    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_at(at, into)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(at, bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.pass()?;
        self.file.sync_data()
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        self.file.allocate(bytes)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }
}
