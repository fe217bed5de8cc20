//! The disk of this machine, below one directory.
//!
//! A thin cover of system calls: no state besides the path. Files are opened for each use and closed when dropped, so
//! a log of a thousand segments does not hold a thousand of them open.
//!
//! The log goes past the system's cache (`O_DIRECT`): few read it soon after it was written, and memory that is asked of the
//! system anew costs more than all else that a write does. Where a file system does not have that, and all that is not the log,
//! goes through the cache: the index is read again and again.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;

use super::{Disk, DiskFile, Sectors};

/// The name of the file that carries the lock. It is never removed: a lock on a file without a name locks nobody out.
const LOCK: &str = "lock";

/// Zeros are written in pieces of this size: large enough that the calls do not count.
const PIECE: usize = 1 << 20;

/// So many zeros are left to the kernel at once. Whoever syncs another file meanwhile waits behind them: with all 64 MiB of
/// a segment the slowest append beside it took 45 to 52 ms, with four at a time 29 to 43 ms.
const AT_ONCE: u64 = 4 << 20;

/// What is written directly is a multiple of this, begins at one, and lies at one in memory: a sector of most disks. A disk that
/// wants more says so, and is written through the cache.
const SECTOR: usize = 512;

/// A directory of the file system.
#[derive(Clone, Debug)]
pub struct RealDisk {
    root: Arc<Path>,
}

impl RealDisk {
    /// The directory at this path, made if it was not there.
    pub fn at(root: impl Into<PathBuf>) -> io::Result<Self> {
        let root: PathBuf = root.into();
        if !root.is_dir() {
            fs::create_dir_all(&root)?;
            if let Some(parent) = root.parent().filter(|it| !it.as_os_str().is_empty()) {
                File::open(parent)?.sync_all()?;
            }
        }
        Ok(Self { root: root.into() })
    }

    fn path(&self, path: &str) -> PathBuf {
        if path.is_empty() { self.root.to_path_buf() } else { self.root.join(path) }
    }
}

/// A file of the file system.
#[derive(Debug)]
pub struct RealFile {
    file: File,
    /// The same, past the cache; asked for with the first write that can go there, and none if that cannot be.
    direct: OnceLock<Option<File>>,
}

impl From<File> for RealFile {
    fn from(file: File) -> Self {
        Self { file, direct: OnceLock::new() }
    }
}

impl RealFile {
    fn direct(&self) -> Option<&File> {
        let open = || {
            // By its number: its name may be another one by now.
            let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
            rustix::fs::open(path, OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty()).ok().map(File::from)
        };
        self.direct.get_or_init(open).as_ref()
    }
}

/// May these bytes go past the cache, to this place?
fn is_whole(at: u64, bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && at.is_multiple_of(SECTOR as u64)
        && bytes.len().is_multiple_of(SECTOR)
        && bytes.as_ptr().align_offset(SECTOR) == 0
}

impl Disk for RealDisk {
    type File = RealFile;
    type Lock = File;

    fn lock(&self) -> io::Result<File> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(self.path(LOCK))?;
        file.try_lock()?;
        Ok(file)
    }

    fn create_dir(&self, path: &str) -> io::Result<()> {
        fs::create_dir(self.path(path))
    }

    fn create(&self, path: &str) -> io::Result<RealFile> {
        OpenOptions::new().read(true).write(true).create_new(true).open(self.path(path)).map(RealFile::from)
    }

    fn open(&self, path: &str) -> io::Result<RealFile> {
        OpenOptions::new().read(true).write(true).open(self.path(path)).map(RealFile::from)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path(from), self.path(to))
    }

    fn remove(&self, path: &str) -> io::Result<()> {
        fs::remove_file(self.path(path))
    }

    fn remove_dir(&self, path: &str) -> io::Result<()> {
        fs::remove_dir(self.path(path))
    }

    fn list(&self, path: &str) -> io::Result<Vec<String>> {
        // A name that is not Unicode is not one of ours, and a lossy one never equals one of ours.
        fs::read_dir(self.path(path))?.map(|it| Ok(it?.file_name().to_string_lossy().into_owned())).collect()
    }

    fn sync_dir(&self, path: &str) -> io::Result<()> {
        File::open(self.path(path))?.sync_all()
    }

    fn free_space(&self) -> io::Result<u64> {
        let space = rustix::fs::statvfs(&*self.root)?;
        Ok(space.f_bavail.saturating_mul(space.f_frsize))
    }
}

impl DiskFile for RealFile {
    fn size(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(into, at)
    }

    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, at)
    }

    fn write_past(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        let direct = if is_whole(at, bytes) { self.direct() } else { None };
        match direct.map(|direct| direct.write_all_at(bytes, at)) {
            // The disk has larger sectors, and has written nothing.
            Some(Err(error)) if error.kind() == io::ErrorKind::InvalidInput => self.file.write_all_at(bytes, at),
            Some(outcome) => outcome,
            None => self.file.write_all_at(bytes, at),
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn allocate(&self, bytes: u64) -> io::Result<()> {
        // Reserving first says at once whether there is room, and keeps the blocks together. Where it is not supported
        // the zeros alone do.
        match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), 0, bytes) {
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            Err(other) => return Err(other.into()),
        }
        let zeros = Sectors::zeros(PIECE);
        let mut at = 0;
        while at < bytes {
            let piece = PIECE.min(usize::try_from(bytes - at).unwrap_or(PIECE));
            self.write_past(at, &zeros.bytes()[..piece])?;
            at += piece as u64;
            if at.is_multiple_of(AT_ONCE) {
                self.sync_data()?;
            }
        }
        Ok(())
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.file.set_len(bytes)
    }
}
