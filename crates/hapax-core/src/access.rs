//! What a caller may do: a role, patterns that confine it to streams and lanes, and how much of it in a second.
//!
//! Not here: keys, hashes, requests. A door asks, this answers.

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::words::vocabulary;

vocabulary! {
    /// What a caller may do.
    Role {
        /// Send events.
        Ingest = "ingest",
        /// Look at everything.
        Read = "read",
        /// Look, and act on events: handlers, claims, dead letters.
        Consume = "consume",
        /// Everything: contracts, corrections, overrides, keys.
        Admin = "admin",
    }
}

/// Everything that a request can need the right for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Sending events.
    Send,
    /// Looking.
    Look,
    /// Claiming events and marking them.
    Act,
    /// Contracts, corrections, keys.
    Rule,
}

impl Role {
    /// May this role do that?
    pub const fn may(self, deed: Deed) -> bool {
        match (self, deed) {
            (Self::Admin, _) | (Self::Ingest, Deed::Send) | (Self::Read | Self::Consume, Deed::Look) => true,
            (Self::Consume, Deed::Act) => true,
            (Self::Ingest | Self::Read | Self::Consume, _) => false,
        }
    }
}

/// A role, and where it holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Access {
    /// What it may do.
    pub role: Role,
    /// In these streams.
    pub streams: Patterns,
    /// In these lanes of them.
    pub lanes: Patterns,
}

impl Access {
    /// The right to everything.
    pub fn admin() -> Self {
        Self { role: Role::Admin, streams: Patterns::all(), lanes: Patterns::all() }
    }
}

/// How much a caller may send in a second. What is not set is as the server's settings say; 0 is no limit at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rates {
    /// Requests.
    #[serde(rename = "rate_requests")]
    pub requests: Option<u32>,
    /// Events; a batch costs as many as it has.
    #[serde(rename = "rate_events")]
    pub events: Option<u32>,
}

impl Rates {
    /// These, and where they are not set, the others.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self { requests: self.requests.or(others.requests), events: self.events.or(others.events) }
    }
}

/// Patterns of which one must fit. `*` stands for any text, also none; `?` for one character; all else for itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Patterns(Option<Arc<[Box<str>]>>);

impl Patterns {
    /// Everything fits. That is how it is for nearly every request, so it takes no memory.
    pub const fn all() -> Self {
        Self(None)
    }

    /// These patterns.
    pub fn new<T: AsRef<str>>(patterns: impl IntoIterator<Item = T>) -> Self {
        let patterns: Arc<[Box<str>]> = patterns.into_iter().map(|pattern| Box::from(pattern.as_ref())).collect();
        // Written so, it is the same thing.
        let is_all = matches!(&*patterns, [one] if &**one == "*");
        Self((!is_all).then_some(patterns))
    }

    /// Does one of them fit?
    pub fn cover(&self, text: &str) -> bool {
        self.0.as_ref().is_none_or(|some| some.iter().any(|pattern| &**pattern == "*" || fits(pattern, text)))
    }

    /// Does everything fit?
    pub fn is_all(&self) -> bool {
        self.0.as_ref().is_none_or(|some| some.iter().any(|pattern| &**pattern == "*"))
    }

    /// As they were written.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        let all = self.0.is_none().then_some("*");
        all.into_iter().chain(self.0.iter().flat_map(|some| some.iter().map(|pattern| &**pattern)))
    }
}

impl Default for Patterns {
    fn default() -> Self {
        Self::all()
    }
}

impl fmt::Debug for Patterns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for Patterns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// Goes back only to the last `*`, so the cost is at most the product of the lengths.
fn fits(pattern: &str, text: &str) -> bool {
    let (mut pattern, mut text) = (pattern.chars(), text.chars());
    let mut star: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let mut rest = pattern.clone();
        let mut left = text.clone();
        match (rest.next(), left.next()) {
            (Some('*'), _) => {
                star = Some((rest.clone(), text.clone()));
                pattern = rest;
            }
            (Some(wanted), Some(found)) if wanted == '?' || wanted == found => (pattern, text) = (rest, left),
            (None, None) => return true,
            (_, _) => {
                let Some((after, from)) = star.as_mut() else { return false };
                if from.next().is_none() {
                    return false;
                }
                (pattern, text) = (after.clone(), from.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
