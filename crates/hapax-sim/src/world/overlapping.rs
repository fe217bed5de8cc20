//! Servers that share one store in memory and overtake one another.

use std::sync::Arc;

use hapax_store::memory::Memory;
use hapax_store::seam::{Read, Store, StoreError};

use super::World;
use crate::check::Check;
use crate::door::{problem, stream_key};
use crate::house::Trouble;
use crate::ledger::{Ledger, plain, read};
use crate::plan::TENANTS;
use crate::shared::{Meanwhile, Overtaken};

/// Plays such a world.
pub(super) fn play(world: &mut World) {
    world.tell("world", format_args!("servers that share a store in memory"));
    let mut memory = Memory::new();
    for (number, tenant) in TENANTS.iter().enumerate() {
        // A store in memory makes a tenant always.
        _ = memory.tenant(&Arc::from(*tenant), [number as u8 + 1; 32]);
    }
    for _ in 0..40 + world.random.below(60) {
        if !world.auditor.is_content() {
            return;
        }
        world.tick();
        turn(world, &memory);
        if world.random.once_in(4) {
            follow(world, &memory);
        }
        if world.random.once_in(10) {
            let ledger = all(world, &memory);
            world.auditor.check(&ledger);
        }
    }
    follow(world, &memory);
    let ledger = all(world, &memory);
    world.auditor.finish(&ledger);
}

fn all(world: &World, memory: &Memory) -> Ledger {
    // Reading memory cannot fail.
    read(memory, &world.plan, &world.auditor.wanted()).unwrap_or_default()
}

fn turn(world: &mut World, memory: &Memory) {
    let asked = world.gather();
    world.asking(&asked);
    let mut meanwhile = Vec::new();
    for _ in 0..world.random.weighted(&[3, 4, 2, 1]) {
        let others = world.gather();
        world.asking(&others);
        meanwhile.push(Meanwhile { at_load: world.random.once_in(3), asked: others });
    }
    world.tell("turn", format_args!("{} requests, {} turns of others meanwhile", asked.len(), meanwhile.len()));
    let plan = world.plan.clone();
    for (asked, answers, trouble) in Overtaken::turn(memory, &plan, world.now, &asked, meanwhile) {
        let mut answers: Vec<_> = answers.into_iter().map(Some).collect();
        match trouble {
            None => {}
            Some(Trouble::Panic(what)) => world.violated(Check::Panicked, what),
            Some(Trouble::Store(error)) => {
                world.conflicts += u64::from(error == StoreError::Conflict);
                if error != StoreError::Conflict {
                    world.violated(Check::Refused, error.to_string());
                }
                answers.resize(asked.len(), Some(problem(&error)));
            }
        }
        world.deliver(asked, &answers);
    }
}

/// A follower reads on.
fn follow(world: &mut World, memory: &Memory) {
    for stream in 0..world.plan.streams.len() {
        let after = world.clients.read[stream].len() as u64;
        let page = memory.entries(&stream_key(&world.plan, stream), after, 20).unwrap_or_default();
        for entry in page {
            let entry = plain(&entry);
            world.auditor.seen(stream, &entry);
            world.clients.read[stream].push(entry);
        }
    }
}
