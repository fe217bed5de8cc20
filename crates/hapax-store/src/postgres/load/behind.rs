//! A turn behind another one of the same process, on the same stream: it reads and is judged while that one is written.
//!
//! What holds: what is read here may be from before that turn or from after it, so all that it changes is taken from itself:
//! ids, lanes, gaps, nonces, counters, answered requests. Everything else it leaves as it is, and what it rests on was
//! committed before anything was read: the row of the stream, which is read first, shows it. Whether that is all, and no other server came between, shows when this turn locks the row of its
//! stream (`write`); if not, nothing is written, and it is taken again in the other way.

use std::collections::HashSet;
use std::sync::Arc;

use hapax_core::contract::Scope;
use hapax_core::facts::Facts;

use super::super::known::Shared;
use super::super::line::Line;
use super::super::recent::{Ahead, GAPS_MAX, Ticket, Track};
use super::ask::{About, Arrays, ask};
use super::found::Found;
use super::{Failure, Held, HeldStream, Rests, load_entries};
use crate::seam::{Commits, Loaded, LoadedStream, StreamKey, StreamNeeds, TurnNeeds};

/// A load that locks nothing.
pub(super) struct Behind<'a> {
    pub(super) shared: &'a Shared,
    pub(super) line: &'a Line,
    pub(super) key: &'a StreamKey,
    pub(super) wanted: &'a StreamNeeds,
    pub(super) ticket: &'a Ticket,
    /// The turn before.
    pub(super) before: u64,
}

impl Behind<'_> {
    /// Loads. Nothing if the turn before is none that one can rest on: then it is waited for.
    pub(super) async fn load(&self, needs: &TurnNeeds, number: Commits) -> Result<Option<(Held, Loaded)>, Failure> {
        let Self { shared, key, wanted, ticket, .. } = *self;
        let left = ticket.has(shared.ticks(), wanted.needs.lanes.keys().cloned());
        let mut arrays = Arrays::of(shared, key, wanted, &left);
        // Lanes before their gaps: what is seen of gaps is never older than what is seen of their lanes.
        arrays.asks_for_gaps = true;
        let client = self.line.client().await?;
        let found = Found(ask(shared, &client, needs, std::slice::from_ref(&arrays), false).await?);
        let Some(ahead) = ticket.wait_for(self.before) else { return Ok(None) };
        // Another server may have had the lock when this was read, and that turn waited for it: then what it wrote is in neither.
        let seen = found.seen(key)?;
        if seen.is_none() || (seen != ahead.rests_on && seen != Some(ahead.mark)) {
            ticket.doubt();
            return Ok(None);
        }
        let (Some(versions), Some(write)) = (shared.versions_at(key, ahead.row.version), ahead.stream()) else {
            return Ok(None);
        };
        let Some(version) = versions.last() else { return Ok(None) };
        // What that turn adds is taken from itself.
        if !arrays.ids.is_enough_at(&write.before.hash) && !arrays.ids.is_enough_at(&write.after.hash) {
            return Ok(None);
        }
        let mut held = Held::new(client, number);
        let mut stream = HeldStream::new(ahead.row.clone(), Some(ahead.mark));
        stream.by_lane = version.contract.identity.scope == Scope::Lane;
        let mut facts = Facts::new(Arc::clone(&key.stream), version.clone(), ahead.row.head);
        load_entries(found.rows(About::Entries(0)), &mut facts)?;
        write.changes.entries.iter().for_each(|entry| facts.load_original(entry.clone()));
        if !self.load_lanes(&ahead, &left, &found, &mut stream, &mut facts)? {
            return Ok(None);
        }
        found.load_rest(0, &mut facts)?;
        write.changes.nonces.iter().for_each(|(nonce, used_at)| facts.load_nonce(*nonce, *used_at));
        write.changes.counters.iter().for_each(|(key, counter)| facts.load_counter(key.clone(), counter.clone()));
        let mut loaded = Loaded { as_of: number, ..Loaded::default() };
        found.load_requests(&mut held, &mut loaded)?;
        for (key, record) in &ahead.write.requests {
            held.requests.insert(key.clone());
            loaded.requests.insert(key.clone(), record.clone());
        }
        // It was read before that turn was, perhaps.
        loaded.now = found.now()?.max(ahead.now);
        held.now = loaded.now;
        held.rests = Some(Rests::on(key, &ahead.mark));
        held.streams.insert(key.clone(), stream);
        loaded.streams.insert(key.clone(), LoadedStream { versions: versions.to_vec(), facts });
        Ok(Some((held, loaded)))
    }

    /// Lanes as the turn before leaves them, and others as they were read. False if one is neither.
    fn load_lanes(
        &self,
        ahead: &Ahead,
        left: &[Arc<str>],
        found: &Found,
        stream: &mut HeldStream,
        facts: &mut Facts,
    ) -> Result<bool, Failure> {
        let needed: Vec<Arc<str>> = self.wanted.needs.lanes.keys().cloned().collect();
        let now = self.ticket.has(self.shared.ticks(), needed.iter().cloned());
        let Some(known) = self.ticket.take(ahead.mark, &now) else { return Ok(false) };
        let known_names: HashSet<&Arc<str>> = now.iter().collect();
        // What it changed and did not leave whole cannot be had here.
        let changed: HashSet<&Arc<str>> =
            ahead.stream().into_iter().flat_map(|write| &write.changes.lanes).map(|(name, _)| name).collect();
        let unread = left.iter().any(|name| !known_names.contains(name));
        if unread || needed.iter().any(|name| changed.contains(name) && !known_names.contains(name)) {
            return Ok(false);
        }
        let mut gaps = found.gaps(0)?;
        for (name, lane) in found.lanes(0)? {
            if known_names.contains(&name) {
                continue;
            }
            if lane.counts.total() > GAPS_MAX {
                return Ok(false);
            }
            let gaps = gaps.remove(&name).unwrap_or_default();
            stream.load_track(facts, self.wanted, name, Track { lane, gaps });
        }
        known.into_iter().for_each(|(name, track)| stream.load_track(facts, self.wanted, name, track));
        for name in needed {
            if !stream.lanes.contains_key(&name) {
                stream.tracks.insert(name, Track::default());
            }
        }
        Ok(true)
    }
}
