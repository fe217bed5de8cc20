//! How many connections there may be: of all clients together, and of one address.
//!
//! The cap per address keeps one machine from taking all places. An IPv6 address counts as its network of 64 bits,
//! because that is what one client is given.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use hapax_core::problem::Problem;

use crate::config::Limits;
use crate::rate::neighbourhood;
use crate::writer::busy;

/// The places for connections.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    all_max: usize,
    of_address_max: usize,
    taken: Arc<Mutex<Taken>>,
}

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// A connection's place, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    address: IpAddr,
    taken: Arc<Mutex<Taken>>,
}

impl Places {
    pub(crate) fn new(limits: &Limits) -> Self {
        let (all_max, of_address_max) = (limits.connections_max, limits.connections_per_address_max);
        Self { all_max, of_address_max, taken: Arc::default() }
    }

    /// A place for a connection from there, if there is one.
    pub(crate) fn take(&self, address: IpAddr) -> Result<Place, Problem> {
        let address = neighbourhood(address);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if taken.all >= self.all_max {
            return Err(busy("this server has as many connections as it takes"));
        }
        let of_address = taken.by_address.entry(address).or_default();
        if *of_address >= self.of_address_max {
            return Err(busy("your address has as many connections to this server as one address may"));
        }
        *of_address += 1;
        taken.all += 1;
        Ok(Place { address, taken: Arc::clone(&self.taken) })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        taken.all -= 1;
        if let Some(of_address) = taken.by_address.get_mut(&self.address) {
            *of_address -= 1;
            // Addresses that are gone take no memory.
            if *of_address == 0 {
                taken.by_address.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests;
