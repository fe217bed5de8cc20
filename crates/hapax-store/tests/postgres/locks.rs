//! Who loads holds, until the commit or until it is gone; whoever comes later waits, and then sees what came before.

use std::sync::mpsc::channel;
use std::time::Duration;

use hapax_store::seam::{Read, Store, StoreError};
use hapax_store::turn::turn;
use serde_json::Value;

use crate::cluster::wait_until;
use crate::servers::{Between, Ledger, json, now, waiting};
use crate::world::{claim, event, load, snapshot, stream, submit, take};

/// The database ends a transaction that does nothing for 2 s. Whoever is sooner did not wait for that.
const SOON: Duration = Duration::from_millis(1500);

#[test]
fn a_second_load_waits_for_the_commit_of_the_first_and_sees_it() {
    let ledger = Ledger::apart("waits");
    let mut servers = ledger.servers(2);
    let [first, second] = &mut servers[..] else { panic!("two servers") };
    let one = stream("t", "one");
    let (loaded, may_start) = channel();
    let (here, there) = std::thread::scope(|scope| {
        let one = &one;
        let other = scope.spawn(move || {
            may_start.recv().expect("the first has loaded");
            let mut requests = [submit(one, &[event(1)]), submit(one, &[event(2)])];
            turn(second, &mut requests).expect("a turn")
        });
        let mut between = Between::new(first, move || {
            loaded.send(()).expect("the second is there");
            wait_until("the second waits", || waiting("waits") == 1);
        });
        let here = turn(&mut between, &mut [submit(one, &[event(1)])]).expect("a turn");
        assert_eq!(between.commits, [Ok(())], "nobody came between");
        (here, other.join().expect("an answer"))
    });
    assert_eq!(json(&here[0])["results"][0]["verdict"], "accepted");
    let results: Vec<Value> = there.iter().map(|answer| json(answer)["results"][0].clone()).collect();
    assert_eq!((&results[0]["verdict"], &results[0]["original"]["offset"]), (&"duplicate".into(), &1.into()));
    assert_eq!((&results[1]["verdict"], &results[1]["offset"]), (&"accepted".into(), &2.into()));
}

#[test]
fn a_claim_waits_for_the_handler_that_another_holds() {
    let ledger = Ledger::apart("claims");
    let mut servers = ledger.servers(2);
    let [first, second] = &mut servers[..] else { panic!("two servers") };
    take(first, vec![submit(&stream("t", "one"), &[event(1)])]);
    let (loaded, may_start) = channel();
    let (here, there) = std::thread::scope(|scope| {
        let other = scope.spawn(move || {
            may_start.recv().expect("the first has loaded");
            turn(second, &mut [claim("t", "e1")]).expect("a turn")
        });
        let mut between = Between::new(first, move || {
            loaded.send(()).expect("the second is there");
            wait_until("the second waits", || waiting("claims") == 1);
        });
        let here = turn(&mut between, &mut [claim("t", "e1")]).expect("a turn");
        (here, other.join().expect("an answer"))
    });
    assert_eq!(
        (json(&here[0])["decision"].clone(), json(&there[0])["decision"].clone()),
        ("claimed".into(), "in_progress".into())
    );
}

#[test]
fn streams_of_others_are_not_waited_for() {
    let ledger = Ledger::new();
    let mut servers = ledger.servers(2);
    let [first, second] = &mut servers[..] else { panic!("two servers") };
    let began = now();
    let mut between = Between::new(first, || {
        take(second, vec![submit(&stream("t", "two"), &[event(1)])]);
    });
    turn(&mut between, &mut [submit(&stream("t", "one"), &[event(1)])]).expect("a turn");
    assert_eq!(between.commits, [Ok(())]);
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

#[test]
fn a_store_that_is_dropped_or_told_to_lets_go() {
    let ledger = Ledger::new();
    let mut servers = ledger.servers(3);
    let (one, began) = (stream("t", "one"), now());
    load(&mut servers[0], "t");
    servers[0].let_go();
    take(&mut servers[2], vec![submit(&one, &[event(1)])]);
    // The next load lets go of the last one, also if it is about something else.
    load(&mut servers[0], "t");
    load(&mut servers[0], "another tenant");
    take(&mut servers[2], vec![submit(&one, &[event(2)])]);
    load(&mut servers[0], "t");
    drop(servers.remove(0));
    take(&mut servers[1], vec![submit(&one, &[event(3)])]);
    assert!(began.elapsed() < SOON, "somebody waited for the database to end a transaction: {:?}", began.elapsed());
}

/// As a server that is frozen in the middle of a turn, and thawed when the world has moved on.
#[test]
fn who_holds_for_too_long_is_let_go_of_and_can_commit_nothing() {
    let ledger = Ledger::new();
    let mut servers = ledger.servers(2);
    let [first, second] = &mut servers[..] else { panic!("two servers") };
    let one = stream("t", "one");
    let mut between = Between::new(first, || {
        // This waits until the database ends the transaction of the first.
        take(second, vec![submit(&one, &[event(1)])]);
    });
    let answers = turn(&mut between, &mut [submit(&one, &[event(1)])]);
    let commits = between.commits;
    assert!(matches!(commits[0], Err(StoreError::Conflict | StoreError::Unreachable(_))), "{commits:?}");
    // Either it is said that nothing was written, or it was taken again with what is true by now.
    match answers {
        Ok(answers) => assert_eq!(json(&answers[0])["results"][0]["verdict"], "duplicate"),
        Err(error) => assert!(matches!(error, StoreError::Unreachable(_)), "{error}"),
    }
    assert_eq!(first.reader().head(&one).expect("a head").offset, 1);
    let again = take(first, vec![submit(&one, &[event(1)])]);
    assert_eq!(json(&again[0])["results"][0]["verdict"], "duplicate", "and it goes on");
    let seen = [snapshot(first, "t"), {
        first.let_go();
        snapshot(second, "t")
    }];
    assert_eq!(seen[0], seen[1]);
}
