//! Turns of one process on one stream: the next is judged while the one before it is still being written, on what that one
//! will leave. And the turn after one of the same process does not read again what that one has left.
//!
//! The turn before is held up in the middle of its commit by a lock on the table of lookups, so that every moment here is one
//! that was made, not one that was hit. All is compared with a ledger in memory that takes the same turns one after the other.

use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle};

use hapax_core::contract::Contract;
use hapax_store::memory::Memory;
use hapax_store::postgres::Postgres;
use hapax_store::seam::{Read, Store};
use hapax_store::turn::{Answer, Ask, Request, turn};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls};

use crate::cluster::{Cluster, wait_until};
use crate::servers::{Ledger, json, numbered};
use crate::world::{CONTRACT, claim, event, found, keyed, request, snapshot, stream, submit, take};

/// Nobody writes to a table while this is there.
pub(crate) struct Jam {
    runtime: Runtime,
    client: Client,
}

impl Jam {
    pub(crate) fn new(database: &str, table: &str) -> Self {
        Self::with(database, table, "SHARE")
    }

    /// Nobody even reads it.
    pub(crate) fn whole(database: &str, table: &str) -> Self {
        Self::with(database, table, "ACCESS EXCLUSIVE")
    }

    fn with(database: &str, table: &str, mode: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a runtime");
        let url = Cluster::shared().url_of(database, "hapax");
        let url = url.split('?').next().expect("an address").to_owned();
        let client = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&url, NoTls).await.expect("a connection");
            tokio::spawn(connection);
            let lock = format!("BEGIN; LOCK TABLE hapax.{table} IN {mode} MODE");
            client.batch_execute(&lock).await.expect("a lock");
            client
        });
        Self { runtime, client }
    }

    /// How many rows are in a table.
    pub(crate) fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM hapax.{table}");
        self.runtime.block_on(self.client.query_one(&sql, &[])).expect("an answer").get(0)
    }

    pub(crate) fn end(self) {
        self.runtime.block_on(self.client.batch_execute("ROLLBACK")).expect("an end");
    }
}

/// How many sessions of a database wait for a lock with a statement like this.
pub(crate) fn waiting_with(database: &str, statement: &str) -> usize {
    let waits = "wait_event_type = 'Lock' AND state = 'active'";
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE {waits} AND datname = '{database}' AND query LIKE '{statement}%'"
    );
    Cluster::shared().ask(&sql).parse().expect("a number")
}

/// How many sessions of a database do nothing after a statement with this in it.
fn idle_after(database: &str, part: &str) -> usize {
    let sql = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle' AND datname = '{database}' AND query LIKE '%{part}%'"
    );
    Cluster::shared().ask(&sql).parse().expect("a number")
}

/// Ends the sessions of a database that wait for a lock with a statement like this.
pub(crate) fn end_session(database: &str, statement: &str) {
    let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    Cluster::shared().ask(&format!("{end} AND datname = '{database}' AND query LIKE '{statement}%'"));
}

const WRITING: &str = "COPY lookups";
const CHECKING: &str = "SELECT 1 / coalesce";

fn taken<'s>(scope: &'s Scope<'s, '_>, store: &'s mut Postgres, request: Request) -> ScopedJoinHandle<'s, Answer> {
    scope.spawn(move || turn(store, &mut [request]).expect("a turn").remove(0))
}

/// What a turn that writes everything that the next can look at leads to, and what the next makes of it.
fn first_batch() -> Vec<Value> {
    // Numbers 2 and 3 are missing in lane a; lane b is new; the counter has 2 * 2.
    vec![event(1), event(4), numbered("b1", "b", 1)]
}

fn second_batch() -> Vec<Value> {
    let mut same_nonce = event(9);
    same_nonce["nonce"] = json!("n4");
    // A repeat, a number that was missing, the next one, a nonce that was used, the next of the new lane.
    vec![event(4), event(2), event(5), same_nonce, numbered("b2", "b", 2)]
}

/// The same submissions in memory, one after the other.
fn in_memory(batches: &[Vec<Value>]) -> (Vec<Answer>, Memory) {
    let mut memory = Memory::new();
    found(&mut memory, "t");
    let submitted = |batch: &Vec<Value>| take(&mut memory, vec![submit(&stream("t", "one"), batch)]).remove(0);
    let answers = batches.iter().map(submitted).collect();
    (answers, memory)
}

#[test]
fn a_turn_is_judged_on_what_the_one_before_it_leaves() {
    let ledger = Ledger::apart("ahead");
    let mut first = ledger.server();
    let mut second = first.another();
    let one = stream("t", "one");
    let turns = [first_batch(), second_batch()];
    let answers = std::thread::scope(|scope| {
        let jam = Jam::new("ahead", "lookups");
        let before = taken(scope, &mut first, submit(&one, &turns[0]));
        wait_until("the first is written", || waiting_with("ahead", WRITING) == 1);
        let after = taken(scope, &mut second, submit(&one, &turns[1]));
        wait_until("the second was judged", || waiting_with("ahead", CHECKING) == 1);
        jam.end();
        [before.join().expect("an answer"), after.join().expect("an answer")]
    });
    let (expected, mut memory) = in_memory(&turns);
    for (answer, expected) in answers.iter().zip(&expected) {
        assert_eq!(json(answer), json(expected));
    }
    assert_eq!(snapshot(&mut first, "t"), snapshot(&mut memory, "t"));
}

#[test]
fn a_request_that_the_turn_before_answers_is_answered_alike() {
    let ledger = Ledger::apart("answered");
    let mut first = ledger.server();
    let mut second = first.another();
    let one = stream("t", "one");
    let answers = std::thread::scope(|scope| {
        let jam = Jam::new("answered", "lookups");
        let same = || keyed("t", submit(&one, &[event(1)]));
        let before = taken(scope, &mut first, same());
        wait_until("the first is written", || waiting_with("answered", WRITING) == 1);
        // Nothing is written by the second, and still it waits for what it rests on.
        let after = taken(scope, &mut second, same());
        wait_until("the second was judged", || waiting_with("answered", CHECKING) == 1);
        assert!(!after.is_finished(), "nothing is answered that is not durable");
        jam.end();
        [before.join().expect("an answer"), after.join().expect("an answer")]
    });
    assert_eq!(json(&answers[0]), json(&answers[1]));
    assert!(!answers[0].replayed && answers[1].replayed);
    assert_eq!(first.reader().head(&one).expect("a head").attempts, 1);
}

#[test]
fn a_turn_behind_one_that_fails_is_taken_again_without_it() {
    let ledger = Ledger::apart("fails");
    let mut first = ledger.server();
    let mut second = first.another();
    let one = stream("t", "one");
    let turns = [first_batch(), second_batch()];
    let answers = std::thread::scope(|scope| {
        let jam = Jam::new("fails", "lookups");
        let before = taken(scope, &mut first, submit(&one, &turns[0]));
        wait_until("the first is written", || waiting_with("fails", WRITING) == 1);
        let after = taken(scope, &mut second, submit(&one, &turns[1]));
        wait_until("the second was judged", || waiting_with("fails", CHECKING) == 1);
        end_session("fails", WRITING);
        jam.end();
        [before.join().expect("an answer"), after.join().expect("an answer")]
    });
    // Both were taken once, in one order or the other.
    let offsets = |answer: &Answer| json(answer)["results"][0]["offset"].as_u64().unwrap_or(u64::MAX);
    let mut order = [0, 1];
    order.sort_by_key(|place: &usize| offsets(&answers[*place]));
    let (expected, mut memory) = in_memory(&order.map(|place| turns[place].clone()));
    for (place, expected) in order.iter().zip(&expected) {
        assert_eq!(json(&answers[*place]), json(expected));
    }
    assert_eq!(snapshot(&mut first, "t"), snapshot(&mut memory, "t"));
}

#[test]
fn a_turn_before_which_another_server_came_is_taken_again_with_what_that_wrote() {
    let ledger = Ledger::apart("between");
    let mut first = ledger.server();
    let mut second = first.another();
    let mut other = ledger.server();
    let one = stream("t", "one");
    // Of what the second submits the other has a part already, and the number after the last.
    let others = vec![event(2), numbered("x", "b", 2)];
    let turns = [first_batch(), others, second_batch()];
    let answers = std::thread::scope(|scope| {
        let jam = Jam::new("between", "lookups");
        let before = taken(scope, &mut first, submit(&one, &turns[0]));
        wait_until("the first is written", || waiting_with("between", WRITING) == 1);
        let between = taken(scope, &mut other, submit(&one, &turns[1]));
        wait_until("the other waits for its lock", || waiting_with("between", "SELECT t.tenant") == 1);
        let after = taken(scope, &mut second, submit(&one, &turns[2]));
        wait_until("the second was judged", || waiting_with("between", CHECKING) == 1);
        jam.end();
        [before, between, after].map(|taken| taken.join().expect("an answer"))
    });
    let (expected, mut memory) = in_memory(&turns);
    for (answer, expected) in answers.iter().zip(&expected) {
        assert_eq!(json(answer), json(expected));
    }
    assert_eq!(snapshot(&mut first, "t"), snapshot(&mut memory, "t"));
}

/// Neither the turn before nor what was read has what another server was about to commit when it was read.
#[test]
fn a_turn_that_read_while_another_server_had_the_lock_sees_what_that_wrote() {
    let ledger = Ledger::apart("under");
    let mut first = ledger.server();
    let mut second = first.another();
    let mut other = ledger.server();
    let one = stream("t", "one");
    let others = vec![event(2), numbered("x", "c", 1)];
    let turns = [others, vec![event(1), numbered("b1", "b", 1)], vec![event(2), numbered("x", "c", 1), event(3)]];
    let answers = std::thread::scope(|scope| {
        let jam = Jam::new("under", "lookups");
        let under = taken(scope, &mut other, submit(&one, &turns[0]));
        wait_until("the other has the lock", || waiting_with("under", WRITING) == 1);
        let before = taken(scope, &mut first, submit(&one, &turns[1]));
        wait_until("the first waits for it", || waiting_with("under", "SELECT t.tenant") == 1);
        let after = taken(scope, &mut second, submit(&one, &turns[2]));
        wait_until("the second has read", || idle_after("under", "JOIN closed") == 1);
        jam.end();
        [under, before, after].map(|taken| taken.join().expect("an answer"))
    });
    let (expected, mut memory) = in_memory(&turns);
    for (answer, expected) in answers.iter().zip(&expected) {
        assert_eq!(json(answer), json(expected));
    }
    assert_eq!(snapshot(&mut first, "t"), snapshot(&mut memory, "t"));
}

/// Every turn rests on lanes that the server wrote last, or that the other did.
#[test]
fn servers_that_take_turns_see_what_the_others_left() {
    let ledger = Ledger::new();
    let mut servers = ledger.servers(2);
    servers.push(servers[0].another());
    let mut memory = Memory::new();
    found(&mut memory, "t");
    let one = stream("t", "one");
    let mut number = 3;
    // Twice by the same, then by the others: by the first, its other writer, another server.
    for server in [0, 0, 2, 0, 1, 1, 0, 2, 2, 1, 0, 0, 0, 2, 1, 0, 1, 0].repeat(2) {
        number += 3;
        // A gap, and the end of one that somebody else left; the lane of the server, and one that nobody had.
        let mut documents = vec![event(number), event(number - 4), numbered(&format!("l{number}"), "all", number)];
        documents.push(numbered(&format!("n{number}"), &format!("new-{}", number / 9), number));
        // A lane that comes to nothing, because the id is taken; and some turns later to something.
        let ghost = format!("ghost-{}", number / 12);
        documents.push(numbered(&format!("l{number}"), &ghost, 1));
        if number % 12 == 9 {
            documents.push(numbered(&ghost, &ghost, 1));
        }
        let turns = || {
            let mut turns = vec![submit(&one, &documents), submit(&one, &documents[..1])];
            if number % 15 == 0 {
                let (lane, from, to) = (Arc::from("a"), number - 2, number - 1);
                turns.push(request(Ask::Acknowledge {
                    stream: one.clone(),
                    lane,
                    from,
                    to,
                    reason: Arc::from("a test"),
                }));
            }
            if number == 54 {
                let text = CONTRACT.replace("lateness = \"1h\"", "lateness = \"2h\"");
                let contract = Box::new(Contract::from_toml(&text).unwrap_or_else(|problems| panic!("{problems:?}")));
                turns.push(request(Ask::PutContract { stream: one.clone(), contract }));
            }
            turns
        };
        for (here, there) in turns().into_iter().zip(turns()) {
            let answer = take(&mut servers[server], vec![here]).remove(0);
            assert_eq!(json(&answer), json(&take(&mut memory, vec![there]).remove(0)), "{number}, server {server}");
        }
    }
    take(&mut servers[1], vec![claim("t", "e6")]);
    take(&mut memory, vec![claim("t", "e6")]);
    for server in &mut servers {
        assert_eq!(snapshot(server, "t"), snapshot(&mut memory, "t"));
        server.let_go();
    }
}
