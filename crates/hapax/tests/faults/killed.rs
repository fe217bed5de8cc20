//! Killed at every write, sync, rename, reservation and removal of each phase: it opens, and nothing acknowledged is lost.

use crate::all;
use crate::ledger::{lost, recovers};
use crate::phases::{Stage, phase};
use crate::program::{Program, SMALL, serve};
use crate::traced::{Fault, Point};

/// In CI every so many-th point of a phase is tried, and the first of each call.
const STRIDE: usize = 3;

#[test]
fn killed_at_any_call_of_its_creation_it_begins_again() {
    killed_in("creation");
}

#[test]
fn killed_at_any_call_of_its_service_it_loses_nothing() {
    killed_in("service");
}

#[test]
fn killed_at_any_call_while_it_takes_large_batches_it_loses_nothing() {
    killed_in("batches");
}

#[test]
fn killed_while_it_makes_a_segment_ahead_it_loses_nothing() {
    killed_in("spare");
}

#[test]
fn killed_while_it_compacts_it_loses_nothing() {
    killed_in("compaction");
}

#[test]
fn killed_at_any_call_of_its_recovery_it_recovers() {
    killed_in("recovery");
}

#[test]
fn killed_at_any_call_of_its_stop_it_loses_nothing() {
    killed_in("stop");
}

fn killed_in(name: &str) {
    let stage = Stage::new("killed", phase(name));
    let (mut kills, mut acknowledged) = (0, 0);
    let chosen = chosen(&stage.points, STRIDE);
    for point in &chosen {
        let outcome = stage.play(point, Fault::Kill);
        kills += usize::from(outcome.reached);
        acknowledged += recovers(&outcome.store, outcome.told, stage.phase.sent);
    }
    // What other threads do is not the same each time, so some points of a busy phase are not met again: of a compaction,
    // which has few, often half.
    let (tried, whole) = (chosen.len(), stage.points.len());
    assert!(kills > 0 && kills * 4 >= tried, "{name}: {kills} of {tried} points were met");
    println!(
        "figure: {name}: {kills} kills at {tried} of {whole} points, {acknowledged} acknowledged events, 0 lost, 0 twice"
    );
}

/// A log that acknowledges what it never wrote is what this test is there for: it must notice.
#[test]
fn the_same_kill_shows_writes_that_do_nothing() {
    let stage = Stage::new("lying", phase("service"));
    // The calls of the writer are a frame and its witness in turns; the third frame and all after it are not written.
    let outcome = stage.play(&Point { call: "pwrite64", when: 5 }, Fault::Lie);
    assert!(outcome.reached && outcome.told.events.len() as u64 == stage.phase.sent, "all was acknowledged");
    let program = Program::start(serve(&outcome.store, &SMALL));
    let lost = program.client().map_or(outcome.told.events.len(), |mut it| lost(&mut it, &outcome.told).len());
    assert!(lost > 0, "nothing was written, and a kill does not show it");
    println!("figure: without writes the same kill loses {lost} acknowledged events");
}

/// All points, or in CI some of them: the first of each call, and every so many-th.
pub fn chosen(points: &[Point], stride: usize) -> Vec<Point> {
    let takes = |(index, point): &(usize, &Point)| all() || point.when == 1 || index.is_multiple_of(stride);
    points.iter().enumerate().filter(takes).map(|(_, point)| point.clone()).collect()
}
