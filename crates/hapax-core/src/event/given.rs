//! Events in the hands of whoever records them, and what an entry keeps of one.
//!
//! An entry has the document, the id and the lane of its event. To share them is to count users in memory that another processor
//! had last, three times an event, and once more when the event is let go; to take them over costs nothing.

use std::ops::Deref;
use std::sync::Arc;

use super::Event;

/// The events of a request.
#[derive(Debug)]
pub enum Events<'e> {
    /// They stay as they are.
    Lent(&'e [Event]),
    /// Nobody looks at one again after it was accepted.
    Left(&'e mut [Event]),
}

/// One of them.
#[derive(Debug)]
pub enum Given<'e> {
    /// It stays as it is.
    Lent(&'e Event),
    /// Its entry takes over what it keeps.
    Left(&'e mut Event),
}

/// What an entry keeps of its event.
pub(crate) struct Kept {
    pub(crate) document: Option<Arc<[u8]>>,
    pub(crate) id: Option<Arc<str>>,
    pub(crate) lane: Option<Arc<str>>,
}

impl Events<'_> {
    /// The same, whatever becomes of them.
    pub(crate) fn lent(&self) -> Events<'_> {
        Events::Lent(self)
    }

    pub(crate) fn give(&mut self, index: usize) -> Given<'_> {
        match self {
            Self::Lent(events) => Given::Lent(&events[index]),
            Self::Left(events) => Given::Left(&mut events[index]),
        }
    }
}

impl Deref for Events<'_> {
    type Target = [Event];

    #[inline]
    fn deref(&self) -> &[Event] {
        match self {
            Self::Lent(events) => events,
            Self::Left(events) => events,
        }
    }
}

impl Given<'_> {
    #[inline]
    pub(crate) fn keep(self) -> Kept {
        match self {
            Self::Lent(Event { document, id, lane, .. }) => {
                Kept { document: document.clone(), id: id.clone(), lane: lane.clone() }
            }
            Self::Left(Event { document, id, lane, .. }) => {
                Kept { document: document.take(), id: id.take(), lane: lane.take() }
            }
        }
    }
}

impl Deref for Given<'_> {
    type Target = Event;

    #[inline]
    fn deref(&self) -> &Event {
        match self {
            Self::Lent(event) => event,
            Self::Left(event) => event,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::{Terms, submit};
    use crate::contract::{Contract, Version};
    use crate::event::{Door, read};
    use crate::facts::{Changes, Facts, Head};
    use crate::time::Time;

    /// One that is accepted, its repeat, and one that is refused.
    const SENT: [&str; 3] = [r#"{"id": "a", "lane": "l", "seq": 1}"#, r#"{"id": "a", "lane": "l", "seq": 1}"#, "{}"];
    const NOW: Time = Time::from_nanos(1_767_225_600_000_000_000);

    /// What the events lead to, and what is left of them.
    fn judged(terms: &Terms, leave: bool) -> (Vec<u8>, Changes, Vec<Event>) {
        let contract = br#"{"identity": {"required": true}, "sequence": {"source": "producer"}}"#;
        let version = Version::first(Contract::from_json(contract).expect("a contract").contract);
        let mut facts = Facts::new(Arc::from("s"), version.clone(), Head::default());
        let door = Door { salt: &[0; 32], now: NOW, spare: 0, event_bytes_max: 1000, covers: &|_| true };
        let mut events: Vec<Event> = SENT.map(|sent| read(sent.as_bytes().into(), &version, &door)).into();
        let given = if leave { Events::Left(&mut events) } else { Events::Lent(&events) };
        let answer = submit(&mut facts, given, NOW, terms).written(false);
        (answer, facts.into_changes().1, events)
    }

    fn has(event: &Event) -> bool {
        event.document.is_some()
    }

    #[test]
    fn what_is_accepted_takes_over_its_event_and_nothing_else_is_taken() {
        let (answer, changes, events) = judged(&Terms::default(), true);
        let (lent, shared, whole) = judged(&Terms::default(), false);
        assert_eq!((answer, changes.entries, changes.attempts), (lent, shared.entries, shared.attempts));
        assert!(whole.iter().all(has));
        assert_eq!([has(&events[0]), has(&events[1]), has(&events[2])], [false, true, true]);
    }

    #[test]
    fn an_atomic_batch_that_is_refused_still_has_all_of_its_documents() {
        let terms = Terms { atomic: true, ..Terms::default() };
        let (answer, changes, events) = judged(&terms, true);
        let (lent, shared, _) = judged(&terms, false);
        assert_eq!((answer, changes.entries, changes.attempts), (lent, shared.entries, shared.attempts));
        assert!(events.iter().all(has));
    }
}
