//! Turns over several streams and handlers at once, in whatever order they were asked for: nobody waits in a circle.

use std::sync::Arc;

use hapax_core::claim::Handler;
use hapax_store::postgres::Postgres;
use hapax_store::seam::{HandlerKey, Read, Store, StreamKey};
use hapax_store::turn::{Ask, ClaimAsk, Request, turn};

use crate::cluster::Cluster;
use crate::servers::{Ledger, now, numbered};
use crate::world::{put, request, stream, submit, take};

const SERVERS: usize = 4;
const TURNS: u64 = 50;
const STREAMS: [&str; 4] = ["c", "a", "d", "b"];
const HANDLERS: [&str; 3] = ["z", "x", "y"];

/// Drawn from a seed, with the high bits of a linear congruence.
struct Draw(u64);

impl Draw {
    fn below(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % below
    }
}

fn handler(name: &str) -> HandlerKey {
    HandlerKey { tenant: Arc::from("t"), handler: Arc::from(name) }
}

fn found(store: &mut Postgres) {
    store.tenant(&Arc::from("t"), [7; 32]).expect("a tenant");
    STREAMS.iter().for_each(|name| _ = take(store, vec![put(&stream("t", name))]));
    for (name, of) in HANDLERS.iter().zip(STREAMS) {
        let declared = Handler { stream: Some(of.to_owned()), ..Handler::new(name) };
        take(store, vec![request(Ask::PutHandler { key: handler(name), handler: Box::new(declared) })]);
        take(store, vec![submit(&stream("t", of), &[numbered("first", "x", 1)])]);
    }
}

/// Two streams and two handlers, in any order.
fn requests(draw: &mut Draw, server: usize, number: u64) -> Vec<Request> {
    let mut all = Vec::new();
    for part in 0..2 {
        let name: StreamKey = stream("t", STREAMS[draw.below(STREAMS.len())]);
        let lane = format!("lane-{server}-{part}");
        let id = format!("{server}-{number}-{part}");
        all.push(submit(&name, &[numbered(&id, &lane, number)]));
        let key = handler(HANDLERS[draw.below(HANDLERS.len())]);
        let ask = ClaimAsk {
            handler: key,
            event_id: "first".to_owned(),
            stream: None,
            lane: None,
            epoch: 0,
            seq: None,
            owner: None,
        };
        all.push(request(Ask::Claim(ask)));
    }
    for index in (1..all.len()).rev() {
        all.swap(index, draw.below(index + 1));
    }
    all
}

#[test]
fn nobody_waits_in_a_circle() {
    let ledger = Ledger::empty();
    found(&mut ledger.server());
    let began = now();
    std::thread::scope(|scope| {
        for (index, mut server) in ledger.servers(SERVERS).into_iter().enumerate() {
            scope.spawn(move || {
                let mut draw = Draw(index as u64 + 20_261_116);
                for number in 1..=TURNS {
                    // A conflict that stays one, or a wait that was given up, is an error here.
                    let answers = turn(&mut server, &mut requests(&mut draw, index, number)).expect("a turn");
                    for answer in answers {
                        assert!(!answer.problem, "{}", String::from_utf8_lossy(&answer.body));
                    }
                }
            });
        }
    });
    let took = began.elapsed();
    let log = Cluster::shared().log();
    assert!(!log.contains("deadlock detected"), "{log}");
    let server = ledger.server();
    let events: u64 = STREAMS.iter().map(|name| server.reader().head(&stream("t", name)).expect("a head").offset).sum();
    assert_eq!(events, SERVERS as u64 * TURNS * 2 + HANDLERS.len() as u64, "each event once");
    println!(
        "figure: {SERVERS} servers, {} turns over two streams and two handlers in any order, 0 deadlocks, {took:.1?}",
        SERVERS as u64 * TURNS
    );
}
