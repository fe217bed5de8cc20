//! What the log asks of a disk: a dozen calls, so that a bad disk can stand in for a good one.
//!
//! A path is relative to the root of the disk, with `/` between its parts; the root itself is the empty path. Nothing
//! written is durable before [`DiskFile::sync_data`], and no name is durable before [`Disk::sync_dir`] of its
//! directory.
//!
//! One thing is taken for granted: at a power cut a sector that is being written holds old bytes, new bytes or some of
//! each, never others. Writing the same bytes over themselves is therefore harmless.
//!
//! Not here: buffering, retries, paths outside the root. A failed call is reported as it is and never tried again.

mod real;
mod sectors;
mod sim;

#[cfg(test)]
mod tests;

use std::io;

pub use real::{RealDisk, RealFile};
pub use sectors::Sectors;
pub use sim::{Fault, SimDisk};

/// A directory, and all that is done in it. A clone is the same directory.
pub trait Disk: Clone + Send + Sync + 'static {
    /// An open file.
    type File: DiskFile;
    /// Held by the one process that uses the directory; dropping it lets the next one in.
    type Lock: Send + Sync;

    /// Takes the directory for this process alone: [`io::ErrorKind::WouldBlock`] if another one has it.
    fn lock(&self) -> io::Result<Self::Lock>;

    /// Makes a directory that was not there.
    fn create_dir(&self, path: &str) -> io::Result<()>;

    /// Makes an empty file that was not there.
    fn create(&self, path: &str) -> io::Result<Self::File>;

    /// Opens a file that is there, for reading and writing.
    fn open(&self, path: &str) -> io::Result<Self::File>;

    /// Gives a file or directory another name, in place of what had it.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, path: &str) -> io::Result<()>;

    /// Removes an empty directory.
    fn remove_dir(&self, path: &str) -> io::Result<()>;

    /// The names in a directory, in any order.
    fn list(&self, path: &str) -> io::Result<Vec<String>>;

    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &str) -> io::Result<()>;

    /// How many bytes this process could still write.
    fn free_space(&self) -> io::Result<u64>;
}

/// An open file. Every call says where; there is no position to share.
pub trait DiskFile: Send + Sync + 'static {
    /// Its length in bytes.
    fn size(&self) -> io::Result<u64>;

    /// Fills all of `into`, or fails.
    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<()>;

    /// Writes all of `bytes`, or fails having written any part of them.
    fn write_at(&self, at: u64, bytes: &[u8]) -> io::Result<()>;

    /// The same for what nobody reads soon, in whole sectors that lie in [`Sectors`]: where a disk can, past the system's cache.
    fn write_past(&self, at: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_at(at, bytes)
    }

    /// Makes durable what was written, and the length. After a failure nothing is known of what was written before it,
    /// and a second call may report success all the same.
    fn sync_data(&self) -> io::Result<()>;

    /// Makes an empty file this long, of zeros that are really written: a sync of blocks that are only reserved costs
    /// the journal of the file system.
    fn allocate(&self, bytes: u64) -> io::Result<()>;

    /// Makes the file this long.
    fn set_len(&self, bytes: u64) -> io::Result<()>;
}
