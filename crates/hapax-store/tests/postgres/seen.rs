//! A server knows which ids are new, and does not ask for those. What it cannot know, it asks.

use hapax_store::postgres::Postgres;
use hapax_store::turn::{Answer, turn};
use serde_json::Value;

use crate::ahead::{Jam, waiting_with};
use crate::cluster::wait_until;
use crate::servers::{Ledger, json, numbered};
use crate::world::{stream, submit, take};

const WRITING: &str = "COPY lookups";
const LOCKING: &str = "SELECT %FOR UPDATE";
const CHECKING: &str = "SELECT 1 / coalesce";

/// What a server says of events with these ids.
fn verdicts(server: &mut Postgres, ids: &[&str]) -> Vec<String> {
    verdicts_in(&take(server, vec![submit(&stream("t", "one"), &events(ids))]).remove(0))
}

/// Each in a lane of its own.
fn events(ids: &[&str]) -> Vec<Value> {
    ids.iter().map(|id| numbered(id, id, 1)).collect()
}

fn verdicts_in(answer: &Answer) -> Vec<String> {
    let results = json(answer)["results"].as_array().cloned().unwrap_or_default();
    results.iter().map(|it| it["verdict"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn an_id_that_is_new_is_not_asked_for() {
    let ledger = Ledger::apart("seen_new");
    // What was there before is known, too.
    assert_eq!(verdicts(&mut ledger.server(), &["x0"]), ["accepted"]);
    let mut server = ledger.server();
    assert_eq!(verdicts(&mut server, &["x1", "x2"]), ["accepted", "accepted"]);
    let answer = std::thread::scope(|scope| {
        let jam = Jam::whole("seen_new", "lookups");
        let server = &mut server;
        let sent = scope.spawn(move || turn(server, &mut [submit(&stream("t", "one"), &events(&["x3"]))]));
        // Whoever asked would wait with another statement, and never come to this one.
        wait_until("it is written", || waiting_with("seen_new", WRITING) == 1);
        jam.end();
        sent.join().expect("an answer").expect("a turn").remove(0)
    });
    assert_eq!(verdicts_in(&answer), ["accepted"]);
    assert_eq!(verdicts(&mut server, &["x3", "x1", "x4"]), ["duplicate", "duplicate", "accepted"]);
}

#[test]
fn ids_from_before_a_server_began_are_known_to_it() {
    let ledger = Ledger::new();
    assert_eq!(verdicts(&mut ledger.server(), &["x1", "x2"]), ["accepted", "accepted"]);
    let mut later = ledger.server();
    assert_eq!(verdicts(&mut later, &["x2", "x3", "x1"]), ["duplicate", "accepted", "duplicate"]);
    assert_eq!(verdicts(&mut later, &["x3", "x4"]), ["duplicate", "accepted"]);
}

#[test]
fn ids_that_another_server_took_are_asked_for() {
    let ledger = Ledger::new();
    let (mut one, mut other) = (ledger.server(), ledger.server());
    assert_eq!(verdicts(&mut one, &["x1"]), ["accepted"]);
    assert_eq!(verdicts(&mut other, &["x1", "x2"]), ["duplicate", "accepted"]);
    // Neither has the ids of the other in its filter.
    for _ in 0..2 {
        assert_eq!(verdicts(&mut one, &["x2", "x1"]), ["duplicate", "duplicate"]);
    }
    assert_eq!(verdicts(&mut one, &["x3"]), ["accepted"]);
    assert_eq!(verdicts(&mut other, &["x3"]), ["duplicate"]);
}

#[test]
fn a_turn_behind_another_asks_for_what_an_other_server_took_before_both() {
    let ledger = Ledger::apart("seen_behind");
    let mut first = ledger.server();
    let mut second = first.another();
    assert_eq!(verdicts(&mut ledger.server(), &["x1"]), ["accepted"]);
    // Long enough that nobody expects another server any more, and turns are taken behind each other again; with an id that is asked
    // for anyway, because the third head that is not the one expected is the last.
    assert_eq!(verdicts(&mut first, &["y"]), ["accepted"]);
    for _ in 0..9 {
        assert_eq!(verdicts(&mut first, &["y"]), ["duplicate"]);
    }
    // It needs the lock to be certain.
    let answer = while_one_is_written("seen_behind", [&mut first, &mut second], &["x1"], LOCKING);
    assert_eq!(verdicts_in(&answer), ["duplicate"]);
}

#[test]
fn where_another_server_has_written_everything_is_asked_at_once_before_long() {
    let ledger = Ledger::apart("seen_misses");
    let mut first = ledger.server();
    let mut second = first.another();
    assert_eq!(verdicts(&mut ledger.server(), &["x1"]), ["accepted"]);
    for turn in 0..10 {
        assert_eq!(verdicts(&mut first, &[&format!("y{turn}")]), ["accepted"]);
    }
    // It knows enough to be judged without the lock, and only has that confirmed.
    let answer = while_one_is_written("seen_misses", [&mut first, &mut second], &["x1", "x2"], CHECKING);
    assert_eq!(verdicts_in(&answer), ["duplicate", "accepted"]);
}

/// The first writes another event, and is held up; what is said meanwhile to the second, which waits for it with this statement.
fn while_one_is_written(database: &str, writers: [&mut Postgres; 2], ids: &[&str], waits_with: &str) -> Answer {
    let [first, second] = writers;
    std::thread::scope(|scope| {
        let jam = Jam::new(database, "lookups");
        let before = scope.spawn(move || turn(first, &mut [submit(&stream("t", "one"), &events(&["z1"]))]));
        wait_until("the first is written", || waiting_with(database, WRITING) == 1);
        let after = scope.spawn(move || turn(second, &mut [submit(&stream("t", "one"), &events(ids))]));
        wait_until("the second waits", || waiting_with(database, waits_with) == 1);
        jam.end();
        before.join().expect("an answer").expect("a turn");
        after.join().expect("an answer").expect("a turn").remove(0)
    })
}
