//! Writing a judgement down: the entry and its hash, or the attempt, and the facts that moved.

use std::sync::Arc;

use super::{Acknowledgement, Changes, CounterFacts, Facts, LaneFacts};
use crate::audit::{Attempt, Submitted};
use crate::chain::{content_hash, link_hash};
use crate::counter::{Adjustment, Class, Counter, CounterKey};
use crate::entry::{Basis, Caller, Entry, EntryKind, SharedEntry};
use crate::event::{Digest, Event, Given, IdSource, Kept};
use crate::judge::{Acceptance, Judgement, Known, Likeness, Ruling};
use crate::lane::Edit;
use crate::period::PeriodStart;
use crate::planted;
use crate::receipt::Receipt;
use crate::refusal::Refusal;
use crate::time::Time;
use crate::words::{Code, States, Verdict};

impl Facts {
    /// Writes down what became of an event, and answers with its receipt. There is none yet for one that was accepted: that is its
    /// entry, when it is [shared](Facts::share).
    pub fn record(&mut self, event: Given<'_>, judgement: Judgement, now: Time, caller: &Caller) -> Option<Receipt> {
        let Judgement { ruling, basis } = judgement;
        match ruling {
            Ruling::Accepted(acceptance) => {
                self.enter(event, acceptance, basis, now, caller);
                None
            }
            Ruling::Known(known) => Some(self.know(&event, known, basis, now, caller)),
            Ruling::Refused(refusal) => Some(self.refuse(&event, refusal, basis, now, caller)),
        }
    }

    /// Shares the entries that were made since the last time; answers with them, in their order.
    pub fn share(&mut self) -> &[SharedEntry] {
        let before = self.changes.entries.len();
        if !self.open.is_empty() {
            self.changes.entries.extend(SharedEntry::each(std::mem::take(&mut self.open)));
        }
        &self.changes.entries[before..]
    }

    /// In the same frame as what calls it, and so is what it ends with: an entry has five hundred bytes, and each hand that it goes
    /// through costs a copy of them.
    #[inline(always)]
    fn enter(&mut self, event: Given<'_>, acceptance: Acceptance, basis: Basis, now: Time, caller: &Caller) {
        self.head.events += 1;
        let slot = acceptance.slot.unwrap_or_else(|| self.new_lane(&event));
        self.remember_lane(slot);
        let facts = &mut self.lanes[slot];
        let previous_in_lane = facts.lane.last_offset;
        facts.lane = acceptance.lane;
        facts.lane.last_offset = self.head.offset + 1;
        facts.gaps.apply(&acceptance.gaps);
        if !std::mem::replace(&mut facts.changed, true) {
            self.touched.push(slot);
        }
        let name = &facts.name;
        self.changes.gaps.extend(acceptance.gaps.into_iter().map(|change| (Arc::clone(name), change)));
        let (id_source, identity, epoch, observed_at) =
            (event.id_source, event.identity, event.epoch, event.time.time());
        let (digest, content, nonce) = (event.digest, event.content, event.nonce);
        let Kept { document, id, lane } = event.keep();
        let entry = Entry {
            offset: 0,
            hash: [0; 32],
            kind: EntryKind::Event,
            at: now,
            contract: self.version.number,
            id: id.unwrap_or_default(),
            id_source,
            identity,
            // Its own name of the lane: that of the facts is the state's, and an entry of the turn before is being dropped in another
            // thread. Two that count the users of one name wait for each other.
            lane: lane.unwrap_or_else(|| Arc::clone(name)),
            epoch,
            seq: acceptance.seq,
            observed_at,
            document: document.expect("an event is entered once, with its document"),
            digest,
            marks: acceptance.marks,
            states: acceptance.states,
            gap: acceptance.gap,
            abandoned: acceptance.abandoned,
            refusal: acceptance.refusal,
            classes: acceptance.counters.iter().map(|folding| (Arc::clone(&folding.key.name), folding.class)).collect(),
            basis,
            ordinal: self.head.events,
            previous_in_lane,
            attempt: 0,
            caller: caller.clone(),
        };
        self.append(entry, &content);
        if acceptance.uses_nonce
            && let Some(nonce) = nonce
        {
            self.remember_nonce(nonce);
            self.nonces.insert(nonce, now);
            self.changes.nonces.push((nonce, now));
        }
        for folding in acceptance.counters {
            if folding.class != Class::Folded {
                let adjustment = Adjustment {
                    id: self.open.last().map(|entry| Arc::clone(&entry.id)).unwrap_or_default(),
                    amount: folding.one.amount,
                    reason: Arc::from(folding.class.name()),
                    offset: self.head.offset,
                    at: now,
                };
                self.changes.adjustments.push((folding.key.clone(), adjustment));
            }
            self.set_counter(folding.key, folding.counter);
        }
    }

    fn new_lane(&mut self, event: &Event) -> usize {
        let slot = self.lanes.len();
        let name = event.lane.clone().unwrap_or_default();
        self.lanes.push(LaneFacts { name: Arc::clone(&name), ..LaneFacts::default() });
        self.slots.insert(name, slot);
        slot
    }

    /// Appends an entry that no event brings.
    pub(crate) fn append_manual(&mut self, entry: Entry) {
        let content = content_hash(&entry.digest, entry.epoch, &entry.lane, &entry.id);
        self.append(entry, &content);
    }

    /// Gives an entry its offset, its attempt and its hash. Every entry of whatever kind goes through here.
    #[inline(always)]
    fn append(&mut self, mut entry: Entry, content: &Digest) {
        self.head.offset += 1;
        self.head.attempts += 1;
        entry.offset = self.head.offset;
        entry.attempt = self.head.attempts;
        entry.hash = link_hash(&self.stream, &self.head.hash, content, &entry);
        self.head.hash = entry.hash;
        self.head.at = Some(entry.at);
        // Nobody can send an assigned id again, so no later event of the turn has to find it.
        if entry.id_source != IdSource::Assigned {
            self.remember_original(entry.identity);
            self.originals.make(entry.identity, self.changes.entries.len() + self.open.len());
        }
        self.open.push(entry);
    }

    pub(crate) fn set_counter(&mut self, key: CounterKey, counter: Counter) {
        if planted!(CounterUpdateLost) && self.counters.get(&key).is_some_and(|facts| facts.changed) {
            return;
        }
        self.remember_counter(&key);
        self.counters.insert(key, CounterFacts { counter, changed: true });
    }

    fn know(&mut self, event: &Event, known: Known, basis: Basis, now: Time, caller: &Caller) -> Receipt {
        let mut attempt = self.attempt(event, basis, now, caller);
        attempt.verdict = if known.likeness == Likeness::Conflicting { Verdict::Conflict } else { Verdict::Duplicate };
        attempt.code = known.code();
        attempt.states = known.states();
        attempt.rejected = known.rejected;
        if known.likeness == Likeness::Same {
            attempt.document = Submitted::SameAs(known.original.offset);
        }
        Receipt::Other { attempt: self.audit(attempt), original: Some(known.original), diff: known.diff }
    }

    /// Writes down an event that is refused or not evaluated.
    pub(crate) fn refuse(
        &mut self,
        event: &Event,
        refusal: Box<Refusal>,
        basis: Basis,
        now: Time,
        caller: &Caller,
    ) -> Receipt {
        if planted!(RefusalUsesNonce)
            && let Some(nonce) = event.nonce
        {
            self.nonces.insert(nonce, now);
            self.changes.nonces.push((nonce, now));
        }
        if planted!(RefusalUsesNumber)
            && let Some(slot) = self.slot(event.lane.as_deref().unwrap_or_default())
            && let Some(seq) = event.seq
        {
            let facts = &mut self.lanes[slot];
            facts.lane.highest = facts.lane.highest.max(Some(seq));
            if !std::mem::replace(&mut facts.changed, true) {
                self.touched.push(slot);
            }
        }
        let mut attempt = self.attempt(event, basis, now, caller);
        attempt.verdict = refusal.verdict();
        attempt.code = refusal.code;
        attempt.states = States::NONE.with(refusal.state);
        attempt.refusal = Some(refusal);
        Receipt::Other { attempt: self.audit(attempt), original: None, diff: Vec::new() }
    }

    fn attempt(&self, event: &Event, basis: Basis, now: Time, caller: &Caller) -> Attempt {
        Attempt {
            number: 0,
            at: now,
            contract: self.version.number,
            id: event.id.clone(),
            lane: event.lane.clone(),
            epoch: event.epoch,
            seq: event.seq,
            verdict: Verdict::Rejected,
            code: Code::SchemaViolation,
            states: States::NONE,
            refusal: None,
            document: Submitted::Document(event.document.clone().unwrap_or_default()),
            basis,
            rejected: false,
            caller: caller.clone(),
        }
    }

    /// Gives an attempt its number. Also one that was taken back with its batch, and stays on record.
    pub(crate) fn audit(&mut self, mut attempt: Attempt) -> Arc<Attempt> {
        self.head.attempts += 1;
        attempt.number = self.head.attempts;
        let attempt = Arc::new(attempt);
        self.changes.attempts.push(Arc::clone(&attempt));
        attempt
    }

    /// Adds an adjustment to a counter's list.
    pub(crate) fn adjust(&mut self, key: CounterKey, adjustment: Adjustment) {
        self.changes.adjustments.push((key, adjustment));
    }

    /// Closes a period for every key.
    pub(crate) fn close_period(&mut self, counter: Arc<str>, period: PeriodStart) {
        self.closed.insert((Arc::clone(&counter), period));
        self.changes.closed.push((counter, period));
    }

    /// Records a loss; answers whether any of the numbers was missing.
    pub(crate) fn acknowledge(&mut self, loss: &Acknowledgement) -> bool {
        let max = self.version.contract.sequence.gaps_open_max;
        let Some(slot) = self.slot(&loss.lane) else { return false };
        let facts = &mut self.lanes[slot];
        let mut edit = Edit::new(&facts.gaps);
        let mut lane = facts.lane.clone();
        if !edit.acknowledge(&mut lane, loss.from, loss.to, max) {
            return false;
        }
        let edited = edit.finish();
        facts.gaps.apply(&edited.changes);
        facts.lane = lane;
        if !std::mem::replace(&mut facts.changed, true) {
            self.touched.push(slot);
        }
        self.changes.gaps.extend(edited.changes.into_iter().map(|change| (Arc::clone(&loss.lane), change)));
        self.changes.acknowledgements.push(loss.clone());
        true
    }

    /// What the turn has led to so far.
    pub fn changes(&self) -> &Changes {
        &self.changes
    }
}
