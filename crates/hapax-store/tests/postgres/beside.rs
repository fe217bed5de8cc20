//! The lookups of a large turn are committed before it, on another connection: nothing is found by those of a turn that failed.

use hapax_store::memory::Memory;
use hapax_store::seam::{Read, Store, StoreError};
use hapax_store::turn::turn;
use serde_json::Value;

use crate::ahead::{Jam, end_session, waiting_with};
use crate::cluster::wait_until;
use crate::servers::{Ledger, json, numbered};
use crate::world::{found, stream, submit, take};

/// So many that they are written beside.
const MANY: u64 = 300;

const WRITING: &str = "COPY blocks";

fn batch(name: &str) -> Vec<Value> {
    (1..=MANY).map(|number| numbered(&format!("{name}-{number}"), name, number)).collect()
}

#[test]
fn lookups_of_a_turn_that_failed_lead_nowhere() {
    let ledger = Ledger::apart("beside");
    let mut server = ledger.server();
    let one = stream("t", "one");
    let mut memory = Memory::new();
    found(&mut memory, "t");
    // Nobody else is there for some turns.
    for number in 1..=5 {
        let alone = || submit(&one, &[numbered(&format!("first-{number}"), "first", number)]);
        take(&mut server, vec![alone()]);
        take(&mut memory, vec![alone()]);
    }
    let failed = std::thread::scope(|scope| {
        let jam = Jam::new("beside", "blocks");
        let (server, one) = (&mut server, &one);
        let taken = scope.spawn(move || turn(server, &mut [submit(one, &batch("a"))]));
        wait_until("the lookups are there, and the entries are not", || {
            jam.count("lookups") == 5 + MANY as i64 && waiting_with("beside", WRITING) == 1
        });
        // Each time it is tried.
        wait_until("it gives up", || {
            end_session("beside", WRITING);
            taken.is_finished()
        });
        jam.end();
        taken.join().expect("an end")
    });
    assert_eq!(failed.expect_err("it was cut off each time"), StoreError::Conflict);
    assert_eq!(server.reader().head(&one).expect("a head").offset, 5);
    // Others stand where those would have stood; then those come after all, and once more.
    for name in ["b", "a", "a", "b"] {
        let here = take(&mut server, vec![submit(&one, &batch(name))]).remove(0);
        let there = take(&mut memory, vec![submit(&one, &batch(name))]).remove(0);
        assert_eq!(json(&here), json(&there), "{name}");
    }
    let jam = Jam::new("beside", "blocks");
    assert!(jam.count("lookups") > 5 + 2 * MANY as i64, "some of them lead nowhere");
}
