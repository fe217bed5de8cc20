//! The servers of a directory: several processes want it, one has it, and its disk is bad.
//!
//! What holds: everything that the real store does is done by the real store. This file starts and stops it, lets it be hit,
//! and says what came of that. A panic of the store is caught here and told.
//!
//! Not here: who asks what, and whether the outcome is right.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use hapax_core::time::Time;
use hapax_store::embedded::disk::{Fault, SimDisk};
use hapax_store::embedded::index::IndexOptions;
use hapax_store::embedded::log::{Check as LogCheck, LogId, Options as LogOptions};
use hapax_store::embedded::upkeep::UpkeepOptions;
use hapax_store::embedded::{Embedded, Options};
use hapax_store::seam::{Store, StoreError};
use hapax_store::turn::{commits, turn};

use crate::door::{request, told};
use crate::ledger::{Ledger, Wanted, read};
use crate::plan::{Plan, TENANTS};
use crate::random::Random;
use crate::words::{Asked, Told};

/// The directory and whoever has it.
pub(crate) struct House {
    pub(crate) disk: SimDisk,
    options: Options,
    /// Which server has the store open.
    pub(crate) serving: Option<(usize, Embedded<SimDisk>)>,
}

/// How an operation of the store can end besides well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// As the store itself says.
    Store(StoreError),
    /// It panicked.
    Panic(String),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Panic(what) => write!(f, "a panic: {what}"),
        }
    }
}

/// Free space below which nothing is taken, where worlds let the disk run full.
const LOW_WATER: u64 = 4 << 10;

impl House {
    pub(crate) fn draw(random: &mut Random) -> Self {
        let log = LogOptions {
            segment_bytes: *random.pick(&[6 << 10, 12 << 10, 24 << 10]),
            reserve_bytes: 2 << 10,
            low_water_bytes: LOW_WATER,
            check: *random.pick(&[LogCheck::All, LogCheck::Tail]),
        };
        let options = Options {
            log,
            index: IndexOptions {
                ids_in_memory: 3 + random.below(8),
                others_in_memory: 2 + random.below(4),
                sync: random.once_in(2),
            },
            upkeep: UpkeepOptions {
                flush_log_bytes: *random.pick(&[2 << 10, 8 << 10]),
                snapshot_log_bytes: *random.pick(&[1 << 10, 4 << 10]),
                snapshot_piece: 1 + random.below(20),
            },
            frames_bytes_max: *random.pick(&[0, 4 << 10, 64 << 10]),
        };
        Self { disk: SimDisk::new(random.next()), options, serving: None }
    }

    /// A house with the same habits, on another disk.
    pub(crate) fn on(&self, disk: SimDisk) -> Self {
        Self { disk, options: self.options.clone(), serving: None }
    }

    /// A server opens the directory, and makes sure of its tenants.
    pub(crate) fn open(&mut self, server: usize, salt: u64) -> Result<(), Trouble> {
        let (disk, options) = (self.disk.clone(), self.options.clone());
        let opened = quietly(|| -> Result<_, StoreError> {
            let (mut store, _) = Embedded::open(disk, options, LogId(u128::from(salt).to_le_bytes()))?;
            for (number, tenant) in TENANTS.iter().enumerate() {
                // Another salt each time: only the first ever counts.
                let mut bytes = [number as u8; 32];
                bytes[..8].copy_from_slice(&salt.to_le_bytes());
                store.tenant(&Arc::from(*tenant), bytes)?;
            }
            Ok(store)
        })?;
        self.serving = Some((server, opened));
        Ok(())
    }

    /// A turn, as a server's writer takes it: answers up to the first error.
    pub(crate) fn turn(&mut self, plan: &Plan, asked: &[Asked], now: i64) -> (Vec<Told>, Option<Trouble>) {
        let Some((_, store)) = &mut self.serving else { return (Vec::new(), None) };
        let mut answers = Vec::new();
        let outcome = quietly(|| take(store, plan, asked, now, &mut answers));
        (answers, outcome.err())
    }

    /// Some steps of the upkeep.
    pub(crate) fn upkeep(&mut self, steps: usize, now: i64) -> Result<usize, Trouble> {
        let Some((_, store)) = &mut self.serving else { return Ok(0) };
        let upkeep = store.upkeep();
        quietly(|| {
            for done in 0..steps {
                if !upkeep.step(Time::from_nanos(now))? {
                    return Ok(done);
                }
            }
            Ok(steps)
        })
    }

    /// Everything that can be read.
    pub(crate) fn read(&self, plan: &Plan, wanted: &Wanted) -> Result<Ledger, Trouble> {
        let Some((_, store)) = &self.serving else { return Ok(Ledger::default()) };
        quietly(|| read(store.reader(), plan, wanted))
    }

    /// Stops in good order.
    pub(crate) fn close(&mut self) -> Result<(), Trouble> {
        match self.serving.take() {
            Some((_, store)) => quietly(|| store.close()),
            None => Ok(()),
        }
    }

    /// The process is gone, and whatever it had not synced may be.
    pub(crate) fn die(&mut self, power: bool) {
        self.serving = None;
        if power {
            self.disk.power_cut();
        } else {
            self.disk.kill();
        }
        self.disk.heal();
    }

    /// Something will go wrong within so many calls, or nothing.
    pub(crate) fn arm(&mut self, random: &mut Random, calls: usize) -> Option<Fault> {
        let fault = match random.weighted(&[5, 5, 1, 1]) {
            0 => return None,
            1 => Fault::Crash,
            2 => Fault::Eio,
            _ => Fault::Enospc,
        };
        self.disk.fail(1 + random.below(calls) as u64, fault);
        Some(fault)
    }
}

/// The answers of what was committed before the first error.
pub(crate) fn take<S: Store>(
    store: &mut S,
    plan: &Plan,
    asked: &[Asked],
    now: i64,
    answers: &mut Vec<Told>,
) -> Result<(), StoreError> {
    let mut requests: Vec<_> = asked.iter().map(|asked| request(plan, asked, now)).collect();
    for together in commits(&mut requests) {
        answers.extend(turn(store, together)?.iter().map(told));
    }
    Ok(())
}

/// Does something that may panic; the panic is an outcome and makes no noise.
pub(crate) fn quietly<T>(does: impl FnOnce() -> Result<T, StoreError>) -> Result<T, Trouble> {
    let before = QUIET.replace(true);
    let outcome = catch_unwind(AssertUnwindSafe(does));
    QUIET.set(before);
    match outcome {
        Ok(outcome) => outcome.map_err(Trouble::Store),
        Err(panic) => {
            let words = panic.downcast_ref::<String>().map(String::as_str);
            let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without words");
            Err(Trouble::Panic(words.to_owned()))
        }
    }
}

thread_local! {
    static QUIET: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// From now on panics of a simulated process are told by its world and nowhere else.
pub(crate) fn hush() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !QUIET.get() {
                before(panic);
            }
        }));
    });
}
