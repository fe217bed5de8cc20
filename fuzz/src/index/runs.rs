//! A table whose runs were damaged: it says what it said before, of the frames that it still covers, or that it is damaged.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use hapax_store::embedded::disk::{Disk as _, SimDisk};
use hapax_store::embedded::index::table::{KEY, Key, Place, Record, Table, TableOptions};
use hapax_store::embedded::log::{FrameNumber, LogId};
use sha2::{Digest as _, Sha256};

use super::super::damage::{Files, put_checksum, suffer};
use crate::allocations::at_most;

const ID: LogId = LogId([3; 16]);
const NAME: &str = "ids";
const BLOCK: usize = 4096;
/// The tables are small, and so is all that is read of them.
const AT_ONCE_BYTES_MAX: usize = 1 << 20;

fn options() -> TableOptions {
    TableOptions { memory_records_max: 512, merge_width: 2, ordered: false, sync: false, piece_bytes: BLOCK }
}

/// A table of two runs, of which the first has two blocks, all that was ever in it, and the same table of another log. (The
/// same frames of the same log never have other records.)
struct World {
    disk: SimDisk,
    files: Files,
    others: Vec<Files>,
    records: Vec<Record>,
}

/// The records of a frame: three of four keys are new, and one leads to every frame.
fn records(frame: u64) -> Vec<Record> {
    let count = if frame == 1 { 140 } else { 9 };
    let key = |index: u32| {
        let mut key = [0; KEY];
        let own = if index.is_multiple_of(4) { index } else { index + 1000 * frame as u32 };
        key[..4].copy_from_slice(&(index % 3).to_be_bytes());
        key[4..8].copy_from_slice(&own.to_be_bytes());
        Key(key)
    };
    (0..count).map(|index| Record { key: key(index), place: Place { frame: FrameNumber(frame), index } }).collect()
}

fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let make = |id| {
            let disk = SimDisk::new(1);
            let table = Table::open(disk.clone(), NAME, id, options()).expect("an empty disk");
            for frame in 1..=3 {
                table.insert(FrameNumber(frame), &records(frame));
                if frame != 2 {
                    table.flush().expect("a good disk");
                }
            }
            disk
        };
        let disk = make(ID);
        let others = vec![files(&make(LogId([4; 16])))];
        World { files: files(&disk), disk, others, records: (1..=3).flat_map(records).collect() }
    })
}

fn files(disk: &SimDisk) -> Files {
    disk.files().into_iter().map(|it| (it.clone(), disk.contents(&it))).collect()
}

pub(super) fn check(program: &[u8]) {
    let world = world();
    let mut files = world.files.clone();
    let sealed = suffer(&mut files, &world.others, program, seal);
    let disk = world.disk.fork(1);
    for (name, bytes) in &files {
        match bytes {
            Some(bytes) => disk.put(name, bytes),
            None => disk.remove(name).expect("it was there"),
        }
    }
    let Ok(table) = at_most(AT_ONCE_BYTES_MAX, || Table::open(disk, NAME, ID, options())) else { return };
    let covered: Vec<Record> = world.records.iter().filter(|it| it.place.frame <= table.flushed()).copied().collect();
    answers(&table, &covered, sealed);
    // Merging reads every block; what it can not read it leaves, and says so.
    while let Ok(true) = table.upkeep() {}
    answers(&table, &covered, sealed);
}

fn answers(table: &Table<SimDisk>, covered: &[Record], sealed: bool) {
    let mut places: BTreeMap<Key, Vec<Place>> = BTreeMap::new();
    covered.iter().for_each(|it| places.entry(it.key).or_default().push(it.place));
    let absent = Key([0xee; KEY]);
    for key in places.keys().step_by(7).chain([&absent]) {
        let mut expected = places.get(key).cloned().unwrap_or_default();
        expected.reverse();
        if let Ok(found) = table.find(key) {
            assert!(sealed || found == expected, "{key:?} leads to {found:?}, not {expected:?}");
        }
        if let Ok(found) = table.at_or_before(key, 4) {
            let last = covered.iter().filter(|it| it.key <= *key && it.key.0[..4] == key.0[..4]).max();
            assert!(sealed || found.as_ref() == last, "before {key:?} is {found:?}, not {last:?}");
        }
    }
    for prefix in 0..4_u32 {
        let prefix = prefix.to_be_bytes();
        let mut expected: Vec<Record> = covered.iter().filter(|it| it.key.0.starts_with(&prefix)).copied().collect();
        expected.sort();
        expected.truncate(50);
        if let Ok(found) = table.with_prefix(&prefix, 50) {
            assert!(sealed || found == expected, "{prefix:?} begins {found:?}, not {expected:?}");
        }
    }
}

/// Makes the checksum right of the header, of a block, or of the tail if the value is odd.
pub(super) fn seal(name: &str, bytes: &mut [u8], at: usize, value: u8) {
    seal_of(ID, name, bytes, at, value);
}

pub(super) fn seal_of(id: LogId, name: &str, bytes: &mut [u8], at: usize, value: u8) {
    let Some((table, from, to)) = name.strip_prefix("index/").and_then(|it| it.strip_suffix(".run")).and_then(|it| {
        let mut parts = it.split('-');
        Some((parts.next()?, parts.next()?.parse::<u64>().ok()?, parts.next()?.parse::<u64>().ok()?))
    }) else {
        return;
    };
    let mut seed = Sha256::new();
    for part in [&b"hapax run"[..], &id.0, &from.to_le_bytes(), &to.to_le_bytes(), table.as_bytes()] {
        seed.update(part);
    }
    let seed = &seed.finalize()[..8];
    let whole = bytes.to_vec();
    if bytes.len() < BLOCK {
        return;
    }
    let number = at / BLOCK;
    if value % 2 == 1 {
        let records = u64::from_le_bytes(*whole[40..].first_chunk().expect("it is as long as a block")) as usize;
        let tail = (1 + records.div_ceil(127).min(1000)) * BLOCK;
        if let Some(summed) = whole.get(tail..whole.len() - 4) {
            put_checksum(bytes, whole.len() - 4, &[seed, summed]);
        }
    } else if number == 0 {
        put_checksum(bytes, BLOCK - 4, &[&whole[..BLOCK - 4]]);
    } else if let Some(block) = whole.get(number * BLOCK + 4..(number + 1) * BLOCK) {
        put_checksum(bytes, number * BLOCK, &[seed, &(number as u64 - 1).to_le_bytes(), block]);
    }
}
