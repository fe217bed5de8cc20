//! Every list in pages of several sizes, with and without filters.

use std::sync::Arc;

use hapax_core::time::Time;
use hapax_store::seam::{AttemptFilter, CounterFilter, HandlerKey, Page, Read, StoreError, StreamKey};

use super::play::world::BEGINNING_NS;

/// All pages of a list, one a line.
fn each<T: std::fmt::Debug, N: std::fmt::Debug>(
    all: &mut Vec<String>,
    mut page: impl FnMut(Option<&N>) -> Result<Page<T, N>, StoreError>,
) {
    let mut after = None;
    loop {
        let found = page(after.as_ref()).expect("a page");
        all.push(format!("{found:?}"));
        match found.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
}

fn attempt_filters() -> Vec<AttemptFilter> {
    let none = AttemptFilter::default;
    vec![
        none(),
        AttemptFilter { lane: Some("a".to_owned()), ..none() },
        AttemptFilter { verdict: Some("duplicate".to_owned()), ..none() },
        AttemptFilter { verdict: Some("accepted".to_owned()), ..none() },
        AttemptFilter { from: Some(Time::from_nanos(BEGINNING_NS + 5_000_000_000)), ..none() },
    ]
}

fn counter_filters() -> Vec<CounterFilter> {
    let names = [None, Some("usage"), Some("nothing"), Some("zzz")];
    let keys = [None, Some("[\"x\"]"), Some("[\"y\"]")];
    let filter = |name: Option<&str>, key: Option<&str>| CounterFilter {
        name: name.map(Arc::from),
        key: key.map(Arc::from),
        period: None,
    };
    names.iter().flat_map(|name| keys.iter().map(move |key| filter(*name, *key))).collect()
}

/// All pages of everything that is listed.
pub(crate) fn all(reader: &impl Read, key: &StreamKey) -> String {
    let mut all = Vec::new();
    let empty: Arc<str> = Arc::from("");
    let handler = HandlerKey { tenant: Arc::clone(&key.tenant), handler: Arc::from("h") };
    for limit in [0, 1, 2, 7] {
        for open in [true, false] {
            each(&mut all, |after: Option<&Arc<str>>| reader.lanes(key, open, after.unwrap_or(&empty), limit));
        }
        for filter in counter_filters() {
            each(&mut all, |after| reader.counters(key, &filter, after, limit));
        }
        for filter in attempt_filters() {
            each(&mut all, |after| reader.attempts(key, &filter, after.copied().unwrap_or_default(), limit));
        }
        each(&mut all, |after: Option<&Arc<str>>| reader.streams(&key.tenant, after.unwrap_or(&empty), limit));
        each(&mut all, |after: Option<&Arc<str>>| reader.handlers(&key.tenant, after.unwrap_or(&empty), limit));
        each(&mut all, |after| reader.dead(&handler, after, limit));
    }
    // From every place, also from such as are not there.
    let head = reader.head(key).expect("a head");
    for after in 0..head.attempts + 2 {
        all.push(format!("{:?}", reader.attempts(key, &AttemptFilter::default(), after, 2)));
    }
    for after in 0..head.offset + 2 {
        all.push(format!("{:?}", reader.entries(key, after, 2)));
    }
    let nobody = AttemptFilter { id: Some("a\0".to_owned()), ..AttemptFilter::default() };
    let nobody = reader.attempts(key, &nobody, 0, 3).map(|page| page.items);
    let elsewhere = StreamKey { tenant: Arc::from("x"), stream: Arc::from("y") };
    all.push(format!("{:?} {nobody:?} {:?}", reader.entries_with_id(key, "a\0"), reader.head(&elsewhere)));
    all.push(format!("{:?} {:?}", reader.stream(&elsewhere).map(|found| found.is_some()), reader.lane(key, "a")));
    all.join("\n")
}
