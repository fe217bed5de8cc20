//! Servers that contend for one directory on a bad disk.
//!
//! Everything can be hit: the first start, every start after it, turns, upkeep, a stop in good order, and the quiet between
//! them. From many moments branches are tried (`branch`).

use hapax_store::seam::{Read, Store, StoreError};

use super::World;
use super::branch::{blame, images, look, probe};
use crate::check::Check;
use crate::door::{problem, stream_key};
use crate::house::{House, Trouble};
use crate::ledger::plain;

/// How often a start may be hit in a row.
const HITS_MAX: usize = 4;

/// Plays such a world.
pub(super) fn play(world: &mut World) {
    let mut house = House::draw(&mut world.random);
    let servers = 2 + world.random.below(2);
    world.tell("world", format_args!("{servers} servers on one disk"));
    start(world, &mut house, servers, "creating");
    for _ in 0..30 + world.random.below(60) {
        if !world.auditor.is_content() {
            return;
        }
        world.tick();
        match world.random.weighted(&[14, 7, 3, 1, 1, 2, 2]) {
            0 => turn(world, &mut house, servers),
            1 => upkeep(world, &mut house, servers),
            2 => _ = follow(world, &mut house, servers),
            3 => stop(world, &mut house, servers),
            4 => crash(world, &mut house, servers, "idle"),
            5 => fill(world, &mut house, servers),
            _ => knock(world, &house, servers),
        }
    }
    house.disk.heal();
    for _ in 0..200 {
        if follow(world, &mut house, servers) == 0 || !world.auditor.is_content() {
            break;
        }
    }
    if !world.auditor.is_content() {
        return;
    }
    match look(world, &mut house) {
        Some(ledger) => world.auditor.finish(&ledger),
        None => world.violated(Check::Stuck, "the ledger cannot be read in the end".to_owned()),
    }
}

/// A server starts, however often that is hit.
fn start(world: &mut World, house: &mut House, servers: usize, kind: &'static str) {
    for _ in 0..world.random.weighted(&[4, 3, 2, 1]).min(HITS_MAX) {
        let server = world.random.below(servers);
        let fault = house.arm(&mut world.random, 40);
        images(world, house, 40);
        let opened = house.open(server, world.random.next());
        let branches = house.disk.take_images(world.random.next());
        house.disk.heal();
        for branch in branches {
            probe(world, house, branch, kind);
        }
        match opened {
            Ok(()) if !house.disk.is_off() => {
                world.tell("server", format_args!("{server} has the directory, despite {fault:?}"));
                // The next try is another process.
                if world.random.once_in(2) {
                    return;
                }
                crash_here(world, house, kind);
            }
            Ok(()) => crash_here(world, house, kind),
            Err(trouble) => {
                blame(world, &trouble, "a start that was hit");
                world.tell("server", format_args!("{server} could not start under {fault:?}: {trouble}"));
                crash_here(world, house, kind);
            }
        }
    }
    let server = world.random.below(servers);
    match house.open(server, world.random.next()) {
        Ok(()) => world.tell("server", format_args!("{server} has the directory")),
        Err(Trouble::Panic(what)) => world.violated(Check::Panicked, what),
        Err(trouble) => world.violated(Check::Refused, format!("a start on a sound disk: {trouble}")),
    }
}

fn turn(world: &mut World, house: &mut House, servers: usize) {
    let asked = world.gather();
    world.asking(&asked);
    let fault = if world.random.once_in(3) { house.arm(&mut world.random, 8) } else { None };
    images(world, house, 5);
    let plan = world.plan.clone();
    let (answers, trouble) = house.turn(&plan, &asked, world.now);
    house.disk.heal();
    let branches = house.disk.take_images(world.random.next());
    for branch in branches {
        probe(world, house, branch, "turn");
    }
    // Who has its answer has it, also if the machine stops the moment after.
    let mut answers: Vec<_> = answers.into_iter().map(Some).collect();
    if house.disk.is_off() {
        world.tell("server", format_args!("stopped in the middle of a turn"));
        world.deliver(asked, &answers);
        return crash(world, house, servers, "turn");
    }
    let Some(trouble) = trouble else { return world.deliver(asked, &answers) };
    world.tell("server", format_args!("a turn failed under {fault:?}: {trouble}"));
    blame(world, &trouble, "a turn");
    if let Trouble::Store(error) = &trouble {
        answers.resize(asked.len(), Some(problem(error)));
    }
    world.deliver(asked, &answers);
    match trouble {
        Trouble::Store(StoreError::Full | StoreError::Unreachable(_) | StoreError::Unknown(_)) => {}
        // With one writer nobody can be quicker.
        Trouble::Store(StoreError::Conflict) => {
            world.violated(Check::Stuck, "a conflict with nobody".to_owned());
        }
        Trouble::Store(StoreError::Stopped(_) | StoreError::Corrupt(_)) | Trouble::Panic(_) => {
            world.tell("server", format_args!("ends"));
            crash(world, house, servers, "stopped");
        }
    }
}

fn upkeep(world: &mut World, house: &mut House, servers: usize) {
    let fault = if world.random.once_in(3) { house.arm(&mut world.random, 12) } else { None };
    images(world, house, 12);
    let steps = 1 + world.random.below(6);
    let outcome = house.upkeep(steps, world.now);
    house.disk.heal();
    let branches = house.disk.take_images(world.random.next());
    for branch in branches {
        probe(world, house, branch, "upkeep");
    }
    if house.disk.is_off() {
        world.tell("server", format_args!("stopped in the middle of its upkeep"));
        return crash(world, house, servers, "upkeep");
    }
    match outcome {
        Ok(steps) => world.tell("upkeep", format_args!("{steps} steps")),
        Err(trouble) => {
            world.tell("upkeep", format_args!("failed under {fault:?}: {trouble}"));
            blame(world, &trouble, "upkeep");
            if matches!(trouble, Trouble::Store(StoreError::Stopped(_))) {
                crash(world, house, servers, "stopped");
            }
        }
    }
}

/// A follower reads on; answers how much it found.
fn follow(world: &mut World, house: &mut House, servers: usize) -> usize {
    let mut found = 0;
    let mut broken = None;
    if let Some((_, store)) = &house.serving {
        let reader = store.reader().clone();
        for stream in 0..world.plan.streams.len() {
            let after = world.clients.read[stream].len() as u64;
            match reader.entries(&stream_key(&world.plan, stream), after, 5) {
                Ok(page) => {
                    found += page.len();
                    for entry in page {
                        let entry = plain(&entry);
                        world.auditor.seen(stream, &entry);
                        world.clients.read[stream].push(entry);
                    }
                }
                Err(error) => broken = Some(Trouble::Store(error)),
            }
        }
    }
    world.tell("follower", format_args!("read {found}"));
    if let Some(trouble) = broken {
        world.tell("follower", format_args!("{trouble}"));
        blame(world, &trouble, "a read");
        crash(world, house, servers, "stopped");
        return found + 1;
    }
    found
}

/// A server stops in good order, or tries to.
fn stop(world: &mut World, house: &mut House, servers: usize) {
    let fault = house.arm(&mut world.random, 15);
    images(world, house, 15);
    let closed = house.close();
    house.disk.heal();
    let branches = house.disk.take_images(world.random.next());
    for branch in branches {
        probe(world, house, branch, "closing");
    }
    world.tell("server", format_args!("stops under {fault:?}: {closed:?}"));
    if let Err(trouble) = &closed {
        blame(world, trouble, "a stop");
    }
    if house.disk.is_off() || closed.is_err() {
        return crash(world, house, servers, "closing");
    }
    start(world, house, servers, "recovering");
}

/// The disk fills up, and is freed again.
fn fill(world: &mut World, house: &mut House, servers: usize) {
    // Anything from no room at all to room for a little.
    house.disk.set_capacity(if world.random.once_in(2) { 0 } else { 40 << 10 });
    world.tell("disk", format_args!("is nearly full"));
    for _ in 0..1 + world.random.below(3) {
        match world.random.below(3) {
            0 | 1 => turn(world, house, servers),
            _ => upkeep(world, house, servers),
        }
        if !world.auditor.is_content() {
            break;
        }
    }
    house.disk.set_capacity(1 << 30);
    world.tell("disk", format_args!("has room"));
}

/// Another server wants the directory, and does not get it.
fn knock(world: &mut World, house: &House, servers: usize) {
    let server = world.random.below(servers);
    if house.serving.is_none() {
        return;
    }
    let mut other = house.on(house.disk.clone());
    let opened = other.open(server, world.random.next());
    match opened {
        Err(Trouble::Store(StoreError::Unreachable(_))) => world.tell("server", format_args!("{server} waits")),
        Err(trouble) => blame(world, &trouble, "a second process"),
        Ok(()) => world.violated(Check::Refused, "two processes have the directory".to_owned()),
    }
}

/// The process or the machine goes down, and a server takes over.
fn crash(world: &mut World, house: &mut House, servers: usize, kind: &'static str) {
    for _ in 0..world.random.below(4) {
        let branch = house.disk.fork(world.random.next());
        probe(world, house, branch, kind);
    }
    crash_here(world, house, kind);
    start(world, house, servers, "recovering");
    if !world.auditor.is_content() {
        return;
    }
    if let Some(ledger) = look(world, house) {
        world.auditor.check(&ledger);
    }
}

fn crash_here(world: &mut World, house: &mut House, kind: &'static str) {
    let power = !world.random.once_in(4);
    world.tell("crash", format_args!("{kind}, {}", if power { "power" } else { "process" }));
    *world.crashes.entry(kind).or_default() += 1;
    house.die(power);
}
