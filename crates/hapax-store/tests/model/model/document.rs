//! Check 1: what a document says, in the words of the default envelope.

use serde_json::Value;

use super::readings::{OFF_READS_NONCES, OPTIONAL_NONCE_NEEDS_LANE, OTHER_OFFSET_IS_READABLE};
use super::rules::{First, Mode, Rules, Scope, Source, TimeRegression};
use super::time::{self, Reading};

#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub(crate) id: Option<String>,
    pub(crate) lane: String,
    /// Read only with `source = "producer"`, and then there.
    pub(crate) seq: Option<u64>,
    pub(crate) epoch: u64,
    /// Read only with `source = "server"`.
    pub(crate) expected: Option<u64>,
    pub(crate) nonce: Option<String>,
    /// Required and absent, in shadow; in enforce such a document is refused.
    pub(crate) nonce_missing: bool,
    pub(crate) time: Observed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Observed {
    Absent,
    At(i64),
    NotUtc(Option<i64>),
    Unparsable,
}

impl Observed {
    /// The instant, if the rules could make use of it.
    pub(crate) fn readable(self) -> Option<i64> {
        match self {
            Observed::At(ns) => Some(ns),
            Observed::NotUtc(instant) if OTHER_OFFSET_IS_READABLE => instant,
            Observed::NotUtc(_) | Observed::Absent | Observed::Unparsable => None,
        }
    }
}

/// `None` is a `SCHEMA_VIOLATION`; which field is to blame is not modelled.
pub(crate) fn read(rules: &Rules, value: &Value) -> Option<Document> {
    value.as_object()?;
    // In the envelope null means absent.
    let field = |name: &str| value.get(name).filter(|value| !value.is_null());

    let id = match field("id") {
        Some(id) => Some(name(id)?),
        None if rules.identity.required => return None,
        None => None,
    };
    let nonce = match field("nonce") {
        Some(_) if rules.mode == Mode::Off && !OFF_READS_NONCES => None,
        Some(nonce) => Some(name(nonce)?),
        None => None,
    };
    let nonce_missing = rules.nonce.required && nonce.is_none();
    if nonce_missing && rules.mode == Mode::Enforce {
        return None;
    }
    let lane = match field("lane") {
        None if nonce.is_some() && OPTIONAL_NONCE_NEEDS_LANE => return None,
        Some(_) | None => lane(rules, value)?,
    };

    let (mut seq, mut epoch, mut expected) = (None, 0, None);
    if rules.sequence.source == Source::Producer {
        let number = field("seq")?.as_u64()?;
        if rules.sequence.first == First::One && number == 0 {
            return None;
        }
        seq = Some(number);
        if let Some(value) = field("epoch") {
            epoch = value.as_u64()?;
        }
    }
    if rules.sequence.source == Source::Server
        && let Some(value) = field("expected_seq")
    {
        expected = Some(value.as_u64()?);
    }
    let time = match field("time") {
        None => Observed::Absent,
        Some(value) => match value.as_str().map(|text| time::read(text, rules.time.utc_only)) {
            Some(Reading::At(ns)) => Observed::At(ns),
            Some(Reading::NotUtc(instant)) => Observed::NotUtc(instant),
            Some(Reading::Unparsable) | None => Observed::Unparsable,
        },
    };
    Some(Document {
        id,
        lane,
        seq,
        epoch,
        expected,
        nonce,
        nonce_missing: nonce_missing && rules.mode == Mode::Shadow,
        time,
    })
}

/// The lane, as far as it can be read, whatever else is wrong with the document.
pub(crate) fn lane(rules: &Rules, value: &Value) -> Option<String> {
    match value.as_object()?.get("lane").filter(|lane| !lane.is_null()) {
        Some(lane) => lane_text(lane),
        None if lane_needed(rules) => None,
        None => Some("default".to_string()),
    }
}

/// Whether a document without a lane is refused. A matter of the contract, not of its mode.
fn lane_needed(rules: &Rules) -> bool {
    rules.sequence.source != Source::None
        || rules.nonce.required
        || rules.time.regression != TimeRegression::Ignore
        || rules.identity.scope == Scope::Lane
}

/// A string of 1 to 256 bytes without U+0000.
fn name(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let fits = (1..=256).contains(&text.len()) && !text.contains('\0');
    fits.then(|| text.to_string())
}

/// A lane's text: the string itself, or its JSON array if it is an integer or begins with a bracket.
pub(crate) fn lane_text(value: &Value) -> Option<String> {
    if value.is_i64() || value.is_u64() {
        return Some(Value::Array(vec![value.clone()]).to_string());
    }
    let text = name(value)?;
    Some(if text.starts_with('[') { Value::Array(vec![value.clone()]).to_string() } else { text })
}
