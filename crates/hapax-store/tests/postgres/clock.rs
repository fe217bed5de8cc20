//! Whose clock counts: the database's, so that the leases of several servers agree.

use hapax_core::time::Time;
use hapax_store::postgres::{Options, Postgres};
use hapax_store::seam::{Read, Store};
use hapax_store::turn::Request;

use crate::cluster::Cluster;
use crate::servers::{Ledger, json};
use crate::world::{claim, event, found, stream, submit, take};

/// Of the database, in nanoseconds.
fn database_now() -> i64 {
    let text = Cluster::shared().ask("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::int8");
    text.parse::<i64>().expect("a number") * 1000
}

#[test]
fn the_time_of_a_turn_is_the_databases() {
    let ledger = Ledger::empty();
    let mut server =
        Postgres::open(&ledger.address, Options { connections_max: 2, ..Options::default() }).expect("a ledger");
    found(&mut server, "t");
    let one = stream("t", "one");
    // The first second of the year 2000: a server whose clock is very wrong.
    let wrong = |request: Request| Request { now: Time::from_nanos(946_684_800_000_000_000), ..request };
    let before = database_now();
    take(&mut server, vec![wrong(submit(&one, &[event(1)]))]);
    let claimed = take(&mut server, vec![wrong(claim("t", "e1"))]);
    let after = database_now();
    let entry = server.reader().entries(&one, 0, 1).expect("entries").remove(0);
    assert!((before..=after).contains(&entry.at.nanos()), "{before} {} {after}", entry.at.nanos());
    let claimed = json(&claimed[0]);
    assert_eq!(claimed["decision"], "claimed");
    // Of another server with another clock, the lease is not over.
    let mut other = Postgres::open(&ledger.address, Options::default()).expect("a ledger");
    let far = Request { now: Time::from_nanos(4_102_444_800_000_000_000), ..claim("t", "e1") };
    assert_eq!(json(&take(&mut other, vec![far])[0])["decision"], "in_progress");
}

#[test]
fn whoever_brings_a_clock_keeps_it() {
    let ledger = Ledger::new();
    let mut server = ledger.server();
    take(&mut server, vec![submit(&stream("t", "one"), &[event(1)])]);
    let entry = server.reader().entries(&stream("t", "one"), 0, 1).expect("entries").remove(0);
    assert_eq!(entry.at.nanos(), crate::world::NOW_NS);
}
