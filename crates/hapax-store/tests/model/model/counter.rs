//! The counter `usage`, added up from the entries whenever someone asks.

use serde_json::Value;

use super::Entry;
use super::number::{same_value, shortest};
use super::rules::Usage;
use super::time::period_of;

/// What an entry means to the counter; the class is decided once, in its commit.
#[derive(Debug, Clone)]
pub(crate) struct Share {
    pub(crate) key: Vec<Value>,
    pub(crate) period: String,
    pub(crate) units: i128,
    pub(crate) ts: i64,
    pub(crate) folded: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) count: u64,
    pub(crate) sum: String,
    pub(crate) min: Option<String>,
    pub(crate) max: Option<String>,
    pub(crate) last: Option<String>,
    /// False if two events with different amounts claim to be last: same time, and an id that the server assigned or
    /// that is the same in two lanes. Then `last` is one of them and must not be compared.
    pub(crate) last_certain: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CounterView {
    pub(crate) folded: Totals,
    pub(crate) effective: Totals,
    pub(crate) watermark: Option<i64>,
    /// Amount and offset, oldest first.
    pub(crate) adjustments: Vec<(String, u64)>,
}

/// Classifies an event against the entries before it. `None`: the sum would overflow.
pub(crate) fn share(usage: &Usage, entries: &[Entry], document: &Value, units: i128, ts: i64) -> Option<Share> {
    // A member that is absent enters the key as null.
    let key: Vec<Value> = usage.key.iter().map(|name| document.get(name).cloned().unwrap_or(Value::Null)).collect();
    let period = period_of(ts, usage.period);
    let before = folded(entries, &key, &period);
    let folded = match watermark(&before) {
        Some(watermark) => i128::from(ts) >= i128::from(watermark) - i128::from(usage.lateness),
        None => true,
    };
    let sum: i128 = before.iter().map(|(share, _)| share.units).sum();
    // 38 digits, nine of them after the point.
    if folded && (sum + units).unsigned_abs() >= 10_u128.pow(38) {
        return None;
    }
    Some(Share { key, period, units, ts, folded })
}

pub(crate) fn view(entries: &[Entry], key: &[Value], period: &str) -> CounterView {
    let all = of(entries, key, period);
    let folded = folded(entries, key, period);
    let late = all.iter().filter(|(share, _)| !share.folded);
    CounterView {
        folded: totals(&folded),
        effective: totals(&all),
        watermark: watermark(&folded),
        adjustments: late.map(|(share, entry)| (shortest(share.units), entry.offset)).collect(),
    }
}

type Shares<'a> = Vec<(&'a Share, &'a Entry)>;

fn of<'a>(entries: &'a [Entry], key: &[Value], period: &str) -> Shares<'a> {
    let shares = entries.iter().filter_map(|entry| Some((entry.share.as_ref()?, entry)));
    let same_key = |a: &[Value]| a.len() == key.len() && a.iter().zip(key).all(|(a, b)| same_value(a, b));
    shares.filter(|(share, _)| same_key(&share.key) && share.period == period).collect()
}

fn folded<'a>(entries: &'a [Entry], key: &[Value], period: &str) -> Shares<'a> {
    of(entries, key, period).into_iter().filter(|(share, _)| share.folded).collect()
}

fn watermark(folded: &Shares) -> Option<i64> {
    folded.iter().map(|(share, entry)| share.ts.min(entry.ingested_at)).max()
}

fn totals(shares: &Shares) -> Totals {
    let units = || shares.iter().map(|(share, _)| share.units);
    let latest = shares.iter().map(|(share, _)| share.ts).max();
    let at_last: Shares = shares.iter().filter(|(share, _)| Some(share.ts) == latest).copied().collect();
    let greatest_id = at_last.iter().map(|(_, entry)| entry.id.clone()).max();
    let candidates: Shares =
        at_last.iter().filter(|(_, entry)| Some(&entry.id) == greatest_id.as_ref()).copied().collect();
    let contenders = if at_last.iter().any(|(_, entry)| entry.id.is_none()) { &at_last } else { &candidates };
    Totals {
        count: shares.len() as u64,
        sum: shortest(units().sum()),
        min: units().min().map(shortest),
        max: units().max().map(shortest),
        last: candidates.first().map(|(share, _)| shortest(share.units)),
        last_certain: contenders.windows(2).all(|pair| pair[0].0.units == pair[1].0.units),
    }
}
