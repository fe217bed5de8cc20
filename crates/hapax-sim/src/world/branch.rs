//! Branches: the disk as it is in the middle of a call loses power, a server starts on what is left, and the auditor looks.
//!
//! The world itself goes on as if nothing had happened, so one world tries many ends.

use hapax_store::embedded::disk::{Fault, SimDisk};
use hapax_store::seam::StoreError;

use super::World;
use crate::check::Check;
use crate::house::{House, Trouble};
use crate::ledger::Ledger;

/// Keeps images of the disk while something is under way, now and then.
pub(super) fn images(world: &mut World, house: &House, calls: u64) {
    if world.random.once_in(2) {
        house.disk.keep_images(1 + world.random.below(4), calls);
    }
}

/// A branch: this disk loses power, and a server starts on what is left.
pub(super) fn probe(world: &mut World, house: &House, disk: SimDisk, kind: &'static str) {
    if !world.auditor.is_content() {
        return;
    }
    let mut branch = house.on(disk);
    branch.disk.set_capacity(1 << 30);
    *world.crashes.entry(kind).or_default() += 1;
    branch.die(!world.random.once_in(4));
    if world.random.once_in(3) {
        branch.disk.fail(1 + world.random.below(40) as u64, Fault::Crash);
        let opened = branch.open(0, world.random.next());
        if let Err(trouble) = &opened {
            blame(world, trouble, "a start on a branch that was hit");
        }
        if branch.disk.is_off() {
            *world.crashes.entry("recovering").or_default() += 1;
        }
        branch.die(!world.random.once_in(4));
    }
    match branch.open(0, world.random.next()) {
        Ok(()) => {
            let Some(ledger) = look(world, &mut branch) else { return };
            world.auditor.check(&ledger);
            if world.random.once_in(2) {
                shown_is_durable(world, &mut branch, &ledger);
            }
        }
        Err(Trouble::Panic(what)) => world.violated(Check::Panicked, what),
        Err(trouble) => world.violated(Check::Refused, format!("a start on a branch: {trouble}")),
    }
    if !world.auditor.is_content() {
        world.tell("auditor", format_args!("on a branch from {kind}"));
    }
}

/// Whatever a start has shown is there after the next power cut, also what nobody was told of.
fn shown_is_durable(world: &mut World, branch: &mut House, shown: &Ledger) {
    *world.crashes.entry("idle").or_default() += 1;
    branch.die(true);
    if let Err(trouble) = branch.open(0, world.random.next()) {
        return world.violated(Check::Refused, format!("a second start on a branch: {trouble}"));
    }
    let Some(again) = look(world, branch) else { return };
    world.auditor.check(&again);
    for (stream, (before, after)) in shown.streams.iter().zip(&again.streams).enumerate() {
        if !after.entries.starts_with(&before.entries) || !after.attempts.starts_with(&before.attempts) {
            world.violated(Check::Vanished, format!("what a start showed of stream {stream} was gone after the next"));
        }
    }
}

/// Everything that can be read. An index that turns out to be damaged is built again by one restart, and only one.
pub(super) fn look(world: &mut World, house: &mut House) -> Option<Ledger> {
    for _ in 0..2 {
        match house.read(&world.plan, &world.auditor.wanted()) {
            Ok(ledger) => return Some(ledger),
            Err(Trouble::Store(StoreError::Stopped(what))) => {
                world.tell("reader", format_args!("{what}"));
                house.die(false);
                if let Err(trouble) = house.open(0, 0) {
                    world.violated(Check::Refused, format!("a start that builds the index again: {trouble}"));
                    return None;
                }
            }
            Err(trouble) => {
                world.violated(Check::Refused, format!("a read on a sound disk: {trouble}"));
                return None;
            }
        }
    }
    world.violated(Check::Stuck, "the index is damaged again right after it was built".to_owned());
    None
}

/// What must never be said, whatever the disk does.
pub(super) fn blame(world: &mut World, trouble: &Trouble, when: &str) {
    match trouble {
        Trouble::Panic(what) => world.violated(Check::Panicked, format!("{when}: {what}")),
        Trouble::Store(StoreError::Corrupt(what)) => world.violated(Check::Refused, format!("{when}: {what}")),
        Trouble::Store(
            StoreError::Conflict
            | StoreError::Full
            | StoreError::Stopped(_)
            | StoreError::Unreachable(_)
            | StoreError::Unknown(_),
        ) => {}
    }
}
