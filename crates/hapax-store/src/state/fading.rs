//! What is remembered for a while: found by its key, forgotten in the order in which it came.
//!
//! What holds: forgetting looks only at the oldest, so it costs what it forgets. Something that came again under the same
//! key is as old as its last time. Each has a *place* that only grows, so that somebody who goes through all of them in
//! pieces knows where to go on.
//!
//! Not here: how long. The caller says what has had its time.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use hapax_core::time::Time;

/// Things that fade, with when they came.
#[derive(Debug)]
pub(crate) struct Fading<K, V> {
    all: HashMap<K, (Time, V)>,
    order: VecDeque<(Time, K)>,
    /// The place of the first in `order`: how many were forgotten.
    forgotten: u64,
}

impl<K, V> Default for Fading<K, V> {
    fn default() -> Self {
        Self { all: HashMap::new(), order: VecDeque::new(), forgotten: 0 }
    }
}

impl<K: Clone + Eq + Hash, V> Fading<K, V> {
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        self.all.get(key).map(|(_, value)| value)
    }

    /// When it came.
    pub(crate) fn at(&self, key: &K) -> Option<Time> {
        self.all.get(key).map(|(at, _)| *at)
    }

    /// Remembers. The same thing told again is not remembered twice.
    pub(crate) fn insert(&mut self, key: K, at: Time, value: V) {
        let before = self.all.insert(key.clone(), (at, value));
        if before.is_none_or(|(time, _)| time != at) {
            self.order.push_back((at, key));
        }
    }

    /// Forgets at most so many of the oldest that have had their time. Answers whether there may be more.
    pub(crate) fn forget(&mut self, max: usize, over: impl Fn(Time) -> bool) -> bool {
        for _ in 0..max {
            let Some((at, key)) = self.order.pop_front_if(|(at, _)| over(*at)) else { return false };
            self.forgotten += 1;
            // It may have come again since, and then it is younger.
            if self.all.get(&key).is_some_and(|(time, _)| *time == at) {
                self.all.remove(&key);
            }
        }
        true
    }

    /// At most so many from a place on, and the place after them.
    pub(crate) fn from(&self, place: u64, max: usize) -> (Vec<(&K, Time, &V)>, u64) {
        let start = place.max(self.forgotten);
        let skip = usize::try_from(start - self.forgotten).unwrap_or(usize::MAX).min(self.order.len());
        let some = self.order.range(skip..).take(max);
        let taken = some.len() as u64;
        let found = some.filter_map(|(at, key)| {
            let (time, value) = self.all.get(key)?;
            (time == at).then_some((key, *at, value))
        });
        (found.collect(), start + taken)
    }

    /// The place after the last.
    pub(crate) fn end(&self) -> u64 {
        self.forgotten + self.order.len() as u64
    }
}
