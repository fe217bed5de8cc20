//! A file and a directory of the simulated disk: what a process sees, what is durable, and the difference.
//!
//! Not here: calls, faults and paths, which are the world's.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The unit that a disk keeps or loses.
pub(super) const SECTOR: usize = 512;

/// Numbers from a seed (splitmix64): few lines, and the same for ever.
#[derive(Clone, Debug)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = self.0;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        it ^ (it >> 31)
    }

    /// Below `end`, which is not zero.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(super) fn coin(&mut self) -> bool {
        self.next() & 1 == 1
    }
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    File(FileNode),
    Dir(DirNode),
}

/// A file: `cache` is what is read, `durable` what survives, `dirty` the sectors that a sync has yet to write. Bytes are
/// shared between a disk and its images until one of them writes.
#[derive(Clone, Debug, Default)]
pub(super) struct FileNode {
    pub(super) cache: Arc<Vec<u8>>,
    durable: Arc<Vec<u8>>,
    dirty: BTreeSet<usize>,
}

impl FileNode {
    pub(super) fn write(&mut self, at: usize, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let end = at + bytes.len();
        let cache = Arc::make_mut(&mut self.cache);
        if cache.len() < end {
            cache.resize(end, 0);
        }
        cache[at..end].copy_from_slice(bytes);
        self.dirty.extend(at / SECTOR..end.div_ceil(SECTOR));
    }

    pub(super) fn resize(&mut self, bytes: usize) {
        // A sector that is cut in two, or that grows, is another one afterwards.
        self.dirty.extend(self.cache.len().min(bytes) / SECTOR..self.cache.len().max(bytes).div_ceil(SECTOR));
        Arc::make_mut(&mut self.cache).resize(bytes, 0);
    }

    pub(super) fn sync(&mut self) {
        let durable = Arc::make_mut(&mut self.durable);
        durable.resize(self.cache.len(), 0);
        for sector in std::mem::take(&mut self.dirty) {
            let range = sector * SECTOR..((sector + 1) * SECTOR).min(self.cache.len());
            if range.start < range.end {
                durable[range.clone()].copy_from_slice(&self.cache[range]);
            }
        }
    }

    /// Each unsynced sector reaches the disk, or not, or in part; all count as clean afterwards.
    pub(super) fn sync_badly(&mut self, random: &mut Random) {
        if self.dirty.is_empty() && self.durable.len() == self.cache.len() {
            return;
        }
        let durable = Arc::make_mut(&mut self.durable);
        if random.coin() {
            durable.resize(self.cache.len(), 0);
        }
        for sector in std::mem::take(&mut self.dirty) {
            let range = sector * SECTOR..((sector + 1) * SECTOR).min(self.cache.len()).min(durable.len());
            if range.start >= range.end {
                continue;
            }
            let middle = range.start + random.below(range.len());
            let kept = match random.below(4) {
                0 => range,
                1 => range.start..range.start,
                2 => range.start..middle,
                _ => middle..range.end,
            };
            durable[kept.clone()].copy_from_slice(&self.cache[kept]);
        }
    }

    /// A sync fails: clean for the kernel, whatever the disk has; some pages are read again from there.
    pub(super) fn fail_sync(&mut self, random: &mut Random) {
        let dirty = self.dirty.clone();
        self.sync_badly(random);
        // The length is the file system's, and is not forgotten: it stays to be written.
        Arc::make_mut(&mut self.durable).resize(self.cache.len(), 0);
        let cache = Arc::make_mut(&mut self.cache);
        for sector in dirty {
            let range = sector * SECTOR..((sector + 1) * SECTOR).min(cache.len());
            if range.start < range.end && random.coin() {
                cache[range.clone()].copy_from_slice(&self.durable[range]);
            }
        }
    }

    pub(super) fn power_cut(&mut self, random: &mut Random) {
        self.sync_badly(random);
        self.cache = self.durable.clone();
    }

    pub(super) fn put(&mut self, bytes: &[u8]) {
        let bytes = Arc::new(bytes.to_vec());
        *self = Self { cache: Arc::clone(&bytes), durable: bytes, dirty: BTreeSet::new() };
    }
}

/// A directory: `live` is what is seen, `pending` the changes that are not durable, each of them whole or not at all.
#[derive(Clone, Debug, Default)]
pub(super) struct DirNode {
    pub(super) live: BTreeMap<String, usize>,
    durable: BTreeMap<String, usize>,
    pending: Vec<Change>,
}

/// Names with what they stand for afterwards.
pub(super) type Change = Vec<(String, Option<usize>)>;

impl DirNode {
    pub(super) fn change(&mut self, change: Change) {
        apply(&mut self.live, &change);
        self.pending.push(change);
    }

    pub(super) fn sync(&mut self) {
        self.pending.clear();
        self.durable = self.live.clone();
    }

    pub(super) fn power_cut(&mut self, random: &mut Random) {
        for change in std::mem::take(&mut self.pending) {
            if random.coin() {
                apply(&mut self.durable, &change);
            }
        }
        self.live = self.durable.clone();
    }
}

fn apply(names: &mut BTreeMap<String, usize>, change: &Change) {
    for (name, node) in change {
        match node {
            Some(node) => names.insert(name.clone(), *node),
            None => names.remove(name),
        };
    }
}
