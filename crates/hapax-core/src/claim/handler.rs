//! What a handler declares about itself, what that guarantees, and what is wrong with a declaration.
//!
//! What holds: a handler that [`Handler::problems`] finds nothing wrong with can be claimed for; every key has a
//! default. Not here: what the handler has done so far (`state`).

use serde::{Deserialize, Serialize};

use crate::duration::Span;

/// A named consumer of events.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(from = "Declaration")]
pub struct Handler {
    /// Unique within the tenant.
    pub name: String,
    /// The stream it reads; without one it is a bare registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// Which of a lane's events may be claimed when.
    pub order: Order,
    /// What its target does about a repetition.
    pub effect: Effect,
    /// How long a claim is held without a heartbeat.
    pub lease: Span,
    /// How often a holder should say that it lives. The registry does not wait for it; clients read it here.
    pub heartbeat: Span,
    /// After so many attempts a claim is dead.
    pub attempts_max: u32,
    /// The delay after the first failure.
    pub backoff: Span,
}

/// Which of a lane's events may be claimed when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// Any, at any time.
    #[default]
    None,
    /// None at or below the highest number done: for targets that keep only the latest state.
    LatestOnly,
    /// Only the next one: nothing is lost or overtaken, and one that cannot be done holds its lane.
    InOrder,
}

/// What the target of the effect does about a repetition.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Effect and mark are one transaction.
    Transactional,
    /// The target recognises the event.
    IdempotentTarget,
    /// The target refuses older fences.
    Fenced,
    /// Nothing. The default, because it promises nothing that the target may not keep.
    #[default]
    AtLeastOnce,
}

/// Something wrong with a declaration.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Problem {
    /// The key it is about.
    pub key: &'static str,
    /// A sentence for people.
    pub why: &'static str,
}

/// A declaration as it is written: every key may be missing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Declaration {
    #[serde(default)]
    name: String,
    stream: Option<String>,
    #[serde(default)]
    order: Order,
    #[serde(default)]
    effect: Effect,
    lease: Option<Span>,
    heartbeat: Option<Span>,
    attempts_max: Option<u32>,
    backoff: Option<Span>,
}

impl From<Declaration> for Handler {
    fn from(written: Declaration) -> Handler {
        let lease = written.lease.unwrap_or(Handler::LEASE);
        // A lease written shorter than the usual heartbeat would otherwise be refused for a key that was not written.
        let heartbeat = Handler::HEARTBEAT.min(Span::from_millis(lease.millis() / 3));
        Handler {
            name: written.name,
            stream: written.stream,
            order: written.order,
            effect: written.effect,
            lease,
            heartbeat: written.heartbeat.unwrap_or(heartbeat),
            attempts_max: written.attempts_max.unwrap_or(Handler::ATTEMPTS_MAX),
            backoff: written.backoff.unwrap_or(Handler::BACKOFF),
        }
    }
}

impl Handler {
    /// S2's default: long enough for a slow effect, short enough that a dead worker is noticed the same hour.
    pub const LEASE: Span = Span::from_secs(900);
    /// S2's default.
    pub const HEARTBEAT: Span = Span::from_secs(30);
    /// S2's default.
    pub const ATTEMPTS_MAX: u32 = 5;
    /// The first delay; it doubles.
    pub const BACKOFF: Span = Span::from_secs(1);

    /// A handler with every default.
    pub fn new(name: &str) -> Handler {
        Handler {
            name: name.to_owned(),
            stream: None,
            order: Order::None,
            effect: Effect::AtLeastOnce,
            lease: Handler::LEASE,
            heartbeat: Handler::HEARTBEAT,
            attempts_max: Handler::ATTEMPTS_MAX,
            backoff: Handler::BACKOFF,
        }
    }

    /// Everything that is wrong with the declaration; nothing if it may be put.
    pub fn problems(&self) -> Vec<Problem> {
        let name_rule = "a name is 1 to 128 of A-Z a-z 0-9 . _ - and begins with a letter or digit";
        let checks = [
            (!is_name(&self.name), "name", name_rule),
            (self.stream.as_deref().is_some_and(|stream| !is_name(stream)), "stream", name_rule),
            (self.attempts_max == 0, "attempts_max", "without at least one attempt nothing can be claimed"),
            (self.lease == Span::ZERO, "lease", "a lease of no length ends before the work begins"),
            (self.heartbeat == Span::ZERO, "heartbeat", "a heartbeat of no interval never pauses"),
            (
                self.heartbeat >= self.lease && self.lease > Span::ZERO,
                "heartbeat",
                "a heartbeat that is not shorter than the lease comes after the lease has run out",
            ),
        ];
        checks.into_iter().filter(|(wrong, ..)| *wrong).map(|(_, key, why)| Problem { key, why }).collect()
    }

    /// What the declared effect guarantees, in words.
    pub fn guarantee(&self) -> &'static str {
        match self.effect {
            Effect::Transactional => {
                "Exactly-once effects: the effect and its mark are committed in one transaction, or neither is."
            }
            Effect::IdempotentTarget => {
                "Exactly-once effects as far as the target recognises a repetition by the event's id: after a crash the \
                 work may be done again, and the target must make the second time change nothing."
            }
            Effect::Fenced => {
                "Not exactly once: a holder that was replaced can no longer write, because the target refuses a fence \
                 below the greatest it has seen; but a crash between effect and mark lets the next holder repeat the effect."
            }
            Effect::AtLeastOnce => {
                "Not exactly once: two holders never have an unexpired lease at the same time, but a crash or a lease \
                 that ran out can repeat the effect, and nothing at the target prevents it."
            }
        }
    }
}

impl Effect {
    /// Whether it gives exactly-once effects; of an idempotent target, on the target's word.
    pub fn is_exactly_once(self) -> bool {
        match self {
            Effect::Transactional | Effect::IdempotentTarget => true,
            Effect::Fenced | Effect::AtLeastOnce => false,
        }
    }
}

/// `[A-Za-z0-9][A-Za-z0-9._-]{0,127}`
fn is_name(text: &str) -> bool {
    let rest = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    text.len() <= 128 && text.bytes().all(rest) && text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
}
