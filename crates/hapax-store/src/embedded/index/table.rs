//! A stand-in: everything in memory.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::embedded::disk::Disk;
use crate::embedded::log::{FrameNumber, LogId};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub [u8; 20]);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub frame: FrameNumber,
    pub index: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Record {
    pub key: Key,
    pub place: Place,
}

#[derive(Clone, Debug, Default)]
pub struct TableOptions {
    pub memory_records_max: usize,
    pub ordered: bool,
    pub sync: bool,
    pub rest: (),
}

#[derive(Clone, Debug)]
pub enum TableError {
    Damaged(String),
    Io(String),
}

impl std::fmt::Display for TableError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

pub struct Table<D: Disk> {
    all: Arc<Mutex<BTreeSet<Record>>>,
    disk: D,
}

impl<D: Disk> Clone for Table<D> {
    fn clone(&self) -> Self {
        Self { all: Arc::clone(&self.all), disk: self.disk.clone() }
    }
}

const LOWEST: Place = Place { frame: FrameNumber(0), index: 0 };
const HIGHEST: Place = Place { frame: FrameNumber(u64::MAX), index: u32::MAX };

impl<D: Disk> Table<D> {
    pub fn open(disk: D, _name: &'static str, _id: LogId, _options: TableOptions) -> Result<Self, TableError> {
        Ok(Self { all: Arc::default(), disk })
    }

    fn all(&self) -> MutexGuard<'_, BTreeSet<Record>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn flushed(&self) -> FrameNumber {
        FrameNumber::ORIGIN
    }

    pub fn insert(&self, _frame: FrameNumber, records: &[Record]) {
        self.all().extend(records);
    }

    pub fn find(&self, key: &Key) -> Result<Vec<Place>, TableError> {
        let range = Record { key: *key, place: LOWEST }..=Record { key: *key, place: HIGHEST };
        Ok(self.all().range(range).rev().map(|record| record.place).collect())
    }

    pub fn find_all(&self, keys: &[Key], mut found: impl FnMut(usize, Place)) -> Result<(), TableError> {
        for (position, key) in keys.iter().enumerate() {
            self.find(key)?.into_iter().for_each(|place| found(position, place));
        }
        Ok(())
    }

    pub fn with_prefix(&self, prefix: &[u8], limit: usize) -> Result<Vec<Record>, TableError> {
        let mut low = [0; 20];
        low[..prefix.len()].copy_from_slice(prefix);
        let all = self.all();
        let rest = all.range(Record { key: Key(low), place: LOWEST }..);
        Ok(rest.take_while(|record| record.key.0.starts_with(prefix)).take(limit).copied().collect())
    }

    pub fn at_or_before(&self, key: &Key, shared: usize) -> Result<Option<Record>, TableError> {
        let all = self.all();
        let found = all.range(..=Record { key: *key, place: HIGHEST }).next_back();
        Ok(found.filter(|record| record.key.0[..shared] == key.0[..shared]).copied())
    }

    pub fn after(&self, key: &Key, shared: usize, limit: usize) -> Result<Vec<Record>, TableError> {
        let all = self.all();
        let rest = all.range(Record { key: *key, place: HIGHEST }..);
        Ok(rest.take_while(|record| record.key.0[..shared] == key.0[..shared]).take(limit).copied().collect())
    }

    pub fn upkeep(&self) -> Result<bool, TableError> {
        Ok(false)
    }

    pub fn flush(&self) -> Result<(), TableError> {
        Ok(())
    }

    pub fn bytes(&self) -> u64 {
        0
    }

    pub fn memory_bytes(&self) -> u64 {
        0
    }

    pub fn records(&self) -> u64 {
        self.all().len() as u64
    }
}
