//! What expires goes in its time, and nothing else does, wherever the power is cut in a compaction.
//!
//! The worlds of the simulator are too short for anything to expire, so this is a history of its own: an event and its
//! retry every five minutes, attempts that are kept for three hours, and a crash in what is done beside the turns.

use hapax_core::time::Time;
use hapax_store::embedded::disk::{Fault, SimDisk};
use hapax_store::embedded::log::{LogId, Options as LogOptions};
use hapax_store::embedded::{Embedded, Options};
use hapax_store::seam::{AttemptFilter, Read, Store, StreamKey};
use serde_json::json;

use super::play::model::Opts;
use super::play::stage::Stage;
use super::play::world::BEGINNING_NS;

const MINUTE_NS: i64 = 60_000_000_000;
const EVENTS: i64 = 60;
const CONTRACT: &str = "[audit]\nkeep = \"3h\"\n";

fn open(disk: &SimDisk) -> Result<Embedded<SimDisk>, String> {
    // So small that the history fills several segments.
    let log =
        LogOptions { segment_bytes: 16 << 10, reserve_bytes: 4 << 10, low_water_bytes: 0, ..LogOptions::default() };
    Embedded::open(disk.clone(), Options::from(log), LogId([9; 16]))
        .map(|(store, _)| store)
        .map_err(|it| it.to_string())
}

/// Plays the history and cuts the power at some call after it. Answers with what is wrong.
pub(crate) fn play(seed: u64) -> Result<(), String> {
    let disk = SimDisk::new(seed);
    let mut stage = Stage::on(open(&disk)?, CONTRACT);
    for number in 0..EVENTS {
        let event = json!({ "id": format!("e{number}"), "lane": "a" });
        let now = BEGINNING_NS + number * 5 * MINUTE_NS;
        for _ in 0..2 {
            stage.submit(now, std::slice::from_ref(&event), Opts::default());
        }
    }
    // So that the oldest that is kept lies anywhere in its segment.
    let now = BEGINNING_NS + (EVENTS + (seed % 12) as i64) * 5 * MINUTE_NS;
    let stream = stage.stream.clone();
    let before = (hashes(&stage.store, &stream)?, young(&stage.store, &stream, now)?);
    // Early or late in the compactions, or after all of them.
    disk.fail(1 + seed * 13 % 400, Fault::Crash);
    let upkeep = stage.store.upkeep();
    while matches!(upkeep.step(Time::from_nanos(now)), Ok(true)) {}
    drop((upkeep, stage));
    disk.power_cut();
    disk.heal();
    let store = open(&disk)?;
    let after = (hashes(&store, &stream)?, young(&store, &stream, now)?);
    if before == after { Ok(()) } else { Err(format!("there was {before:?}, and there is {after:?}")) }
}

fn hashes(store: &Embedded<SimDisk>, stream: &StreamKey) -> Result<Vec<[u8; 32]>, String> {
    let entries = store.reader().entries(stream, 0, usize::MAX).map_err(|error| error.to_string())?;
    Ok(entries.iter().map(|entry| entry.hash).collect())
}

/// The numbers of the attempts that are kept still.
fn young(store: &Embedded<SimDisk>, stream: &StreamKey, now: i64) -> Result<Vec<u64>, String> {
    let filter = AttemptFilter { from: Some(Time::from_nanos(now - 180 * MINUTE_NS)), ..AttemptFilter::default() };
    let page = store.reader().attempts(stream, &filter, 0, usize::MAX).map_err(|error| error.to_string())?;
    Ok(page.items.iter().map(|attempt| attempt.number()).collect())
}
