//! A contract: the rules of one stream, as its owner wrote them down.
//!
//! Every key has a default, a preset supplies others, and a written key wins. A [`Contract`] is always whole and safe:
//! [`Contract::from_toml`] and [`Contract::from_json`] answer with one that passed every check, or with all problems.
//!
//! Not here: how a rule decides. See [`crate::judge`].

mod change;
mod check;
mod preset;
mod read;
mod show;
mod words;

pub use change::forbidden_changes;
pub use preset::{PRESETS, Preset};
pub use show::to_json;
pub use words::in_words;

use crate::duration::{Bound, Span};
use crate::payload::PayloadRules;
use crate::period::Period;
use crate::pointer::Pointer;
use crate::source::{Node, Problem};
use crate::value::Value;

/// The rules of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Contract {
    /// The preset that supplied the defaults.
    pub preset: Option<String>,
    /// Do refusals refuse?
    pub mode: Mode,
    /// Where meanings are found in a document.
    pub envelope: Envelope,
    /// When two events are one.
    pub identity: Identity,
    /// The order of numbers.
    pub sequence: Sequence,
    /// The order and bounds of times.
    pub time: TimeRules,
    /// Values that are good for one event.
    pub nonce: NonceRules,
    /// A lane without an event for this long is stale.
    pub silence: Bound,
    /// How a batch is judged.
    pub batch: BatchRules,
    /// May an admin lift a refusal?
    pub override_allowed: bool,
    /// How long attempts that were not accepted are kept.
    pub audit_keep: Bound,
    /// What is counted, by name.
    pub counters: Vec<CounterRules>,
}

/// Do refusals refuse?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Yes.
    Enforce,
    /// No, but they are marked.
    Shadow,
    /// The rules of order, time and nonce are not looked at.
    Off,
}

/// Where meanings are found; `None` is a field that the stream does not have.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// The event's id.
    pub id: Option<Pointer>,
    /// The parts of the lane; none: the stream is one lane.
    pub lane: Vec<Pointer>,
    /// The producer's number.
    pub seq: Option<Pointer>,
    /// When the source saw it.
    pub time: Option<Pointer>,
    /// A value that is good for one event.
    pub nonce: Option<Pointer>,
    /// The producer's incarnation.
    pub epoch: Option<Pointer>,
    /// The number that the sender believes to be the lane's highest.
    pub expected: Option<Pointer>,
}

/// When two events are one.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// Refuse a document without an id and without anything to derive it from.
    pub required: bool,
    /// Where an id is derived from.
    pub derive: Vec<Pointer>,
    /// How long an id is remembered.
    pub keep: Bound,
    /// Within what an id is unique.
    pub scope: Scope,
    /// Same id, same payload.
    pub same: Same,
    /// Same id, other payload.
    pub different: Different,
    /// What "same payload" means.
    pub payload: PayloadRules,
}

/// Within what an id is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The stream.
    Stream,
    /// The lane.
    Lane,
}

/// What a duplicate is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Same {
    /// 200 and the original receipt.
    Replay,
    /// 409 and the original receipt.
    Reject,
}

/// What another payload under a known id is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Different {
    /// A conflict.
    Reject,
    /// A duplicate with a state.
    Warn,
}

/// The order of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Sequence {
    /// Who numbers.
    pub source: Source,
    /// What the first event of a lane carries.
    pub first: First,
    /// A number above the expected one.
    pub gap: OnGap,
    /// Gaps of more than this many numbers are large.
    pub gap_large: u64,
    /// A late number.
    pub regression: OnNumber,
    /// A used number.
    pub repeat: OnNumber,
    /// How many gaps of a lane may be open.
    pub gaps_open_max: u64,
    /// Which events must carry an expected number.
    pub expected_required_for: Option<When>,
}

/// Who numbers the events of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Nobody.
    None,
    /// The producer.
    Producer,
    /// The commit.
    Server,
}

/// What the first event of a lane is expected to carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum First {
    /// Anything: it is the baseline.
    Any,
    /// This number.
    Number(u64),
}

/// What a gap leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnGap {
    /// A mark.
    Mark,
    /// A refusal.
    Reject,
}

/// What a late or used number leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnNumber {
    /// A mark.
    Mark,
    /// A refusal.
    Reject,
    /// The verdict `stale`.
    Stale,
}

/// Only events whose field holds one of the values.
#[derive(Clone, Debug, PartialEq)]
pub struct When {
    /// The field.
    pub field: Pointer,
    /// The values, compared as JSON values.
    pub values: Vec<Value>,
}

/// The order and bounds of times.
#[derive(Clone, Debug, PartialEq)]
pub struct TimeRules {
    /// Refuse an event without one.
    pub required: bool,
    /// Refuse offsets other than UTC.
    pub utc_only: bool,
    /// How far ahead of our clock.
    pub future: Bound,
    /// How far behind our clock.
    pub past: Bound,
    /// How far behind before it is marked.
    pub late: Bound,
    /// A time before the lane's latest.
    pub regression: OnTime,
    /// The slack of `regression`.
    pub grace: Span,
}

/// What a time before the lane's latest leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTime {
    /// Nothing.
    Ignore,
    /// A mark.
    Mark,
    /// A refusal.
    Reject,
}

/// Values that are good for one event.
#[derive(Clone, Debug, PartialEq)]
pub struct NonceRules {
    /// Refuse an event without one.
    pub required: bool,
    /// How long one is remembered.
    pub keep: Bound,
}

/// How a batch is judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BatchRules {
    /// In which order the events of a lane are judged.
    pub order: BatchOrder,
    /// Does a refusal for order stop the lane?
    pub stop_on_ordering: bool,
}

/// In which order the events of a lane in one batch are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchOrder {
    /// As sent.
    AsSent,
    /// By their time.
    Time,
    /// By epoch and number.
    Sequence,
}

/// One named counter.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterRules {
    /// Its name.
    pub name: String,
    /// The fields that make its key.
    pub key: Vec<Pointer>,
    /// The field that is counted.
    pub amount: Pointer,
    /// Over which periods.
    pub period: Period,
    /// How far behind the watermark an event is still folded.
    pub lateness: Bound,
    /// Which events count.
    pub when: Option<When>,
}

/// A contract as read, and what is odd about it.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The contract.
    pub contract: Contract,
    /// What is allowed but odd.
    pub warnings: Vec<Problem>,
}

impl Contract {
    /// Reads a contract from TOML.
    pub fn from_toml(text: &str) -> Result<Checked, Vec<Problem>> {
        Self::from_node(Node::from_toml(text).map_err(|problem| vec![problem])?)
    }

    /// Reads a contract from JSON.
    pub fn from_json(text: &[u8]) -> Result<Checked, Vec<Problem>> {
        Self::from_node(Node::from_json(text).map_err(|problem| vec![problem])?)
    }

    /// Reads a contract that was put before, as [`to_json`] wrote it: every key as it stands, with no preset under it and
    /// without the checks. A preset or a check that a later release changes must not change what an old ledger says.
    pub fn from_kept(text: &[u8]) -> Result<Self, Vec<Problem>> {
        let (contract, problems) = read::read_kept(&Node::from_json(text).map_err(|problem| vec![problem])?);
        if problems.is_empty() { Ok(contract) } else { Err(problems) }
    }

    /// Reads a contract from a tree, lays it over its preset, and checks it as a whole.
    pub fn from_node(written: Node) -> Result<Checked, Vec<Problem>> {
        let (contract, mut problems) = read::read(written.clone());
        let mut warnings = Vec::new();
        if problems.is_empty() {
            check::check(&contract, &check::Written(&written), &mut problems, &mut warnings);
        }
        for problem in problems.iter_mut().chain(&mut warnings) {
            problem.locate(&written);
        }
        if problems.is_empty() { Ok(Checked { contract, warnings }) } else { Err(problems) }
    }

    /// Does any rule look at lanes, so that an event must have one? An optional nonce does not: it is then one of the
    /// lane `default`.
    pub fn reads_lanes(&self) -> bool {
        self.sequence.source != Source::None
            || self.nonce.required
            || self.time.regression != OnTime::Ignore
            || self.identity.scope == Scope::Lane
    }
}

/// A contract with its place in the stream's history.
#[derive(Clone, Debug)]
pub struct Version {
    /// Counts from 1.
    pub number: u32,
    /// The version at which lanes last began with a new baseline: where `off` ended. 0 if it never was off.
    pub baseline: u32,
    /// The rules.
    pub contract: std::sync::Arc<Contract>,
}

impl Version {
    /// The first version of a stream.
    pub fn first(contract: Contract) -> Self {
        Self { number: 1, baseline: 0, contract: contract.into() }
    }

    /// The version after this one.
    pub fn next(&self, contract: Contract) -> Self {
        let number = self.number + 1;
        let returns = self.contract.mode == Mode::Off && contract.mode != Mode::Off;
        Self { number, baseline: if returns { number } else { self.baseline }, contract: contract.into() }
    }
}

/// Is this a name that a tenant, stream, handler or counter may have?
pub fn is_name(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() <= 128
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

#[cfg(test)]
mod tests;
