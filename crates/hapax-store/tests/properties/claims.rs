//! A claim has one holder, whatever workers do, and however their requests fall into turns.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hapax_core::claim::{Handler, Order};
use hapax_core::duration::Span;
use hapax_store::memory::Memory;
use hapax_store::seam::HandlerKey;
use hapax_store::turn::{Answer, Ask, Call, CallAsk, ClaimAsk, Request};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::cases;
use super::play::model::Opts;
use super::play::stage::Stage;
use super::play::world::BEGINNING_NS;

const EVENTS: usize = 6;
const WORKERS: usize = 3;
const LEASE_MS: u64 = 10_000;

/// What a worker does. It forgets nothing: also the fences that it lost.
#[derive(Debug, Clone)]
enum Act {
    Claim {
        event: usize,
    },
    Heartbeat,
    Done,
    Failed,
    /// With a fence that it had before.
    Zombie,
}

#[derive(Debug, Clone)]
struct Move {
    worker: usize,
    act: Act,
    /// How long passes before it, in milliseconds.
    after_ms: i64,
    /// Is its request the last of a turn?
    turn_ends: bool,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let act = prop_oneof![
        8 => (0..EVENTS).prop_map(|event| Act::Claim { event }),
        2 => Just(Act::Heartbeat),
        4 => Just(Act::Done),
        2 => Just(Act::Failed),
        2 => Just(Act::Zombie),
    ];
    let after_ms = prop_oneof![
        6 => Just(0),
        // Below, at and just above the lease and the first backoff.
        2 => select(vec![1_i64, 999, 1_000, 5_000, 9_999, 10_000, 10_001]),
    ];
    let one = (0..WORKERS, act, after_ms, prop::bool::weighted(0.7))
        .prop_map(|(worker, act, after_ms, turn_ends)| Move { worker, act, after_ms, turn_ends });
    prop::collection::vec(one, 1..100)
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn a_claim_has_one_holder(
        moves in moves(),
        order in select(vec![Order::None, Order::LatestOnly, Order::InOrder]),
        bare in any::<bool>(),
    ) {
        let mut hall = Hall::open(order, bare);
        let mut waiting = Vec::new();
        for one in moves {
            hall.now_ns += one.after_ms * 1_000_000;
            // What a worker says depends on what it was told, so it waits for an answer before it speaks again.
            let speaks_twice = waiting.iter().any(|(earlier, _): &(Move, Asked)| earlier.worker == one.worker);
            if speaks_twice {
                hall.turn(std::mem::take(&mut waiting))?;
            }
            let ends = one.turn_ends;
            if let Some(asked) = hall.asked(&one) {
                waiting.push((one, asked));
            }
            if ends {
                hall.turn(std::mem::take(&mut waiting))?;
            }
        }
        hall.turn(waiting)?;
        for (event, fences) in &hall.done {
            prop_assert!(fences.len() <= 1, "{} was done under {:?}", event, fences);
        }
    }
}

/// The workers, and what they were told.
struct Hall {
    stage: Stage<Memory>,
    key: HandlerKey,
    order: Order,
    bare: bool,
    now_ns: i64,
    held: Vec<Vec<(usize, u64)>>,
    greatest_fence: u64,
    /// Per event, the last fence given out and when its lease ends.
    holders: BTreeMap<usize, (u64, i64)>,
    done: BTreeMap<usize, BTreeSet<u64>>,
}

struct Asked {
    now_ns: i64,
    event: usize,
    fence: Option<u64>,
    request: Request,
}

/// Two lanes of three events.
fn place(event: usize) -> (&'static str, u64) {
    (if event < EVENTS / 2 { "a" } else { "b" }, (event % (EVENTS / 2)) as u64 + 1)
}

impl Hall {
    fn open(order: Order, bare: bool) -> Self {
        let mut stage = Stage::new("[sequence]\nsource = \"producer\"\nfirst = 1\n");
        for event in 0..EVENTS {
            let (lane, seq) = place(event);
            let doc = json!({ "id": format!("e{event}"), "lane": lane, "seq": seq });
            stage.submit(BEGINNING_NS, &[doc], Opts::default());
        }
        let key = HandlerKey { tenant: Arc::clone(&stage.stream.tenant), handler: Arc::from("h") };
        let stream = (!bare).then(|| stage.stream.stream.to_string());
        let lease = Span::from_millis(LEASE_MS);
        let handler = Handler { stream, order, lease, heartbeat: Span::from_secs(1), ..Handler::new("h") };
        let answer = stage.ask(BEGINNING_NS, Ask::PutHandler { key: key.clone(), handler: Box::new(handler) });
        assert_eq!(answer.status, 201, "{}", String::from_utf8_lossy(&answer.body));
        Self {
            stage,
            key,
            order,
            bare,
            now_ns: BEGINNING_NS,
            held: vec![Vec::new(); WORKERS],
            greatest_fence: 0,
            holders: BTreeMap::new(),
            done: BTreeMap::new(),
        }
    }

    fn asked(&self, one: &Move) -> Option<Asked> {
        let held = &self.held[one.worker];
        let (event, fence, call) = match &one.act {
            Act::Claim { event } => (*event, None, None),
            Act::Heartbeat => {
                held.last().map(|(event, fence)| (*event, *fence, Call::Heartbeat { fence: *fence })).map(said)?
            }
            Act::Done => held
                .last()
                .map(|(event, fence)| (*event, *fence, Call::Done { fence: *fence, result: None }))
                .map(said)?,
            Act::Failed => {
                let failed = |fence: u64| Call::Failed { fence, error: "it broke".to_string() };
                held.last().map(|(event, fence)| (*event, *fence, failed(*fence))).map(said)?
            }
            Act::Zombie => held
                .first()
                .map(|(event, fence)| (*event, *fence, Call::Done { fence: *fence, result: None }))
                .map(said)?,
        };
        let (handler, event_id) = (self.key.clone(), format!("e{event}"));
        let (lane, seq) = place(event);
        let lane = self.bare.then(|| lane.to_string());
        let ask = match call {
            Some(call) => Ask::Call(CallAsk { handler, event_id, stream: None, lane, call }),
            None => Ask::Claim(ClaimAsk {
                handler,
                event_id,
                stream: None,
                lane,
                epoch: 0,
                seq: self.bare.then_some(seq),
                owner: None,
            }),
        };
        Some(Asked { now_ns: self.now_ns, event, fence, request: self.stage.plain(self.now_ns, ask) })
    }

    fn turn(&mut self, waiting: Vec<(Move, Asked)>) -> Result<(), TestCaseError> {
        let mut heard = Vec::new();
        let mut requests = Vec::new();
        for (one, Asked { now_ns, event, fence, request }) in waiting {
            heard.push((one, now_ns, event, fence));
            requests.push(request);
        }
        let answers = self.stage.take(requests);
        for ((one, now_ns, event, fence), answer) in heard.into_iter().zip(&answers) {
            self.hear(&one, now_ns, event, fence, answer)?;
        }
        Ok(())
    }

    fn hear(
        &mut self,
        one: &Move,
        now_ns: i64,
        event: usize,
        fence: Option<u64>,
        answer: &Answer,
    ) -> Result<(), TestCaseError> {
        let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
        let Some(fence) = fence else { return self.hear_claim(one, now_ns, event, &body) };
        let current = self.holders.get(&event).map(|(fence, _)| *fence);
        if current != Some(fence) {
            prop_assert_eq!(answer.status, 409, "{} speaks for a fence that {:?} replaced: {}", fence, current, body);
        }
        if let (200, Act::Done | Act::Zombie) = (answer.status, &one.act) {
            self.done.entry(event).or_default().insert(fence);
        }
        if let (200, Act::Heartbeat) = (answer.status, &one.act) {
            self.holders.insert(event, (fence, now_ns + LEASE_MS as i64 * 1_000_000));
        }
        if let (200, Act::Failed) = (answer.status, &one.act) {
            self.holders.insert(event, (fence, i64::MIN));
        }
        Ok(())
    }

    fn hear_claim(&mut self, one: &Move, now_ns: i64, event: usize, body: &Value) -> Result<(), TestCaseError> {
        let decision = body["decision"].as_str().unwrap_or_default();
        if self.done.contains_key(&event) {
            prop_assert_eq!(decision, "done", "{}", body);
        }
        if decision != "claimed" {
            return Ok(());
        }
        let fence = body["fence"].as_u64().expect("a fence");
        prop_assert!(fence > self.greatest_fence, "fences grow over the whole handler");
        self.greatest_fence = fence;
        if let Some((holder, until)) = self.holders.get(&event) {
            prop_assert!(*until < now_ns, "{} holds {} until {}, and it is {}", holder, event, until, now_ns);
        }
        if self.order == Order::InOrder {
            let (lane, seq) = place(event);
            let earlier = (0..EVENTS).filter(|other| place(*other).0 == lane && place(*other).1 < seq);
            for other in earlier {
                prop_assert!(self.done.contains_key(&other), "{} was claimed before {} was done", event, other);
            }
        }
        self.holders.insert(event, (fence, now_ns + LEASE_MS as i64 * 1_000_000));
        self.held[one.worker].push((event, fence));
        Ok(())
    }
}

fn said((event, fence, call): (usize, u64, Call)) -> (usize, Option<u64>, Option<Call>) {
    (event, Some(fence), Some(call))
}
