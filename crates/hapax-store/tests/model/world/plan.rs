//! Plans of single events and of the clock. How their fields are drawn is in `draw`, how a plan becomes a
//! document in `write`.

mod draw;
mod write;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::super::model::Rules;
use super::Clock;
use draw::{amount, epoch, expected, lane, name, seq, when};

const S: i64 = 1_000_000_000;
const HOUR: i64 = 3600 * S;

/// How far the clock moves before a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Step {
    By(i64),
    IdentityKeep(i64),
    NonceKeep(i64),
}

pub(crate) fn step(clock: Clock) -> BoxedStrategy<Step> {
    let forward = prop_oneof![
        10 => Just(Step::By(0)),
        2 => Just(Step::By(1)),
        8 => (1_i64..=6).prop_map(|seconds| Step::By(seconds * S)),
        2 => Just(Step::By(300 * S)),
        1 => Just(Step::By(HOUR)),
        1 => Just(Step::By(24 * HOUR)),
        2 => (-1_i64..=1).prop_map(Step::IdentityKeep),
        2 => (-1_i64..=1).prop_map(Step::NonceKeep),
    ];
    let back = select(vec![Step::By(-1), Step::By(-2 * S), Step::By(-7 * S), Step::By(-HOUR)]);
    match clock {
        Clock::Forward => forward.boxed(),
        Clock::MayStepBack => prop_oneof![20 => forward, 1 => back].boxed(),
    }
}

impl Step {
    pub(crate) fn ns(self, rules: &Rules) -> i64 {
        match self {
            Step::By(ns) => ns,
            Step::IdentityKeep(off) => (rules.identity.keep.unwrap_or(0) + off).max(0),
            Step::NonceKeep(off) => (rules.nonce.keep.unwrap_or(0) + off).max(0),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum EventPlan {
    Fresh(Box<Fresh>),
    /// The document written so many events ago (or the first), changed.
    Copy {
        back: usize,
        change: Change,
    },
    NotAnObject(Value),
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    Nothing,
    /// Whole numbers of the payload written as floats: `1` as `1.0`.
    Floats,
    SentAt,
    Note,
    Lane,
    Nonce,
    NewId,
    Seq,
}

#[derive(Debug, Clone)]
pub(crate) struct Fresh {
    id: Name,
    lane: Option<Value>,
    seq: Seq,
    epoch: Epoch,
    expected: Expected,
    nonce: Name,
    time: Option<When>,
    amount: Option<Value>,
    kind: &'static str,
    customer: &'static str,
    note: u64,
}

/// An id or a nonce.
#[derive(Debug, Clone)]
enum Name {
    Absent,
    New,
    Is(Value),
}

#[derive(Debug, Clone)]
enum Seq {
    Absent,
    /// So far from the lane's expected number.
    Next(i64),
    Is(Value),
}

#[derive(Debug, Clone)]
enum Epoch {
    Absent,
    /// So far above the lane's epoch.
    Current(u64),
    Is(Value),
}

#[derive(Debug, Clone)]
enum Expected {
    Absent,
    Current(i64),
    Is(Value),
}

#[derive(Debug, Clone)]
struct When {
    near: Near,
    off_ns: i64,
    shape: Shape,
}

/// What a time is near to; where the rule or the fact is missing, now.
#[derive(Debug, Clone)]
enum Near {
    Now,
    Future,
    Past,
    LateBound,
    Horizon,
    /// The lane's last time less the grace.
    Regression,
    LastTime,
    /// A counter's watermark less the lateness.
    Watermark,
    Is(Value),
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Z,
    LowerCase,
    NineDigits,
    PlusZero,
    PlusTwoHours,
    MinusZero,
    Local,
}

pub(crate) fn event(rules: &Rules, near_top: bool, epochs: bool) -> impl Strategy<Value = EventPlan> + use<> {
    let change = select(vec![
        Change::Nothing,
        Change::Nothing,
        Change::Floats,
        Change::SentAt,
        Change::Note,
        Change::Lane,
        Change::Nonce,
        Change::NewId,
        Change::NewId,
        Change::Seq,
    ]);
    let bad = select(vec![json!([]), json!("event"), json!(null), json!(7)]);
    prop_oneof![
        75 => fresh(rules, near_top, epochs).prop_map(|fresh| EventPlan::Fresh(Box::new(fresh))),
        24 => (0_usize..12, change).prop_map(|(back, change)| EventPlan::Copy { back, change }),
        1 => bad.prop_map(EventPlan::NotAnObject),
    ]
}

fn fresh(rules: &Rules, near_top: bool, epochs: bool) -> impl Strategy<Value = Fresh> + use<> {
    let id = name("e", if rules.identity.required { 4 } else { 20 });
    let nonce = name("n", if rules.nonce.required { 4 } else { 60 });
    let parts = (seq(rules, near_top), epoch(rules, epochs), expected(rules), when(), amount(rules));
    let rest = (select(vec!["create", "update", "delete"]), select(vec!["x", "y"]), 0_u64..3);
    (id, lane(), nonce, parts, rest).prop_map(
        |(id, lane, nonce, (seq, epoch, expected, time, amount), (kind, customer, note))| Fresh {
            id,
            lane,
            seq,
            epoch,
            expected,
            nonce,
            time,
            amount,
            kind,
            customer,
            note,
        },
    )
}
