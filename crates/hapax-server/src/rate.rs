//! How much a caller may send in a second: a bucket for requests and one for events, per key or per address.
//!
//! What holds: whatever the order of the calls, a caller gets at most a second's worth at once and the rate from then on;
//! a batch that is larger than a second's worth is taken when nothing is owed, and what it costs is owed afterwards, so
//! that no batch is refused for ever. What a refusal says is true: who waits that long, and is alone, gets through. All
//! numbers are whole (billionths of a request), so nothing is lost to rounding. Memory is bounded by [`ADDRESSES_MAX`].
//! Not here: time (it comes as a value), HTTP.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hapax_core::access::Rates;

/// Addresses that are remembered at least; twice as many at most. One that is forgotten owes nothing.
pub const ADDRESSES_MAX: usize = 16_384;

/// Billionths in a whole.
const WHOLE: u128 = 1_000_000_000;

/// Whom a request is charged to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Payer {
    /// A key, by its id.
    Key(Arc<str>),
    /// Whoever shows no key that holds, by address.
    Address(IpAddr),
}

/// Which limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Limit {
    /// Requests in a second.
    Requests,
    /// Events in a second.
    Events,
}

impl Limit {
    /// As headers and metrics call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Events => "events",
        }
    }
}

/// Who pays, and at which rates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    payer: Payer,
    rates: Rates,
}

/// What is left of one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Of which.
    pub limit: Limit,
    /// How many in a second.
    pub rate: u32,
    /// How many are left now.
    pub left: u32,
    /// When all are there again.
    pub full_in: Duration,
}

/// More than a caller may send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany {
    /// Of what.
    pub limit: Limit,
    /// How many in a second.
    pub rate: u32,
    /// When the same would be taken.
    pub wait: Duration,
}

impl Account {
    /// An account, if there is anything to be counted.
    pub fn new(payer: Payer, rates: Rates) -> Option<Self> {
        let rates =
            Rates { requests: rates.requests.filter(|rate| *rate > 0), events: rates.events.filter(|rate| *rate > 0) };
        let payer = match payer {
            Payer::Address(address) => Payer::Address(neighbourhood(address)),
            Payer::Key(id) => Payer::Key(id),
        };
        (rates != Rates::default()).then_some(Self { payer, rates })
    }

    /// Who pays.
    pub fn payer(&self) -> &Payer {
        &self.payer
    }
}

/// Whom an address stands for: whoever has one of IPv6 has the 2^64 beside it, too.
pub(crate) fn neighbourhood(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6((u128::from(address) >> 64 << 64).into()),
        IpAddr::V4(address) => IpAddr::V4(address),
    }
}

/// What everybody owes.
#[derive(Debug, Default)]
pub struct Rating {
    keys: Mutex<Recent<Arc<str>, Purse>>,
    addresses: Mutex<Recent<IpAddr, Purse>>,
}

impl Rating {
    /// Takes one request, and refuses it already if no event could follow.
    pub fn request(&self, account: &Account, now: Duration, brings_events: bool) -> Result<(), TooMany> {
        self.with(account, |purse, rates| {
            if brings_events {
                rates.events.map_or(Ok(()), |rate| purse.events.ask(Limit::Events, rate, 1, now))?;
            }
            rates.requests.map_or(Ok(()), |rate| purse.requests.take(Limit::Requests, rate, 1, now))
        })
    }

    /// Takes so many events of a request that was taken.
    pub fn events(&self, account: &Account, now: Duration, count: usize) -> Result<(), TooMany> {
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        self.with(account, |purse, rates| {
            let Some(rate) = rates.events else { return Ok(()) };
            purse.events.take(Limit::Events, rate, count, now).map_err(|mut many| {
                // Whoever comes back needs a request for it, too.
                let request = rates.requests.map(|rate| purse.requests.ask(Limit::Requests, rate, 1, now));
                if let Some(Err(later)) = request {
                    many.wait = many.wait.max(later.wait);
                }
                many
            })
        })
    }

    /// What is left.
    pub fn levels(&self, account: &Account, now: Duration) -> Vec<Level> {
        self.with(account, |purse, rates| {
            let requests = rates.requests.map(|rate| purse.requests.level(Limit::Requests, rate, now));
            let events = rates.events.map(|rate| purse.events.level(Limit::Events, rate, now));
            requests.into_iter().chain(events).collect()
        })
    }

    fn with<T>(&self, account: &Account, act: impl FnOnce(&mut Purse, Rates) -> T) -> T {
        // A purse is whole between any two instructions, so a panic elsewhere leaves nothing half done.
        match &account.payer {
            Payer::Key(id) => {
                let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
                act(keys.entry(id), account.rates)
            }
            Payer::Address(address) => {
                let mut addresses = self.addresses.lock().unwrap_or_else(PoisonError::into_inner);
                act(addresses.entry(address), account.rates)
            }
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Purse {
    requests: Bucket,
    events: Bucket,
}

/// What is owed, in billionths; it shrinks by the rate. This is GCRA, written as a debt instead of a time.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    owed: u128,
    at: Duration,
}

impl Bucket {
    fn settle(&mut self, rate: u32, now: Duration) {
        let passed = now.saturating_sub(self.at).as_nanos();
        self.owed = self.owed.saturating_sub(passed * u128::from(rate));
        self.at = self.at.max(now);
    }

    /// Would so many be taken?
    fn ask(&mut self, limit: Limit, rate: u32, count: u32, now: Duration) -> Result<(), TooMany> {
        self.settle(rate, now);
        let may_owe = u128::from(rate.saturating_sub(count)) * WHOLE;
        match self.owed.checked_sub(may_owe) {
            None | Some(0) => Ok(()),
            Some(over) => Err(TooMany { limit, rate, wait: time_for(over, rate) }),
        }
    }

    fn take(&mut self, limit: Limit, rate: u32, count: u32, now: Duration) -> Result<(), TooMany> {
        self.ask(limit, rate, count, now)?;
        self.owed += u128::from(count) * WHOLE;
        Ok(())
    }

    fn level(&mut self, limit: Limit, rate: u32, now: Duration) -> Level {
        self.settle(rate, now);
        let left = (u128::from(rate) * WHOLE).saturating_sub(self.owed) / WHOLE;
        let left = u32::try_from(left).unwrap_or(u32::MAX);
        Level { limit, rate, left, full_in: time_for(self.owed, rate) }
    }
}

/// How long a debt lasts, rounded up.
fn time_for(owed: u128, rate: u32) -> Duration {
    Duration::from_nanos(u64::try_from(owed.div_ceil(u128::from(rate.max(1)))).unwrap_or(u64::MAX))
}

/// What was used lately: two generations, of which the older is dropped when the younger is full.
#[derive(Debug)]
struct Recent<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<K: Clone + Eq + Hash, V: Default> Recent<K, V> {
    fn entry(&mut self, key: &K) -> &mut V {
        if !self.young.contains_key(key) && self.young.len() >= ADDRESSES_MAX {
            self.old = std::mem::take(&mut self.young);
        }
        let old = &mut self.old;
        self.young.entry(key.clone()).or_insert_with(|| old.remove(key).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests;
