//! What a contract does, in plain words: one sentence for each rule that is on.

use super::{BatchOrder, Contract, Different, First, Mode, OnGap, OnNumber, OnTime, Same, Scope, Source, When};
use crate::duration::Bound;
use crate::payload::PayloadRules;
use crate::period::Period;
use crate::pointer::Pointer;
use crate::value::Value;

/// The sentences, in the order of the checks.
pub fn in_words(contract: &Contract) -> Vec<String> {
    let mut lines = Vec::new();
    match contract.mode {
        Mode::Enforce => {}
        Mode::Shadow => lines.push("Nothing is refused for time, nonce or order: what would be is marked.".to_owned()),
        Mode::Off => lines.push("The rules of time, nonce and order are off.".to_owned()),
    }
    lines.push(lanes(contract));
    lines.push(identity(contract));
    lines.push(duplicates(contract));
    lines.extend(time(contract));
    lines.extend(nonce(contract));
    lines.extend(sequence(contract));
    lines.extend(batch(contract));
    if let Bound::Within(silence) = contract.silence {
        lines.push(format!("A lane without an event for {silence} is shown as stale."));
    }
    if contract.override_allowed {
        lines.push("An admin may force an event past the checks of time and order.".to_owned());
    }
    lines.extend(counters(contract));
    lines.push(match contract.audit_keep {
        Bound::None => "Attempts that were not accepted are kept for ever.".to_owned(),
        Bound::Within(keep) => format!("Attempts that were not accepted are kept for {keep}."),
    });
    lines
}

fn list(pointers: &[Pointer]) -> String {
    pointers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn lanes(contract: &Contract) -> String {
    match contract.envelope.lane.as_slice() {
        [] => "The stream is one lane.".to_owned(),
        [one] => format!("The lane of an event is {one}."),
        parts => format!("The lane of an event is made of {}.", list(parts)),
    }
}

fn identity(contract: &Contract) -> String {
    let rules = &contract.identity;
    let scope = match rules.scope {
        Scope::Stream => "the stream",
        Scope::Lane => "its lane",
    };
    let keep = match rules.keep {
        Bound::None => "for ever".to_owned(),
        Bound::Within(keep) => format!("for {keep}; older events are refused"),
    };
    let given = contract.envelope.id.as_ref().map(|id| format!("its id {id}"));
    let derived = (!rules.derive.is_empty()).then(|| format!("an id derived from {}", list(&rules.derive)));
    let source = match (given, derived) {
        (Some(given), Some(derived)) => format!("{given}, or else {derived},"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) if rules.required => return "No field holds an id, so every event is refused.".to_owned(),
        (None, None) => return "No field holds an id: each event gets one, and retries are not recognised.".to_owned(),
    };
    let without = match (rules.required, rules.derive.is_empty()) {
        (true, true) => " An event without one is refused.",
        (false, true) => " An event without one gets one of its own, and its retries are not recognised.",
        (_, false) => "",
    };
    format!("An event is known by {source} within {scope}, {keep}.{without}")
}

fn duplicates(contract: &Contract) -> String {
    let same = match contract.identity.same {
        Same::Replay => "is answered with the original receipt",
        Same::Reject => "is answered 409, with the original receipt",
    };
    let different = match contract.identity.different {
        Different::Reject => "is a conflict",
        Different::Warn => "is a duplicate with a warning, and its document is kept in the audit alone",
    };
    let what = payload(&contract.identity.payload);
    format!("The same event again {same}; another payload under a known id {different}. {what}")
}

fn payload(rules: &PayloadRules) -> String {
    let mut parts = Vec::new();
    parts.push(if rules.include.is_empty() {
        "Payloads are compared whole".to_owned()
    } else {
        format!("Payloads are compared by {}", list(&rules.include))
    });
    if !rules.exclude.is_empty() {
        parts.push(format!("without {}", list(&rules.exclude)));
    }
    parts.extend(rules.units.iter().map(|it| format!("{} in {} by the unit at {}", it.field, it.to, it.unit)));
    parts.extend(rules.decimals.iter().map(|it| format!("{} rounded to {} places", it.field, it.places)));
    if !rules.utc.is_empty() {
        parts.push(format!("{} as instants", list(&rules.utc)));
    }
    if !rules.lowercase.is_empty() {
        parts.push(format!("{} without case", list(&rules.lowercase)));
    }
    parts.join(", ") + "."
}

fn time(contract: &Contract) -> Vec<String> {
    let rules = &contract.time;
    let Some(field) = &contract.envelope.time else { return vec!["Events have no time of their own.".to_owned()] };
    let mut lines = Vec::new();
    let must = if rules.required { "must have" } else { "may have" };
    let zone = if rules.utc_only { "in UTC" } else { "with any offset" };
    lines.push(format!("An event {must} a time at {field}, {zone}."));
    if let Bound::Within(future) = rules.future {
        lines.push(format!("More than {future} ahead of our clock is refused; anything ahead is marked CLOCK_SKEW."));
    }
    if let Bound::Within(past) = rules.past {
        lines.push(format!("More than {past} behind our clock is refused."));
    }
    if let Bound::Within(late) = rules.late {
        lines.push(format!("More than {late} behind our clock is marked LATE_ARRIVAL."));
    }
    let grace = rules.grace;
    match rules.regression {
        OnTime::Ignore => {}
        OnTime::Mark => lines.push(format!("A time more than {grace} before the lane's latest is marked.")),
        OnTime::Reject => lines.push(format!("A time more than {grace} before the lane's latest is refused.")),
    }
    lines
}

fn nonce(contract: &Contract) -> Option<String> {
    let field = contract.envelope.nonce.as_ref()?;
    let keep = match contract.nonce.keep {
        Bound::None => "ever".to_owned(),
        Bound::Within(keep) => keep.to_string(),
    };
    let has = if contract.nonce.required { "must have" } else { "may have" };
    Some(format!("An event {has} a nonce at {field}; one is good for a single event of its lane for {keep}."))
}

fn sequence(contract: &Contract) -> Vec<String> {
    let rules = &contract.sequence;
    let mut lines = Vec::new();
    match rules.source {
        Source::None => {}
        Source::Server => {
            lines
                .push("The ledger numbers the events of each lane; a sender may say which number it builds on.".into());
            if let Some(when) = &rules.expected_required_for {
                lines.push(format!("It must, for events whose {}.", in_which(when)));
            }
        }
        Source::Producer => {
            let first = match rules.first {
                First::Any => "any number".to_owned(),
                First::Number(number) => number.to_string(),
            };
            lines.push(format!("The producer numbers the events of each lane, beginning with {first}."));
            lines.push(format!("A gap is {}.", if rules.gap == OnGap::Mark { "marked" } else { "refused" }));
            lines.push(format!("A late number is {}.", made_of(rules.regression)));
            lines.push(format!("A number that was used is {}.", made_of(rules.repeat)));
        }
    }
    lines
}

/// `/kind is "update" or "delete"`.
fn in_which(when: &When) -> String {
    let values: Vec<String> = when.values.iter().map(written).collect();
    match values.split_last() {
        Some((last, [])) => format!("{} is {last}", when.field),
        Some((last, before)) => format!("{} is {} or {last}", when.field, before.join(", ")),
        None => format!("{} is one of none", when.field),
    }
}

fn written(value: &Value) -> String {
    let mut out = Vec::new();
    value.write_canonical(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

const fn made_of(on: OnNumber) -> &'static str {
    match on {
        OnNumber::Mark => "accepted and marked",
        OnNumber::Reject => "refused",
        OnNumber::Stale => "ignored",
    }
}

fn batch(contract: &Contract) -> Option<String> {
    let order = match contract.batch.order {
        BatchOrder::AsSent => None,
        BatchOrder::Time => Some("A batch is judged in the order of time, lane by lane"),
        BatchOrder::Sequence => Some("A batch is judged in the order of numbers, lane by lane"),
    };
    match (order, contract.batch.stop_on_ordering) {
        (None, false) => None,
        (Some(order), false) => Some(format!("{order}.")),
        (None, true) => Some("A refusal for order stops its lane for the rest of the batch.".to_owned()),
        (Some(order), true) => Some(format!("{order}; a refusal for order stops its lane.")),
    }
}

fn counters(contract: &Contract) -> Vec<String> {
    let one = |rules: &super::CounterRules| {
        let period = match rules.period {
            Period::Hour => " per hour",
            Period::Day => " per day",
            Period::Week => " per week",
            Period::Month => " per month",
            Period::None => "",
        };
        let key = if rules.key.is_empty() { String::new() } else { format!(" by {}", list(&rules.key)) };
        let only = rules.when.as_ref().map(|when| format!(" of events whose {}", in_which(when))).unwrap_or_default();
        let late = match rules.lateness {
            Bound::None => "nothing is too late".to_owned(),
            Bound::Within(late) => format!("what is more than {late} behind the watermark becomes an adjustment"),
        };
        format!("Counter {} adds up {}{only}{key}{period}; {late}.", rules.name, rules.amount)
    };
    contract.counters.iter().map(one).collect()
}
