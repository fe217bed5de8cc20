//! A script of calls from a seed, and a model that knows every answer.

use std::collections::BTreeSet;

use super::*;

/// Numbers from a seed (xorshift).
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) | 1)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    /// One of so few keys that many have several places.
    pub(super) fn key(&mut self) -> Key {
        let mut key = [0; KEY];
        key[3] = self.below(3) as u8;
        key[4] = [0, 1, 0xff][self.below(3) as usize];
        key[19] = self.below(12) as u8;
        Key(key)
    }
}

#[derive(Clone, Debug)]
pub(super) enum Step {
    Insert(Vec<(Key, u32)>),
    Room,
    Upkeep,
    Flush,
    Reopen,
}

pub(super) fn script(seed: u64, steps: u64) -> Vec<Step> {
    let mut dice = Dice::new(seed);
    let step = |_| match dice.below(15) {
        12..=14 => Step::Room,
        0 => Step::Flush,
        1..=3 => Step::Upkeep,
        4 => Step::Reopen,
        5 => Step::Insert(vec![]),
        6 if dice.below(4) == 0 => Step::Insert((0..300).map(|it| (dice.key(), it)).collect()),
        _ => {
            let records = 1 + dice.below(12) as u32;
            Step::Insert((0..records).map(|it| (dice.key(), it)).collect())
        }
    };
    (0..steps).map(step).collect()
}

/// Every frame that was ever inserted.
#[derive(Clone, Debug, Default)]
pub(super) struct Model {
    pub(super) frames: Vec<Vec<Record>>,
}

impl Model {
    /// Takes a frame.
    pub(super) fn add(&mut self, records: &[(Key, u32)]) -> FrameNumber {
        let frame = self.frames.len() as u64 + 1;
        self.frames.push(records.iter().map(|(key, index)| record(*key, frame, *index)).collect());
        FrameNumber(frame)
    }

    /// Inserts what a table that was opened again lacks.
    pub(super) fn catch_up<D: Disk>(&self, table: &Table<D>) {
        for (frame, records) in (1..).zip(&self.frames).skip(table.flushed().0 as usize) {
            table.insert(FrameNumber(frame), records);
        }
    }

    /// Compares many answers with those of the frames that the table has.
    pub(super) fn check<D: Disk>(&self, table: &Table<D>, dice: &mut Dice) -> Result<(), TableError> {
        let frames = &self.frames[..table.last().0 as usize];
        let all: BTreeSet<Record> = frames.iter().flatten().copied().collect();
        assert_eq!(table.records(), all.len() as u64);
        let keys: Vec<Key> = (0..30).map(|_| dice.key()).collect();
        let mut found = vec![vec![]; keys.len()];
        table.find_all(&keys, |position, place| found[position].push(place))?;
        for (key, found) in keys.iter().zip(found) {
            let places: Vec<Place> = all.iter().rev().filter(|it| it.key == *key).map(|it| it.place).collect();
            assert_eq!(found, places, "{key:?}");
            assert_eq!(table.find(key)?, places, "{key:?}");
        }
        for key in keys.iter().take(8) {
            let (shared, limit) = ([0, 3, 4, 5, 20][dice.below(5) as usize], 1 + dice.below(200) as usize);
            let (begin, limit) = (&key.0[..shared], if dice.below(8) == 0 { usize::MAX } else { limit });
            let alike = || all.iter().filter(|it| it.key.0.starts_with(begin));
            let prefix: Vec<Record> = alike().take(limit).copied().collect();
            assert_eq!(table.with_prefix(begin, limit)?, prefix, "{begin:?}, {limit}");
            let after: Vec<Record> = alike().filter(|it| it.key > *key).take(limit).copied().collect();
            assert_eq!(table.after(key, shared, limit)?, after, "{key:?}, {shared}, {limit}");
            let before = alike().rfind(|it| it.key <= *key).copied();
            assert_eq!(table.at_or_before(key, shared)?, before, "{key:?}, {shared}");
        }
        Ok(())
    }
}

/// Plays a script to its end or to the first error.
pub(super) fn play(
    disk: &SimDisk,
    options: &TableOptions,
    steps: &[Step],
    model: &mut Model,
    mut each: impl FnMut(&Table<SimDisk>, &Model),
) -> Result<(), TableError> {
    let mut table = Table::open(disk.clone(), "ids", ID, options.clone())?;
    for step in steps {
        match step {
            Step::Insert(records) => {
                let frame = model.add(records);
                table.insert(frame, &model.frames[frame.0 as usize - 1]);
            }
            Step::Room => drop(table.make_room()),
            Step::Upkeep => drop(table.upkeep()?),
            Step::Flush => table.flush()?,
            Step::Reopen => {
                disk.kill();
                table = Table::open(disk.clone(), "ids", ID, options.clone())?;
                model.catch_up(&table);
            }
        }
        each(&table, model);
    }
    Ok(())
}
