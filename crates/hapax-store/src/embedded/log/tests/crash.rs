//! A crash at every call of thousands of scripts, and crashes in the recovery from it.

use super::script::*;
use crate::embedded::disk::{Fault, SimDisk};

/// Enough scripts that every kind of step is hit by every kind of crash, and few enough for a few seconds.
const SCRIPTS: u64 = 400;

#[test]
fn whatever_was_acknowledged_is_there_after_a_crash_at_any_call() {
    for seed in 0..SCRIPTS {
        let steps = script(seed);
        let disk = SimDisk::new(seed);
        play(&disk, &steps, &mut Model::default(), |_, _| {}).unwrap();
        for call in 1..=disk.calls() {
            crash_at(seed, &steps, call);
        }
    }
}

fn crash_at(seed: u64, steps: &[Step], call: u64) {
    let mut dice = Dice::new(seed << 16 | call);
    let disk = SimDisk::new(seed << 16 | call);
    let mut model = Model::default();
    disk.fail(call, Fault::Crash);
    let _ = play(&disk, steps, &mut model, |_, _| {});
    disk.heal();
    restart(&disk, &mut dice);
    // The recovery may crash as well, once or more.
    while dice.below(2) == 0 {
        disk.fail(1 + dice.below(25), Fault::Crash);
        let log = open_or_create(&disk);
        disk.heal();
        // Whoever opened it was told of what is there, so it must stay.
        if let Ok(log) = log {
            model.check(&log);
        }
        restart(&disk, &mut dice);
    }
    let mut log = open_or_create(&disk).unwrap_or_else(|it| panic!("script {seed}, call {call}: {it}"));
    behind_is_zero(&disk, &log);
    model.check(&log);
    for size in [10, 600] {
        model.append(&mut log, size, size).unwrap();
    }
    drop(log);
    disk.power_cut();
    let log = open_or_create(&disk).unwrap_or_else(|it| panic!("script {seed}, call {call}, second cut: {it}"));
    model.check(&log);
}

/// Mostly the power goes; sometimes only the process.
fn restart(disk: &SimDisk, dice: &mut Dice) {
    if dice.below(4) == 0 { disk.kill() } else { disk.power_cut() }
}
