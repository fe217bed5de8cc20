//! The store in a directory with its upkeep mixed in: after each commit some steps of it, as many as are drawn.
//!
//! Sizes are so small that a history of a few dozen frames fills tables, merges runs and takes several snapshots, piece by
//! piece, with commits between the pieces.

use std::sync::Arc;

use hapax_core::time::Time;
use hapax_store::embedded::disk::SimDisk;
use hapax_store::embedded::index::IndexOptions;
use hapax_store::embedded::log::{Check, LogId, Opened, Options as LogOptions};
use hapax_store::embedded::reader::EmbeddedReader;
use hapax_store::embedded::upkeep::UpkeepOptions;
use hapax_store::embedded::{Embedded, Options};
use hapax_store::seam::{Loaded, Store, StoreError, TurnNeeds, Write};

/// Small segments, so that histories of a few dozen frames cross from one to the next.
pub(crate) fn options() -> Options {
    let log =
        LogOptions { segment_bytes: 16 << 10, reserve_bytes: 4 << 10, low_water_bytes: 0, ..LogOptions::default() };
    Options {
        log: LogOptions { check: Check::Tail, ..log },
        index: IndexOptions { ids_in_memory: 6, others_in_memory: 3, sync: false },
        upkeep: UpkeepOptions { flush_log_bytes: 8 << 10, snapshot_log_bytes: 2 << 10, snapshot_piece: 1 },
        frames_bytes_max: 16 << 10,
    }
}

/// A store that is busy beside its turns.
pub(crate) struct Busy {
    pub(crate) store: Embedded<SimDisk>,
    /// Drawn from for how much it is.
    pub(crate) seed: u64,
    /// When it believes to be: long ago, so that nothing expires unless it is told.
    pub(crate) now: Time,
}

impl Busy {
    pub(crate) fn open(disk: &SimDisk, options: Options, seed: u64) -> Result<(Self, Opened), StoreError> {
        let (store, opened) = Embedded::open(disk.clone(), options, LogId([9; 16]))?;
        Ok((Self { store, seed, now: Time::from_nanos(0) }, opened))
    }

    /// From 0 up to this, but not it.
    fn draw(&mut self, below: u64) -> u64 {
        // A linear congruence, of which the high bits are good enough here.
        self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.seed >> 33) % below
    }

    /// Some steps. One that fails is none of the turn's business: what it rests on is in the log.
    fn work(&mut self) {
        let upkeep = self.store.upkeep();
        for _ in 0..self.draw(6) {
            if !matches!(upkeep.step(self.now), Ok(true)) {
                break;
            }
        }
    }
}

impl Store for Busy {
    type Reader = EmbeddedReader<SimDisk>;

    fn reader(&self) -> &Self::Reader {
        self.store.reader()
    }

    fn tenant(&mut self, name: &Arc<str>, salt: [u8; 32]) -> Result<[u8; 32], StoreError> {
        let answer = self.store.tenant(name, salt);
        self.work();
        answer
    }

    fn load(&mut self, needs: &TurnNeeds) -> Result<Loaded, StoreError> {
        self.store.load(needs)
    }

    fn commit(&mut self, write: Write) -> Result<(), StoreError> {
        let answer = self.store.commit(write);
        self.work();
        answer
    }
}
