//! Commits that flow: the next turn is judged while one is synced, and nobody is told of either before it is durable.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use hapax_core::event::Identity;
use hapax_store::embedded::log::LogId;
use hapax_store::embedded::{Embedded, Options};
use hapax_store::seam::{Elsewhere, Read as _, Store as _, StoreError, TurnNeeds};
use hapax_store::turn::{Ask, Request, begin, decide, turn};
use serde_json::{Value, json};

use super::gate::{Gate, Gated};
use super::play::model::Opts;
use super::play::stage::Stage;

const NOW: i64 = 1_767_225_600_000_000_000;

fn open(disk: &Gated) -> Embedded<Gated> {
    Embedded::open(disk.clone(), Options::default(), LogId([9; 16])).expect("a store").0
}

fn stage(disk: &Gated) -> Stage<Embedded<Gated>> {
    Stage::on(open(disk).flow(), "preset = \"telemetry-tolerant\"")
}

/// What is told once a turn is over: its body, or the error.
type Told = Receiver<Result<Value, StoreError>>;

/// Begins a turn with one event, the n-th of its lane.
fn send(stage: &mut Stage<Embedded<Gated>>, number: u64) -> Told {
    send_all(stage, &[number])
}

/// A request with these events of a lane.
fn request(stage: &mut Stage<Embedded<Gated>>, numbers: &[u64]) -> Request {
    let event = |number: &u64| {
        let event = json!({
            "event_id": format!("event-{number}"), "component_instance_id": "lane", "sequence": number,
            "observed_at": "2026-01-01T00:00:00Z",
        });
        Arc::from(event.to_string().into_bytes())
    };
    stage.submission(NOW, numbers.iter().map(event).collect(), Opts::default())
}

/// Takes a turn with these events of a lane, while nobody else wants anything.
fn send_alone(
    stage: &mut Stage<Embedded<Gated>>,
    numbers: &[u64],
    elsewhere: Elsewhere<'_>,
) -> Result<Value, StoreError> {
    let request = request(stage, numbers);
    let decided = decide(&mut stage.store, &mut [request]).expect("decided");
    let (answers, begun) = decided.begin_alone(&mut stage.store, elsewhere)?;
    begun.wait().map(|()| serde_json::from_slice(&answers[0].body).expect("JSON"))
}

/// Begins a turn with these events of a lane.
fn send_all(stage: &mut Stage<Embedded<Gated>>, numbers: &[u64]) -> Told {
    let request = request(stage, numbers);
    let (mut answers, begun) = begin(&mut stage.store, &mut [request]).expect("a turn");
    let (tell, told) = channel();
    begun.then(move |outcome| {
        let body = answers.remove(0).body;
        // Whoever began it may have gone.
        _ = tell.send(outcome.map(|()| serde_json::from_slice(&body).expect("JSON")));
    });
    told
}

/// Only whoever is alone with a ledger need not take a turn again, and may use its events up.
#[test]
fn entries_take_over_what_they_keep_of_their_events() {
    let disk = Gated::new();
    let mut stage = stage(&disk);
    let mut requests = [request(&mut stage, &[1, 2])];
    turn(&mut stage.store, &mut requests).expect("a turn");
    let Ask::Submit(submission) = &requests[0].ask else { unreachable!("events were sent") };
    assert_eq!(submission.events.len(), 2);
    assert!(submission.events.iter().all(|event| event.document.is_none()));
}

#[test]
fn a_turn_is_judged_on_one_that_is_not_durable_yet_and_neither_is_told_before_it_is() {
    let disk = Gated::new();
    let mut stage = stage(&disk);
    let (reader, stream) = (stage.store.reader().clone(), stage.stream.clone());
    disk.set(Gate::Shut);
    let first = send(&mut stage, 1);
    disk.wait_for_one();
    let is_open = AtomicBool::new(false);
    // Handing the second over waits for the first, so it is judged in a thread of its own, and the gate opens beside it.
    std::thread::scope(|scope| {
        let reading = scope.spawn(|| {
            let head = reader.head(&stream).expect("a head");
            (head.offset, is_open.load(Ordering::SeqCst))
        });
        let looked_up = reader.versions(&stream).expect("what does not change is not waited for");
        assert_eq!(looked_up.len(), 1);
        assert!(first.try_recv().is_err(), "nobody is told before the sync");
        let second = scope.spawn(|| send(&mut stage, 2));
        is_open.store(true, Ordering::SeqCst);
        disk.set(Gate::Open);
        let (offset, was_open) = reading.join().expect("no panic");
        assert!(was_open && (offset == 1 || offset == 2), "nobody reads what is not durable: {offset}");
        let one = first.recv().expect("told").expect("a commit");
        let two = second.join().expect("no panic").recv().expect("told").expect("a commit");
        assert_eq!((one["offset"].as_u64(), two["offset"].as_u64()), (Some(1), Some(2)));
        assert_eq!(two["marks"], json!([]), "the second saw the first: {two}");
    });
    stage.store.settle().expect("all is durable");
    assert_eq!(reader.head(&stream).expect("a head").offset, 2);
}

#[test]
fn a_small_commit_is_durable_when_it_is_begun_unless_another_is_under_way() {
    let disk = Gated::new();
    let mut stage = Stage::on(open(&disk).flow_beyond(2), "preset = \"telemetry-tolerant\"");
    let (reader, stream) = (stage.store.reader().clone(), stage.stream.clone());
    assert!(send_all(&mut stage, &[1, 2]).try_recv().expect("told at once").is_ok());
    assert_eq!(reader.head(&stream).expect("a head").offset, 2);
    disk.set(Gate::Shut);
    let large = send_all(&mut stage, &[3, 4, 5]);
    disk.wait_for_one();
    let small = send(&mut stage, 6);
    assert!(large.try_recv().is_err() && small.try_recv().is_err(), "the small one comes after the large one");
    disk.set(Gate::Open);
    let told = [large, small].map(|told| told.recv().expect("told").expect("a commit"));
    assert_eq!(told[1]["offset"], 6, "{told:?}");
    stage.store.settle().expect("all is durable");
    assert!(send(&mut stage, 7).try_recv().expect("told at once").is_ok(), "and now it is at once again");
    disk.disk.power_cut();
    drop((stage, reader));
    assert_eq!(open(&disk).reader().head(&stream).expect("a head").offset, 7);
}

/// Of many who ask at a time the others have something to do meanwhile. Whoever writes it meets its failure.
#[test]
fn a_small_commit_that_many_wait_for_is_written_beside() {
    for (askers, is_at_once) in [(4, true), (5, false)] {
        let disk = Gated::new();
        let mut stage = Stage::on(open(&disk).flow_beyond(64), "preset = \"telemetry-tolerant\"");
        let mut requests: Vec<_> = (1..=askers).map(|number| request(&mut stage, &[number])).collect();
        disk.set(Gate::Broken);
        let begun = begin(&mut stage.store, &mut requests);
        assert_eq!(begun.is_err(), is_at_once, "{askers} requests");
        if let Ok((_, begun)) = begun {
            assert!(matches!(begun.wait(), Err(StoreError::Stopped(_))));
        }
    }
}

#[test]
fn a_small_commit_that_fails_is_an_error_and_nothing_is_begun_after_it() {
    let disk = Gated::new();
    let mut stage = Stage::on(open(&disk).flow_beyond(2), "preset = \"telemetry-tolerant\"");
    send(&mut stage, 1).recv().expect("told").expect("a commit");
    disk.set(Gate::Broken);
    let request =
        |stage: &mut Stage<Embedded<Gated>>| stage.submission(NOW, vec![Arc::from(&b"{}"[..])], Opts::default());
    for _ in 0..2 {
        let mut request = [request(&mut stage)];
        let failed = begin(&mut stage.store, &mut request).err();
        assert!(matches!(failed, Some(StoreError::Stopped(_))), "{failed:?}");
        disk.set(Gate::Open);
    }
    let stream = stage.stream.clone();
    assert_eq!(stage.store.reader().head(&stream).expect("what is durable is read").offset, 1);
}

#[test]
fn a_commit_that_comes_alone_is_taken_in_elsewhere_while_it_is_written_here() {
    let disk = Gated::new();
    let mut stage = stage(&disk);
    let (reader, stream) = (stage.store.reader().clone(), stage.stream.clone());
    disk.set(Gate::Shut);
    let is_open = AtomicBool::new(false);
    let (tells, told) = channel();
    std::thread::scope(|scope| {
        let sending = scope.spawn(|| {
            let elsewhere = |job: Box<dyn FnOnce() + Send>| {
                let tells = tells.clone();
                std::thread::spawn(move || {
                    job();
                    _ = tells.send(());
                });
                true
            };
            send_alone(&mut stage, &[1, 2, 3], &elsewhere)
        });
        disk.wait_for_one();
        told.recv().expect("it is taken in before it is written");
        let reading = scope.spawn(|| (reader.head(&stream).expect("a head").offset, is_open.load(Ordering::SeqCst)));
        is_open.store(true, Ordering::SeqCst);
        disk.set(Gate::Open);
        assert_eq!(reading.join().expect("no panic"), (3, true), "nobody reads what is not durable");
        let body = sending.join().expect("no panic").expect("a commit");
        assert_eq!(body["summary"]["accepted"], 3, "{body}");
    });
    // And the next one is judged on it, whoever writes it.
    let next = send(&mut stage, 3).recv().expect("told").expect("a commit");
    assert_eq!(next["verdict"], "duplicate", "{next}");
    let later = send_alone(&mut stage, &[4, 2], &|_| false).expect("a commit that is taken in here");
    assert_eq!(later["results"][0]["offset"], 4, "{later}");
    assert_eq!(later["results"][1]["verdict"], "duplicate", "{later}");
    disk.disk.power_cut();
    drop((stage, reader));
    assert_eq!(open(&disk).reader().head(&stream).expect("a head").offset, 4);
}

#[test]
fn a_commit_that_comes_alone_waits_for_one_that_is_under_way() {
    let disk = Gated::new();
    let mut stage = stage(&disk);
    disk.set(Gate::Shut);
    let first = send(&mut stage, 1);
    disk.wait_for_one();
    let second = request(&mut stage, &[2, 3]);
    let decided = decide(&mut stage.store, &mut [second]).expect("decided");
    let not_here = |_: Box<dyn FnOnce() + Send>| -> bool { panic!("it is handed over like any other") };
    let (answers, begun) = decided.begin_alone(&mut stage.store, &not_here).expect("a turn");
    assert!(first.try_recv().is_err(), "nobody is told before the sync");
    disk.set(Gate::Open);
    begun.wait().expect("a commit");
    assert!(first.recv().expect("told").is_ok(), "the first came before it");
    assert_eq!(answers[0].receipts().len(), 2);
}

#[test]
fn a_commit_that_comes_alone_and_is_left_half_way_ends_the_store() {
    // Not written, or not taken in though somebody said that it would be.
    for (gate, does) in [(Gate::Broken, true), (Gate::Open, false)] {
        let disk = Gated::new();
        let mut stage = stage(&disk);
        let (reader, stream) = (stage.store.reader().clone(), stage.stream.clone());
        send(&mut stage, 1).recv().expect("told").expect("a commit");
        disk.set(gate);
        let elsewhere = |job: Box<dyn FnOnce() + Send>| {
            if does {
                job();
            }
            true
        };
        let failed = send_alone(&mut stage, &[2, 3], &elsewhere);
        assert!(matches!(failed, Err(StoreError::Stopped(_))), "{failed:?}");
        disk.set(Gate::Open);
        let next = request(&mut stage, &[4]);
        assert!(begin(&mut stage.store, &mut [next]).is_err(), "nothing is begun after it");
        if does {
            assert!(reader.head(&stream).is_err(), "nobody reads what is not durable");
        }
        drop((stage, reader));
        let head = open(&disk).reader().head(&stream).expect("a head");
        assert!(head.offset == 1 || head.offset == 3, "whole or not at all: {head:?}");
    }
}

#[test]
fn a_failed_sync_tells_everybody_and_nothing_of_it_is_ever_read() {
    let disk = Gated::new();
    let mut stage = stage(&disk);
    let (reader, stream) = (stage.store.reader().clone(), stage.stream.clone());
    send(&mut stage, 1).recv().expect("told").expect("a commit");
    disk.set(Gate::Shut);
    let lost = send(&mut stage, 2);
    disk.wait_for_one();
    let reading = std::thread::spawn(move || (reader.head(&stream), reader.entries(&stream, 0, 10), reader));
    disk.set(Gate::Broken);
    assert!(matches!(lost.recv().expect("told"), Err(StoreError::Stopped(_))));
    let (head, entries, reader) = reading.join().expect("no panic");
    assert!(matches!(head, Err(StoreError::Stopped(_)) | Ok(_)), "{head:?}");
    if let Ok(head) = head {
        assert_eq!(head.offset, 1, "it was asked before the second turn");
    }
    assert!(matches!(entries, Err(StoreError::Stopped(_))), "{entries:?}");
    assert!(stage.store.settle().is_err());
    let request = stage.submission(NOW, vec![Arc::from(&b"{}"[..])], Opts::default());
    assert!(begin(&mut stage.store, &mut [request]).is_err(), "nothing is begun after it");
    let stream = stage.stream.clone();
    drop((stage, reader));
    disk.set(Gate::Open);
    let again = open(&disk);
    let head = again.reader().head(&stream).expect("a head");
    assert!(head.offset == 1 || head.offset == 2, "whole or not at all: {head:?}");
}

#[test]
fn what_flowed_is_there_after_a_clean_stop_and_after_a_power_cut() {
    let disk = Gated::new();
    let mut stage = stage(&disk);
    for number in 1..=20 {
        drop(send(&mut stage, number).recv().expect("told").expect("a commit"));
    }
    let stream = stage.stream.clone();
    stage.store.close().expect("a clean stop");
    let mut stage = self::stage(&disk);
    for number in 21..=40 {
        drop(send(&mut stage, number).recv().expect("told").expect("a commit"));
    }
    disk.disk.power_cut();
    drop(stage);
    let head = open(&disk).reader().head(&stream).expect("a head");
    assert_eq!(head.offset, 40, "all that was told is there");
}

#[test]
fn when_the_one_who_writes_is_gone_nobody_waits_for_it() {
    let disk = Gated::new();
    let mut stage = stage(&disk);
    let (reader, stream) = (stage.store.reader().clone(), stage.stream.clone());
    disk.set(Gate::Gone);
    let lost = send(&mut stage, 1);
    assert!(matches!(lost.recv().expect("told"), Err(StoreError::Stopped(_))));
    assert!(matches!(reader.head(&stream), Err(StoreError::Stopped(_))));
    assert!(matches!(stage.store.close(), Err(StoreError::Stopped(_))));
}

#[test]
fn a_repeat_of_what_is_under_way_is_recognised_and_told_after_it() {
    let disk = Gated::new();
    let mut stage = stage(&disk);
    disk.set(Gate::Shut);
    let first = send_all(&mut stage, &[1, 2, 3]);
    disk.wait_for_one();
    std::thread::scope(|scope| {
        let second = scope.spawn(|| send_all(&mut stage, &[3, 4, 2]));
        assert!(first.try_recv().is_err(), "nobody is told before the sync");
        disk.set(Gate::Open);
        let first = first.recv().expect("told").expect("a commit");
        let second = second.join().expect("no panic").recv().expect("told").expect("a commit");
        let told = |body: &Value, index: usize, of: &str| body["results"][index][of].clone();
        assert_eq!(told(&first, 2, "offset"), json!(3));
        assert_eq!([0, 1, 2].map(|it| told(&second, it, "verdict")), ["duplicate", "accepted", "duplicate"]);
        assert_eq!([0, 2].map(|it| told(&second, it, "original")["offset"].clone()), [json!(3), json!(2)]);
        assert_eq!(told(&second, 1, "offset"), json!(4));
    });
}

/// A turn would wait for ever here if it waited for the sync.
#[test]
fn what_a_turn_looks_up_is_found_while_it_is_under_way() {
    let disk = Gated::new();
    let mut stage = stage(&disk);
    disk.set(Gate::Shut);
    drop(send_all(&mut stage, &[1, 2]));
    disk.wait_for_one();
    let identity = Identity::of(None, "event-2");
    let mut needs = TurnNeeds::default();
    needs.streams.entry(stage.stream.clone()).or_default().needs.identities.push(identity);
    std::thread::scope(|scope| {
        let (tell, told) = channel();
        let stream = stage.stream.clone();
        let store = &mut stage.store;
        scope.spawn(move || {
            let loaded = store.load(&needs).expect("the facts");
            let original = loaded.streams[&stream].facts.original(&identity).map(|entry| entry.offset);
            tell.send(original).expect("somebody listens");
        });
        let original = told.recv_timeout(Duration::from_secs(20));
        disk.set(Gate::Open);
        assert_eq!(original, Ok(Some(2)), "it waits for nobody");
    });
}
