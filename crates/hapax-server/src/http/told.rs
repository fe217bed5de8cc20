//! What the log says of the events of a request.
//!
//! What holds: every event that was refused, or accepted with something to say, is there with its id and its number in the audit.
//! Lines are written once the answer is out, so a process that is killed in between leaves them out; the audit has every event.
//! An event that came alone has a line of its own; those of a batch that are alike share lines, because a line for each costs more
//! than the event. Never a document.

use hapax_core::receipt::Receipt;
use hapax_core::words::{Code, LogClass, States, Verdict};
use tracing::Level;

/// So many events share a line.
const LINE_EVENTS_MAX: usize = 100;

/// Writes what is to be said of these events of a stream; the trace is the request's.
pub(super) fn tell(stream: &str, trace: &str, receipts: &[Receipt]) {
    if let [receipt] = receipts {
        return line(stream, trace, Kind::of(receipt), &[receipt]);
    }
    let accepted = tracing::enabled!(target: "hapax::accepted", Level::INFO);
    let repeated = tracing::enabled!(target: "hapax::repeated", Level::INFO);
    let mut alike: Vec<(Kind, Vec<&Receipt>)> = Vec::new();
    for receipt in receipts {
        let kind = Kind::of(receipt);
        let is_wanted = match (kind.class, kind.verdict) {
            (LogClass::Info, Verdict::Accepted) => accepted,
            (LogClass::Info, _) => repeated,
            (LogClass::Warn | LogClass::Error, _) => true,
        };
        if !is_wanted {
            continue;
        }
        match alike.iter_mut().find(|(it, _)| *it == kind) {
            None => alike.push((kind, vec![receipt])),
            Some((_, events)) => {
                events.push(receipt);
                if events.len() == LINE_EVENTS_MAX {
                    line(stream, trace, kind, events);
                    events.clear();
                }
            }
        }
    }
    for (kind, events) in alike.iter().filter(|(_, events)| !events.is_empty()) {
        line(stream, trace, *kind, events);
    }
}

/// Is there nothing to be said of this event, which came alone?
pub(super) fn is_silent(receipt: &Receipt) -> bool {
    let Kind { class, verdict, .. } = Kind::of(receipt);
    (class, verdict) == (LogClass::Info, Verdict::Accepted)
        && !tracing::enabled!(target: "hapax::accepted", Level::INFO)
}

/// What events have in common that share a line.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Kind {
    class: LogClass,
    verdict: Verdict,
    code: Option<Code>,
    /// Of one that was accepted.
    states: States,
}

impl Kind {
    fn of(receipt: &Receipt) -> Self {
        let (class, states) = match receipt {
            Receipt::Accepted(entry) => {
                let is_plain = entry.states.iter().all(|state| state.class() == LogClass::Info);
                (if is_plain { LogClass::Info } else { LogClass::Warn }, entry.states)
            }
            Receipt::Other { attempt, .. } => (attempt.class(), States::NONE),
        };
        Self { class, verdict: receipt.verdict(), code: receipt.code(), states }
    }
}

/// Writes a line. An event alone has fields of its own; of several there are numbers and ids.
fn line(stream: &str, trace: &str, kind: Kind, events: &[&Receipt]) {
    let verdict = kind.verdict.name();
    let code = kind.code.map(Code::name);
    let states = (kind.class != LogClass::Info && !kind.states.is_empty()).then(|| {
        let names: Vec<_> = kind.states.iter().map(|state| state.name()).collect();
        names.join(" ")
    });
    let (id, lane, offset, attempt, count, events) = match events {
        [receipt] => {
            let (id, lane, offset, attempt) = fields(receipt);
            (Some(id), Some(lane), offset, Some(attempt), None, None)
        }
        _ => (None, None, None, None, Some(events.len()), Some(listed(events))),
    };
    macro_rules! say {
        ($level:ident, $target:literal) => {
            tracing::$level!(
                target: $target, stream, trace, id, lane, code, states, offset, attempt, count, events, "{verdict}"
            )
        };
    }
    match (kind.class, kind.verdict) {
        (LogClass::Info, Verdict::Accepted) => say!(info, "hapax::accepted"),
        (LogClass::Info, _) => say!(info, "hapax::repeated"),
        (LogClass::Warn, _) => say!(warn, "hapax::verdict"),
        (LogClass::Error, _) => say!(error, "hapax::verdict"),
    }
}

/// Its id, its lane, its offset if it has one, and its number in the audit.
fn fields(receipt: &Receipt) -> (&str, &str, Option<u64>, u64) {
    match receipt {
        Receipt::Accepted(entry) => (&entry.id, &entry.lane, Some(entry.offset), entry.attempt),
        Receipt::Other { attempt, .. } => {
            let (id, lane) = (attempt.id.as_deref().unwrap_or_default(), attempt.lane.as_deref().unwrap_or_default());
            (id, lane, None, attempt.number)
        }
    }
}

/// Their numbers and ids: `17=id 18=id`.
fn listed(events: &[&Receipt]) -> String {
    let mut list = String::with_capacity(events.len() * 48);
    for receipt in events {
        let (id, _, _, attempt) = fields(receipt);
        if !list.is_empty() {
            list.push(' ');
        }
        list.push_str(&attempt.to_string());
        list.push('=');
        list.push_str(id);
    }
    list
}
