//! Calls that fail, once or from then on: nothing is acknowledged and lost, the process stops where it must, and the next
//! start recovers.

use crate::all;
use crate::killed::chosen;
use crate::ledger::recovers;
use crate::phases::{Outcome, Phase, Stage, phase};
use crate::traced::{Fault, Point};

const FAULTS: [Fault; 4] = [Fault::Once("EIO"), Fault::ForEver("EIO"), Fault::Once("ENOSPC"), Fault::ForEver("ENOSPC")];

/// In CI every so many-th point of a phase is tried, and the first of each call; each with one of the faults in turn.
const STRIDE: usize = 5;

#[test]
fn a_call_that_fails_in_its_creation_is_said_and_it_begins_again() {
    failing_in("creation");
}

#[test]
fn a_call_that_fails_in_its_service_is_never_an_event_that_is_lost() {
    failing_in("service");
}

#[test]
fn a_call_that_fails_while_it_takes_large_batches_is_never_an_event_that_is_lost() {
    failing_in("batches");
}

#[test]
fn a_call_that_fails_while_it_makes_a_segment_ahead_stops_it() {
    failing_in("spare");
}

#[test]
fn a_call_that_fails_while_it_compacts_stops_it() {
    failing_in("compaction");
}

#[test]
fn a_call_that_fails_in_its_recovery_is_said_and_the_next_start_recovers() {
    failing_in("recovery");
}

#[test]
fn a_call_that_fails_in_its_stop_loses_nothing() {
    failing_in("stop");
}

fn failing_in(name: &str) {
    let stage = Stage::new("failing", phase(name));
    let (mut failures, mut tried, mut ended) = (0, 0, 0);
    for (index, point) in chosen(&stage.points, STRIDE).iter().enumerate() {
        let some = if all() { &FAULTS[..] } else { &FAULTS[index % FAULTS.len()..][..1] };
        for fault in some {
            let outcome = stage.play(point, *fault);
            tried += 1;
            failures += usize::from(outcome.reached);
            ended += usize::from(outcome.code.is_some());
            stops_where_it_must(stage.phase, point, *fault, &outcome);
            recovers(&outcome.store, outcome.told, stage.phase.sent);
        }
    }
    let whole = stage.points.len() * FAULTS.len();
    assert!(failures * 2 >= tried, "{name}: {failures} of {tried} calls failed");
    println!(
        "figure: {name}: {failures} failures at {tried} of {whole} points, {ended} ended the process, 0 lost, 0 twice"
    );
}

/// The first failed write or sync of the log is the last thing that the process does.
fn stops_where_it_must(phase: &Phase, point: &Point, fault: Fault, outcome: &Outcome) {
    let Outcome { reached, code, said, told, .. } = outcome;
    let what = format!("{} {point:?} {fault:?}: {code:?} {said} {:?}", phase.name, told.refused);
    for (code, effect) in &told.refused {
        let rule = match code.as_str() {
            "STORE_STOPPED" => effect == "unknown",
            // Nothing is left half done by a store that takes nothing, or by one that was never asked.
            "DISK_LOW" | "STOPPING" => effect == "none",
            _ => false,
        };
        assert!(rule, "{what}");
    }
    if *reached && phase.poisons(point)
        || !told.refused.is_empty() && told.refused.iter().all(|(code, _)| code == "STORE_STOPPED")
    {
        assert!(code.is_some_and(|it| it > 0), "it ends, and not well: {what}");
    }
    if let Some(code) = code {
        // Only a stop that was asked for may end well.
        assert!(*code > 0 || phase.name == "stop" && *code == 0, "{what}");
        let words = ["failed", "cannot", "did not close", "nearly full"];
        assert!(*code == 0 || words.iter().any(|it| said.contains(it)), "it says why: {what}");
    }
}
