//! Counters: their values with watermarks and adjustments, their history, and what people correct and close.

use std::collections::BTreeMap;
use std::sync::Arc;

use hapax_core::access::Deed;
use hapax_core::amount::Amount;
use hapax_core::contract::Version;
use hapax_core::counter::{CounterKey, counted_in};
use hapax_core::manual::{counter_rules, find_counter, find_key};
use hapax_core::period::Period;
use hapax_core::problem::{Problem, ProblemCode};
use hapax_core::time::Time;
use hapax_core::view::CounterView;
use hapax_store::seam::CounterFilter;
use hapax_store::turn::{Ask, CorrectionAsk};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::events::{answered, ask};
use super::lanes::read_json;
use super::request_key::key_of;
use super::route::{Route, action};
use super::{App, Call, Reply, body, invalid, malformed, unread};
use crate::writer::busy;

pub(super) const ROUTES: &[Route] = &[
    Route {
        method: "GET",
        path: "/v1/streams/{stream}/counters/{counter}",
        deed: Some(Deed::Look),
        about: "Reads a counter: what was folded, its adjustments, and both together.",
        takes: &[
            ("key", "a JSON array: one key"),
            ("period", "one period"),
            ("limit", "how many, 1 to 1000"),
            ("after", "the `next` of the page before"),
        ],
        body: None,
        answers: "counters",
        action: action!(list),
    },
    Route {
        method: "GET",
        path: "/v1/streams/{stream}/counters/{counter}/history",
        deed: Some(Deed::Look),
        about: "Counts the events of a key by the hour or the day of their time, over at most 31 days.",
        takes: &[
            ("key", "a JSON array: one key"),
            ("interval", "hour or day"),
            ("from", "the first time"),
            ("to", "the time before which it ends"),
        ],
        body: None,
        answers: "intervals",
        action: action!(history),
    },
    Route {
        method: "POST",
        path: "/v1/streams/{stream}/counters/{counter}/adjustments",
        deed: Some(Deed::Rule),
        about: "Corrects a counter by hand: an entry of its own kind, idempotent by its id.",
        takes: &[],
        body: Some("{id, key, period, amount, reason}"),
        answers: "the entry",
        action: action!(adjust),
    },
    Route {
        method: "POST",
        path: "/v1/streams/{stream}/counters/{counter}/close",
        deed: Some(Deed::Rule),
        about: "Closes a period, for one key or for all: it folds nothing more.",
        takes: &[],
        body: Some("{key?, period}"),
        answers: "the entry",
        action: action!(close),
    },
];

/// History is read by scan, so it has an end.
const HISTORY_MAX_NS: i128 = 31 * 24 * 3600 * 1_000_000_000;

async fn list(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    call.all_lanes()?;
    let (stream, version) = call.version(&app)?;
    let name = call.param("counter");
    let rules = counter_rules(&version.contract, name)?;
    let key = call.query("key").map(|key| find_key(rules, key)).transpose()?;
    let period = match call.query("period") {
        None => None,
        Some(period) => Some(find_counter(&version.contract, name, None, period)?.2),
    };
    let name: Arc<str> = Arc::from(name);
    let (items, next) = match (key, period) {
        (Some(key), Some(period)) => {
            let key = CounterKey { name, key, period };
            let record = app.reader.counter(&stream, &key).map_err(unread)?;
            (vec![(key, record)], None)
        }
        (key, period) => {
            let filter = CounterFilter { name: Some(Arc::clone(&name)), key, period };
            let after = call.query("after").map(|after| cursor(&version, &name, after)).transpose()?;
            let page = app.reader.counters(&stream, &filter, after.as_ref(), call.limit()?).map_err(unread)?;
            (page.items, page.next.map(|key| format!("{} {}", key.period, key.key)))
        }
    };
    let views = items.iter().map(|(key, record)| CounterView {
        key,
        counter: &record.counter,
        closed: record.closed,
        adjustments: &record.adjustments,
    });
    #[derive(Serialize)]
    struct List<'c> {
        counters: Vec<CounterView<'c>>,
        next: Option<String>,
    }
    Ok(Reply::json(200, &List { counters: views.collect(), next }))
}

/// A `next` is the period and the key, so that it means the same after a restart.
fn cursor(version: &Version, name: &str, after: &str) -> Result<CounterKey, Problem> {
    let wrong = || malformed("after is the `next` of the page before");
    let (period, key) = after.split_once(' ').ok_or_else(wrong)?;
    let (name, _, period) = find_counter(&version.contract, name, None, period).map_err(|_| wrong())?;
    Ok(CounterKey { name, key: Arc::from(key), period })
}

#[derive(Default, Serialize)]
struct Interval {
    count: u64,
    sum: Amount,
    min: Option<Amount>,
    max: Option<Amount>,
}

async fn history(app: Arc<App>, call: Call) -> Result<Reply, Problem> {
    call.all_lanes()?;
    let (stream, versions) = call.versions(&app)?;
    let name = call.param("counter");
    let latest = versions.last().ok_or_else(|| super::call::no_stream(call.param("stream")))?;
    let rules = counter_rules(&latest.contract, name)?;
    let key = call.query("key").ok_or_else(|| malformed("say which key with key=, a JSON array"))?;
    let key = find_key(rules, key)?;
    let interval = match call.query("interval") {
        None | Some("hour") => Period::Hour,
        Some("day") => Period::Day,
        Some(other) => return Err(malformed(format!("interval is hour or day, not {other:?}"))),
    };
    let to = call.time("to")?.unwrap_or(call.now);
    let from = call.time("from")?.ok_or_else(|| malformed("say from when with from=, an RFC 3339 time"))?;
    if to.since(from) > HISTORY_MAX_NS || to.since(from) < 0 {
        return Err(invalid("a history covers at most 31 days, and from is not after to"));
    }
    // It reads the whole ledger, so one at a time.
    let _place = app.asking.try_acquire().map_err(|_| busy("another scan runs; send it again in a while"))?;
    let intervals = tokio::task::block_in_place(|| -> Result<BTreeMap<Time, Interval>, Problem> {
        let mut intervals: BTreeMap<Time, Interval> = BTreeMap::new();
        let mut after = 0;
        loop {
            if app.is_stopping() {
                return Err(Problem::new(ProblemCode::Stopping, "the server is stopping"));
            }
            let entries = app.reader.entries(&stream, after, 1_000).map_err(unread)?;
            let Some(last) = entries.last() else { return Ok(intervals) };
            after = last.offset;
            for entry in &entries {
                let Some(version) = versions.iter().find(|it| it.number == entry.contract) else { continue };
                let Some((found, ts, amount)) = counted_in(entry, version, name) else { continue };
                if found != key || ts < from || ts >= to {
                    continue;
                }
                let one = intervals.entry(interval.of(ts).start()).or_default();
                one.count += 1;
                one.sum = one.sum.checked_add(amount).ok_or_else(|| invalid("a sum does not fit"))?;
                one.min = Some(one.min.map_or(amount, |min| min.min(amount)));
                one.max = Some(one.max.map_or(amount, |max| max.max(amount)));
            }
        }
    })?;
    #[derive(Serialize)]
    struct One {
        start: Time,
        #[serde(flatten)]
        interval: Interval,
    }
    #[derive(Serialize)]
    struct List {
        intervals: Vec<One>,
    }
    let intervals = intervals.into_iter().map(|(start, interval)| One { start, interval }).collect();
    Ok(Reply::json(200, &List { intervals }))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Adjustment<'b> {
    id: String,
    #[serde(borrow)]
    key: &'b RawValue,
    period: String,
    #[serde(borrow)]
    amount: &'b RawValue,
    reason: String,
}

async fn adjust(app: Arc<App>, mut call: Call) -> Result<Reply, Problem> {
    call.all_lanes()?;
    let (stream, _) = call.version(&app)?;
    let key = key_of(&call)?;
    let body = body::read(&app, &mut call).await?;
    let correction = {
        let written: Adjustment<'_> = read_json(&body.bytes)?;
        // A number, or a string that holds one: its digits count, not what a float would make of them.
        let amount = serde_json::from_str::<String>(written.amount.get());
        let amount = amount.unwrap_or_else(|_| written.amount.get().to_owned());
        let Adjustment { id, key, period, reason, .. } = written;
        let (counter, key) = (call.param("counter").to_owned(), key.get().to_owned());
        CorrectionAsk { stream, counter, id, key, period, amount, reason }
    };
    let answer = ask(&app, &call, Some(body), key.clone(), Ask::Correct(correction)).await?;
    Ok(answered(&answer, key.as_deref()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Closing<'b> {
    #[serde(borrow)]
    key: Option<&'b RawValue>,
    period: String,
}

async fn close(app: Arc<App>, mut call: Call) -> Result<Reply, Problem> {
    call.all_lanes()?;
    let (stream, _) = call.version(&app)?;
    let request = key_of(&call)?;
    let body = body::read(&app, &mut call).await?;
    let closing = {
        let Closing { key, period } = read_json(&body.bytes)?;
        let key = key.map(|key| key.get().to_owned()).filter(|key| key != "null");
        Ask::Close { stream, counter: call.param("counter").to_owned(), key, period }
    };
    let answer = ask(&app, &call, Some(body), request.clone(), closing).await?;
    Ok(answered(&answer, request.as_deref()))
}
