//! Counters: the fold of the ledger by the class on each entry, and the class itself, in arithmetic of our own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use serde_json::value::RawValue;

use super::plainly::{billionths, instant, period};
use super::{Auditor, Found};
use crate::check::Check;
use crate::ledger::StreamLedger;

/// Sums of billionths.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Tally {
    count: u64,
    sum: i128,
    min: Option<i128>,
    max: Option<i128>,
    last: Option<(i64, String, i128)>,
}

impl Tally {
    fn add(&mut self, ts: i64, id: &str, amount: i128) {
        self.count += 1;
        self.sum += amount;
        self.min = Some(self.min.map_or(amount, |min| min.min(amount)));
        self.max = self.max.max(Some(amount));
        self.last = self.last.take().max(Some((ts, id.to_owned(), amount)));
    }

    /// Does a client see these numbers?
    fn is_shown_in(&self, shown: &Value) -> bool {
        let amount = |name: &str| shown[name].as_str().and_then(billionths);
        shown["count"] == self.count
            && amount("sum") == Some(self.sum)
            && amount("min") == self.min
            && amount("max") == self.max
            && amount("last") == self.last.as_ref().map(|(_, _, amount)| *amount)
    }
}

#[derive(Debug, Default)]
struct Counter {
    folded: Tally,
    effective: Tally,
    adjustments: Vec<u64>,
    watermark: Option<i64>,
    closed: bool,
}

/// Key and period.
type Place = (String, String);

impl Auditor {
    pub(super) fn check_counters(&self, stream: usize, held: &StreamLedger, found: &mut Found) {
        let plan = &self.plan.streams[stream];
        let mut counters: BTreeMap<Place, Counter> = BTreeMap::new();
        let mut closed: BTreeSet<String> = BTreeSet::new();
        for entry in &held.entries {
            let Ok(document) = serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(&entry.document) else {
                continue;
            };
            let text = |name: &str| document.get(name).map(|raw| raw.get().trim_matches('"').to_owned());
            if entry.kind > 0 {
                let period = text("period").unwrap_or_default();
                let key = document.get("key").map(|raw| raw.get().to_owned()).filter(|key| key != "null");
                match (entry.kind, key) {
                    (1, Some(key)) => {
                        let counter = counters.entry((key, period)).or_default();
                        counter.effective.sum += text("amount").as_deref().and_then(billionths).unwrap_or(0);
                        counter.adjustments.push(entry.offset);
                    }
                    (_, Some(key)) => counters.entry((key, period)).or_default().closed = true,
                    (_, None) => _ = closed.insert(period),
                }
                continue;
            }
            let (Some(when), Some(amount)) = (text("ts"), text("quantity").as_deref().and_then(billionths)) else {
                continue;
            };
            let Some(ts) = instant(&when) else { continue };
            let member = |name: &str| document.get(name).map_or("null", |raw| raw.get());
            let key = format!("[{},{},{}]", member("tenantId"), member("metric"), member("customerRef"));
            let period = period(plan.period, &when);
            let is_closed = closed.contains(&period);
            let counter = counters.entry((key, period)).or_default();
            let is_late = counter.watermark.zip(plan.lateness).is_some_and(|(mark, lateness)| ts < mark - lateness);
            let class = u8::from(is_late) + 2 * u8::from(is_closed || counter.closed);
            let expected = class.min(2);
            if entry.classes != [("usage".to_owned(), expected)] {
                let what = format!("offset {} of stream {stream} is {:?}, not {expected}", entry.offset, entry.classes);
                found.push((Check::Counters, what));
            }
            counter.effective.add(ts, &entry.id, amount);
            if entry.classes.first().is_some_and(|(_, class)| *class == 0) {
                counter.folded.add(ts, &entry.id, amount);
                counter.watermark = counter.watermark.max(Some(ts.min(entry.at)));
            } else {
                counter.adjustments.push(entry.offset);
            }
        }
        compare(stream, &counters, &closed, &held.counters, found);
    }
}

fn compare(
    stream: usize,
    counters: &BTreeMap<Place, Counter>,
    closed: &BTreeSet<String>,
    shown: &[Value],
    found: &mut Found,
) {
    let place = |shown: &Value| (shown["key"].to_string(), shown["period"].as_str().unwrap_or_default().to_owned());
    let by_place: BTreeMap<Place, &Value> = shown.iter().map(|shown| (place(shown), shown)).collect();
    for (place, shown) in &by_place {
        if !counters.contains_key(place) {
            found
                .push((Check::Counters, format!("stream {stream} has a counter that nothing was counted in: {shown}")));
        }
    }
    for (place, counter) in counters {
        let Some(shown) = by_place.get(place) else {
            found.push((Check::Counters, format!("stream {stream} has no counter {place:?}")));
            continue;
        };
        let adjustments: Vec<u64> =
            shown["adjustments"].as_array().into_iter().flatten().filter_map(|it| it["offset"].as_u64()).collect();
        let same = counter.folded.is_shown_in(shown)
            && counter.effective.is_shown_in(&shown["effective"])
            && adjustments == counter.adjustments
            && shown["watermark"].as_str().and_then(instant) == counter.watermark
            && shown["closed"] == (counter.closed || closed.contains(&place.1));
        if !same {
            found.push((Check::Counters, format!("stream {stream}: {place:?} is {shown}, and should be {counter:?}")));
        }
    }
}
