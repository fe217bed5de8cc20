//! A failing disk: every call fails once, with either error, and the log must stop there.

use super::script::*;
use super::*;
use crate::embedded::disk::{Fault, SimDisk};

const SCRIPTS: u64 = 150;

#[test]
fn the_first_failed_write_poisons_the_log_and_loses_nothing_that_was_acknowledged() {
    let mut poisoned = 0;
    for seed in 0..SCRIPTS {
        let steps = script(seed);
        let disk = SimDisk::new(seed);
        play(&disk, &steps, &mut Model::default(), |_, _| {}).unwrap();
        for call in 1..=disk.calls() {
            for fault in [Fault::Eio, Fault::Enospc] {
                poisoned += u64::from(fail_at(seed, &steps, call, fault));
            }
        }
    }
    assert!(poisoned > SCRIPTS, "hardly any fault hit a write");
}

fn fail_at(seed: u64, steps: &[Step], call: u64, fault: Fault) -> bool {
    let mut dice = Dice::new(seed << 16 | call);
    let disk = SimDisk::new(seed << 16 | call);
    let mut model = Model::default();
    let mut poisoned = false;
    disk.fail(call, fault);
    let played = play(&disk, steps, &mut model, |log, error| match error {
        LogError::Poisoned(failure) => {
            poisoned = true;
            stays_poisoned(&disk, log, failure);
        }
        LogError::Io(failure) => assert!(failure.doing.starts_with("reading"), "{failure}"),
        LogError::Corrupt(_) | LogError::Low | LogError::Locked | LogError::Missing => panic!("{error}"),
    });
    assert!(played.is_err() || disk.calls() >= call);
    disk.heal();
    // More than once: what the first start tells its caller must be durable as well.
    for _ in 0..3 {
        if dice.below(2) == 0 {
            disk.kill()
        } else {
            disk.power_cut()
        }
        let mut log = open_or_create(&disk).unwrap_or_else(|it| panic!("script {seed}, call {call}, {fault:?}: {it}"));
        model.check(&log);
        model.append(&mut log, 100, 700).unwrap();
    }
    poisoned
}

fn stays_poisoned(disk: &SimDisk, mut log: Log<SimDisk>, failure: &Failure) {
    let calls = disk.calls();
    let poisoned = LogError::Poisoned(failure.clone());
    assert_eq!(log.append(b"more", b""), Err(poisoned.clone()));
    assert_eq!(log.read(FrameNumber(1)), Err(poisoned.clone()));
    assert_eq!(log.frames(FrameNumber(1)).err(), Some(poisoned.clone()));
    assert_eq!(log.compact(FrameNumber(1), |_, _, _| None), Err(poisoned.clone()));
    assert_eq!(log.spare().make(), Err(poisoned.clone()));
    assert_eq!(log.space(), Err(poisoned.clone()));
    assert_eq!(log.close(), Err(poisoned));
    assert_eq!(disk.calls(), calls, "nothing is tried again");
}

#[test]
fn a_failed_sync_is_never_tried_again() {
    // Write, sync, witness: the sync is the second call of an append that does not rotate.
    for fault in [Fault::Eio, Fault::Enospc] {
        let (disk, mut log) = filled(small(), &pairs(2, 100, 100));
        let calls = disk.calls();
        disk.fail(2, fault);
        assert!(matches!(log.append(b"lost", b""), Err(LogError::Poisoned(it)) if it.doing == "the sync of a frame"));
        assert_eq!(disk.calls(), calls + 2);
    }
}

#[test]
fn an_append_is_one_write_one_sync_and_the_witness() {
    let (disk, mut log) = filled(small(), &[]);
    let calls = disk.calls();
    log.append(&[1; 1000], &[2; 1000]).unwrap();
    assert_eq!(disk.calls(), calls + 3);
}

#[test]
fn a_failed_start_can_be_repeated() {
    for seed in 0..60 {
        let pairs = pairs(6, 700, 100);
        for call in 1.. {
            let (disk, log) = filled(small(), &pairs);
            let disk = disk.fork(seed);
            drop(log);
            disk.kill();
            // The last frame torn in the middle, above what a witness that lags has seen.
            disk.put("log/witness", &[0; 1024]);
            let last = disk.files().into_iter().rfind(|it| it.ends_with(".seg")).unwrap();
            let mut bytes = disk.contents(&last).unwrap();
            let end = bytes.iter().rposition(|it| *it != 0).unwrap();
            bytes[end - 80] ^= 1;
            disk.put(&last, &bytes);
            disk.fail(call, Fault::Eio);
            let first = Log::open(disk.clone(), small());
            let done = first.is_ok();
            assert!(matches!(first, Ok(_) | Err(LogError::Io(_))));
            drop(first);
            disk.heal();
            disk.kill();
            let (log, opened) = Log::open(disk.clone(), small()).unwrap();
            assert_eq!(opened.frames, 5);
            assert_eq!(all(&log), pairs[..5]);
            if done {
                break;
            }
        }
    }
}
