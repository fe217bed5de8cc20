//! What people do to a stream by hand: correct a counter, close a period, record a loss.
//!
//! Each is checked against the contract first, and each leaves a trace: corrections and closings are entries of the
//! ledger, a recorded loss is a line of the audit. All can be repeated safely.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::amount::Amount;
use crate::contract::{Contract, CounterRules};
use crate::counter::{Adjustment, CounterKey};
use crate::entry::{Basis, Caller, Entry, EntryKind, SharedEntry};
use crate::event::{IdSource, Identity, NAME_BYTES_MAX, counter_key, digest};
use crate::facts::{Acknowledgement, Facts};
use crate::period::PeriodStart;
use crate::problem::{Problem, ProblemCode};
use crate::receipt::hex;
use crate::time::Time;
use crate::words::{Marks, States};

/// A manual correction of a counter.
#[derive(Clone, Debug)]
pub struct Correction {
    /// Its id, in a namespace of its own.
    pub id: Arc<str>,
    /// Which counter.
    pub key: CounterKey,
    /// How much the effective sum changes.
    pub amount: Amount,
    /// Why.
    pub reason: Arc<str>,
}

/// The closing of a period.
#[derive(Clone, Debug)]
pub struct Closing {
    /// The counter.
    pub name: Arc<str>,
    /// For this key alone, as a JSON array; for every key if there is none.
    pub key: Option<Arc<str>>,
    /// The period.
    pub period: PeriodStart,
}

/// A counter's name, its key or every key, and its period.
pub type CounterPlace = (Arc<str>, Option<Arc<str>>, PeriodStart);

/// Finds a counter, its key and its period as somebody wrote them.
pub fn find_counter(contract: &Contract, name: &str, key: Option<&str>, period: &str) -> Result<CounterPlace, Problem> {
    let rules = counter_rules(contract, name)?;
    let key = key.map(|key| find_key(rules, key)).transpose()?;
    let start = rules.period.parse(period).ok_or_else(|| {
        let example = rules.period.of(Time::from_nanos(0));
        Problem::new(
            ProblemCode::RequestInvalid,
            format!("\"{period}\" is not a period of counter {name}; one is written like \"{example}\""),
        )
    })?;
    Ok((Arc::from(name), key, start))
}

/// The rules of a counter.
pub fn counter_rules<'c>(contract: &'c Contract, name: &str) -> Result<&'c CounterRules, Problem> {
    contract.counters.iter().find(|rules| rules.name == name).ok_or_else(|| {
        let known: Vec<_> = contract.counters.iter().map(|rules| rules.name.as_str()).collect();
        let known =
            if known.is_empty() { "it counts nothing".to_owned() } else { format!("there is {}", known.join(", ")) };
        Problem::new(ProblemCode::CounterNotFound, format!("the stream has no counter \"{name}\"; {known}"))
    })
}

/// A key of a counter, in its one form.
pub fn find_key(rules: &CounterRules, key: &str) -> Result<Arc<str>, Problem> {
    let wrong = || {
        let fields: Vec<_> = rules.key.iter().map(ToString::to_string).collect();
        let detail = format!("{key} is not a key of counter {}: a JSON array of {}", rules.name, fields.join(", "));
        Problem::new(ProblemCode::RequestInvalid, detail)
    };
    let parts = crate::json::parse(key.as_bytes()).map_err(|_| wrong())?.root().len();
    if parts != rules.key.len() {
        return Err(wrong());
    }
    counter_key(key.as_bytes()).ok_or_else(wrong)
}

/// The longest reason of a correction, in bytes.
const REASON_BYTES_MAX: usize = 4096;

impl Correction {
    /// Checks a correction against the contract.
    pub fn read(
        contract: &Contract,
        name: &str,
        id: &str,
        key: &str,
        period: &str,
        amount: &str,
        reason: &str,
    ) -> Result<Self, Problem> {
        let (name, key, period) = find_counter(contract, name, Some(key), period)?;
        if id.is_empty() || id.len() > NAME_BYTES_MAX || id.contains('\0') {
            let detail = "the id of an adjustment is a text of 1 to 256 bytes without U+0000";
            return Err(Problem::new(ProblemCode::RequestInvalid, detail));
        }
        if reason.len() > REASON_BYTES_MAX {
            let detail = format!("a reason is at most {REASON_BYTES_MAX} bytes");
            return Err(Problem::new(ProblemCode::RequestInvalid, detail));
        }
        let amount =
            Amount::parse(amount).map_err(|fault| Problem::new(ProblemCode::AmountInvalid, fault.to_string()))?;
        let key = CounterKey { name, key: key.unwrap_or_default(), period };
        Ok(Self { id: Arc::from(id), key, amount, reason: Arc::from(reason) })
    }

    /// What it is looked up by.
    pub fn identity(&self) -> Identity {
        Identity::of_correction(&self.id)
    }
}

impl Closing {
    /// The one counter that it closes, if it is not for every key.
    pub fn counter_key(&self) -> Option<CounterKey> {
        let key = Arc::clone(self.key.as_ref()?);
        Some(CounterKey { name: Arc::clone(&self.name), key, period: self.period })
    }

    /// What it is looked up by.
    pub fn identity(&self) -> Identity {
        Identity::of_closing(&self.name, self.key.as_deref(), &self.period.to_string())
    }
}

/// A correction or a closing as the ledger keeps it and as it is answered.
#[derive(Serialize)]
struct Manual<'m> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'m str>,
    counter: &'m str,
    key: Option<&'m RawValue>,
    period: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    amount: Option<Amount>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'m str>,
}

/// The answer to a correction or a closing: where it stands in the ledger, and what it says.
#[derive(Clone, Debug)]
pub struct Done(pub SharedEntry);

impl Serialize for Done {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let entry = &self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("kind", &entry.kind)?;
        map.serialize_entry("offset", &entry.offset)?;
        map.serialize_entry("hash", &hex(&entry.hash))?;
        map.serialize_entry("at", &entry.at)?;
        // The document is one that we wrote ourselves, so it can be read.
        let written: Option<std::collections::BTreeMap<String, &RawValue>> =
            serde_json::from_slice(&entry.document).ok();
        for (key, value) in written.unwrap_or_default() {
            map.serialize_entry(&key, value)?;
        }
        map.end()
    }
}

/// Corrects a counter's effective sum. The same id again answers as before.
pub fn correct(facts: &mut Facts, correction: &Correction, now: Time, caller: &Caller) -> Result<Done, Problem> {
    let raw = raw(&correction.key.key);
    let document = document(&Manual {
        id: Some(&correction.id),
        counter: &correction.key.name,
        key: raw.as_deref(),
        period: correction.key.period.to_string(),
        amount: Some(correction.amount),
        reason: Some(&correction.reason),
    });
    if let Some(original) = facts.shared_original(&correction.identity()) {
        if original.digest == digest(&document) {
            return Ok(Done(original));
        }
        let detail =
            format!("an adjustment with the id {} says something else; give this one its own id", correction.id);
        return Err(Problem::new(ProblemCode::PayloadConflict, detail));
    }
    let Some(counter) = facts.counter(&correction.key).corrected_by(correction.amount) else {
        return Err(Problem::new(ProblemCode::AmountInvalid, "the sum would have more than 38 digits"));
    };
    let (id, identity) = (Arc::clone(&correction.id), correction.identity());
    let entry = append(facts, entry(facts, EntryKind::Correction, id, identity, document, now, caller));
    facts.set_counter(correction.key.clone(), counter);
    let adjustment = Adjustment {
        id: Arc::clone(&correction.id),
        amount: correction.amount,
        reason: Arc::clone(&correction.reason),
        offset: entry.offset,
        at: now,
    };
    facts.adjust(correction.key.clone(), adjustment);
    Ok(Done(entry))
}

/// Closes a period: it folds nothing more. Closing it again answers as before.
pub fn close(facts: &mut Facts, closing: &Closing, now: Time, caller: &Caller) -> Done {
    let identity = closing.identity();
    if let Some(original) = facts.shared_original(&identity) {
        return Done(original);
    }
    let raw = closing.key.as_deref().and_then(raw);
    let period = closing.period.to_string();
    let manual = Manual { id: None, counter: &closing.name, key: raw.as_deref(), period, amount: None, reason: None };
    let document = document(&manual);
    let id = Arc::from(format!("{}/{}", closing.name, closing.period));
    let entry = append(facts, entry(facts, EntryKind::Close, id, identity, document, now, caller));
    match closing.counter_key() {
        Some(key) => {
            let counter = crate::counter::Counter { closed: true, ..facts.counter(&key) };
            facts.set_counter(key, counter);
        }
        None => facts.close_period(Arc::clone(&closing.name), closing.period),
    }
    Done(entry)
}

/// Records missing numbers of a lane as known to be lost.
pub fn acknowledge(facts: &mut Facts, loss: Acknowledgement) -> Result<(), Problem> {
    if loss.from > loss.to {
        return Err(Problem::new(ProblemCode::RequestInvalid, "`from` is above `to`"));
    }
    if facts.acknowledge(&loss) {
        return Ok(());
    }
    let detail = format!("none of {} to {} is missing in lane {}", loss.from, loss.to, loss.lane);
    Err(Problem::new(ProblemCode::GapNotFound, detail))
}

fn raw(json: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(json.to_owned()).ok()
}

fn document(manual: &Manual<'_>) -> Arc<[u8]> {
    // Plain strings and numbers always serialise.
    serde_json::to_vec(manual).unwrap_or_default().into()
}

/// Appends an entry that stands for itself.
fn append(facts: &mut Facts, entry: Entry) -> SharedEntry {
    facts.append_manual(entry);
    facts.share().last().expect("it was appended").clone()
}

fn entry(
    facts: &Facts,
    kind: EntryKind,
    id: Arc<str>,
    identity: Identity,
    document: Arc<[u8]>,
    now: Time,
    caller: &Caller,
) -> Entry {
    Entry {
        offset: 0,
        hash: [0; 32],
        kind,
        at: now,
        contract: facts.version.number,
        id,
        id_source: IdSource::Given,
        identity,
        lane: Arc::default(),
        epoch: 0,
        seq: None,
        observed_at: None,
        digest: digest(&document),
        document,
        marks: Marks::NONE,
        states: States::NONE,
        gap: None,
        abandoned: Vec::new(),
        refusal: None,
        classes: Vec::new(),
        basis: Basis::default(),
        ordinal: 0,
        previous_in_lane: 0,
        attempt: 0,
        caller: caller.clone(),
    }
}
