//! A disk in memory that is as bad as a disk may be, from a seed.
//!
//! What holds: only what was synced survives [`SimDisk::power_cut`]. Of the rest each sector of 512 bytes is kept,
//! lost or torn (some old bytes, some new), a changed length is kept or not, and each unsynced change of a directory
//! is kept or not, all independently. A sync that fails leaves the pages marked clean: some reached the disk, some are
//! gone, some are still to be read until they are evicted, and the next sync has nothing to do and succeeds. The same
//! seed and the same calls give the same disk.
//!
//! Not here: damage to what was synced, which a test does with [`SimDisk::put`]; time; a directory sync that fails and
//! then pretends (a file system whose journal fails goes read-only instead).

mod node;
mod world;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Disk, DiskFile};
use world::World;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The machine stops: the call may or may not have had its effect, and every later one fails.
    Crash,
    /// The call fails, and the next one does not.
    Eio,
    /// The same, with the code of a full disk.
    Enospc,
}

/// A disk in memory. A clone is the same disk.
#[derive(Clone, Debug)]
pub struct SimDisk {
    world: Arc<Mutex<World>>,
}

impl SimDisk {
    /// An empty disk of a gibibyte.
    pub fn new(seed: u64) -> Self {
        Self { world: Arc::new(Mutex::new(World::new(seed))) }
    }

    /// Another disk with the same contents, durable and not, that goes its own way from here.
    pub fn fork(&self, seed: u64) -> Self {
        let mut world = self.world().clone();
        world.reseed(seed);
        Self { world: Arc::new(Mutex::new(world)) }
    }

    /// Lets the `call`-th call from now fail, the next one being the first.
    pub fn fail(&self, call: u64, fault: Fault) {
        self.world().fail(call, fault);
    }

    /// Lets no call fail that has not failed yet.
    pub fn heal(&self) {
        self.world().heal();
    }

    /// How many calls were made so far.
    pub fn calls(&self) -> u64 {
        self.world().calls()
    }

    /// The power goes, and comes back: what was not synced is lost or torn.
    pub fn power_cut(&self) {
        self.world().power_cut();
    }

    /// The process dies, and the machine does not: nothing is lost, and the lock is free.
    pub fn kill(&self) {
        self.world().restart();
    }

    /// Did the machine stop in one of its calls? Every call fails until the next restart.
    pub fn is_off(&self) -> bool {
        self.world().is_off()
    }

    /// From now on keeps what the disk is just before a call: that is what a machine finds that stopped there. At most so
    /// many, spread evenly over `calls` calls.
    pub fn keep_images(&self, max: usize, calls: u64) {
        self.world().keep_images(max, calls);
    }

    /// The images that were kept, each a disk of its own with chances of its own. No more are kept.
    pub fn take_images(&self, seed: u64) -> Vec<Self> {
        let images = self.world().take_images();
        let own = |(number, mut world): (usize, World)| {
            world.reseed(seed.wrapping_add(number as u64));
            Self { world: Arc::new(Mutex::new(world)) }
        };
        images.into_iter().enumerate().map(own).collect()
    }

    /// How large the disk is, all files included.
    pub fn set_capacity(&self, bytes: u64) {
        self.world().set_capacity(bytes);
    }

    /// All bytes of a file, as a process would read them now.
    pub fn contents(&self, path: &str) -> Option<Vec<u8>> {
        self.world().contents(path)
    }

    /// Puts these bytes in place of a file's, durably and without counting as a call: damage, or a repair.
    pub fn put(&self, path: &str, bytes: &[u8]) {
        self.world().put(path, bytes);
    }

    /// Every file, in order.
    pub fn files(&self) -> Vec<String> {
        self.world().files()
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open file of a [`SimDisk`]. It is of no use to the process after the next.
#[derive(Debug)]
pub struct SimFile {
    disk: SimDisk,
    node: usize,
    life: u64,
}

/// The lock of a [`SimDisk`].
#[derive(Debug)]
pub struct SimLock {
    disk: SimDisk,
    life: u64,
}

impl Drop for SimLock {
    fn drop(&mut self) {
        self.disk.world().unlock(self.life);
    }
}

impl Disk for SimDisk {
    type File = SimFile;
    type Lock = SimLock;

    fn lock(&self) -> io::Result<SimLock> {
        let life = self.world().lock()?;
        Ok(SimLock { disk: self.clone(), life })
    }

    fn create_dir(&self, path: &str) -> io::Result<()> {
        self.world().create_dir(path)
    }

    fn create(&self, path: &str) -> io::Result<SimFile> {
        let (node, life) = self.world().create(path)?;
        Ok(SimFile { disk: self.clone(), node, life })
    }

    fn open(&self, path: &str) -> io::Result<SimFile> {
        let (node, life) = self.world().open(path)?;
        Ok(SimFile { disk: self.clone(), node, life })
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.world().rename(from, to)
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        self.world().remove(path, false)
    }

    fn remove_dir(&self, path: &str) -> io::Result<()> {
        self.world().remove(path, true)
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        self.world().list(path)
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        self.world().sync_dir(path)
    }

    fn free_space(&self) -> io::Result<u64> {
        Ok(self.world().free())
    }
}

impl DiskFile for SimFile {
    fn size(&self) -> io::Result<u64> {
        self.disk.world().size(self.node, self.life)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.disk.world().read(self.node, self.life, at, into)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.world().write(self.node, self.life, at, bytes)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.disk.world().sync(self.node, self.life)
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        self.disk.world().resize(self.node, self.life, bytes)
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.disk.world().resize(self.node, self.life, bytes)
    }
}
