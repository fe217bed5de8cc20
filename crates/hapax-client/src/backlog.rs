//! What a worker could not act on yet, and when to look again.
//!
//! What holds: entries of one [`Turn`] come out in the order in which they went in, or by number, and a turn that waits holds up no
//! other. Not here: why something waits, and any clock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Instant;

use crate::Entry;

/// Beyond this many the worker reads no more, so that a lane that is stuck costs patience and not memory.
const ENTRIES_MAX: usize = 10_000;

/// Whose turn it is: a lane's, where its events are handled in order, otherwise each event's own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Turn {
    /// A lane.
    Lane(String),
    /// An event.
    Offset(u64),
}

/// What waits, by turn.
#[derive(Default)]
pub(crate) struct Backlog {
    queues: BTreeMap<Turn, VecDeque<Entry>>,
    due: BTreeSet<(Instant, Turn)>,
    entries: usize,
}

impl Backlog {
    /// Puts an entry at the end of its turn. A turn that is new is due at once.
    pub(crate) fn add(&mut self, turn: Turn, entry: Entry, now: Instant) {
        self.entries += 1;
        match self.queues.get_mut(&turn) {
            Some(queue) => queue.push_back(entry),
            None => {
                self.queues.insert(turn.clone(), VecDeque::from([entry]));
                self.due.insert((now, turn));
            }
        }
    }

    /// Puts an entry into its turn by its number. One that comes before all others there is due at once: they may have
    /// waited for it.
    pub(crate) fn add_by_number(&mut self, turn: Turn, entry: Entry, now: Instant) {
        self.entries += 1;
        let queue = self.queues.entry(turn.clone()).or_default();
        let place = queue.partition_point(|it| (it.epoch, it.seq) <= (entry.epoch, entry.seq));
        queue.insert(place, entry);
        if place == 0 {
            if queue.len() > 1 {
                self.due.retain(|(_, it)| *it != turn);
            }
            self.due.insert((now, turn));
        }
    }

    /// Takes the first entry of a turn that is due. It must be given back or finished before the next is taken.
    pub(crate) fn take(&mut self, now: Instant) -> Option<(Turn, Entry)> {
        let first = self.due.first().filter(|(due, _)| *due <= now)?.clone();
        self.due.remove(&first);
        let (_, turn) = first;
        let entry = self.queues.get_mut(&turn)?.pop_front()?;
        self.entries -= 1;
        Some((turn, entry))
    }

    /// Gives an entry back, to be taken again then.
    pub(crate) fn give_back(&mut self, turn: Turn, entry: Entry, due: Instant) {
        self.entries += 1;
        self.queues.entry(turn.clone()).or_default().push_front(entry);
        self.due.insert((due, turn));
    }

    /// The entry that was taken needs nothing more; the next one of its turn is due.
    pub(crate) fn finish(&mut self, turn: Turn, now: Instant) {
        if self.queues.get(&turn).is_none_or(VecDeque::is_empty) {
            self.queues.remove(&turn);
        } else {
            self.due.insert((now, turn));
        }
    }

    /// Lets a whole turn go; how many entries waited in it.
    pub(crate) fn drop_turn(&mut self, turn: &Turn) -> u64 {
        let queue = self.queues.remove(turn).unwrap_or_default();
        self.entries -= queue.len();
        self.due.retain(|(_, it)| it != turn);
        queue.len() as u64
    }

    /// When the next turn is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(due, _)| *due)
    }

    /// Whether nothing waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Whether no more should be read.
    pub(crate) fn is_full(&self) -> bool {
        self.entries >= ENTRIES_MAX
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use serde_json::value::RawValue;

    use super::{Backlog, Turn};
    use crate::{Entry, clock};

    fn entry(offset: u64) -> Entry {
        let text = format!("{{\"offset\":{offset},\"id\":\"e-{offset}\",\"lane\":\"a\",\"document\":{{}}}}");
        Entry::read(RawValue::from_string(text).expect("JSON")).expect("an entry")
    }

    fn lane(name: &str) -> Turn {
        Turn::Lane(name.to_owned())
    }

    fn take(backlog: &mut Backlog, now: Instant) -> Option<u64> {
        let (turn, entry) = backlog.take(now)?;
        backlog.finish(turn, now);
        Some(entry.offset)
    }

    #[test]
    fn a_lane_keeps_its_order_and_holds_up_no_other() {
        let now = clock::now();
        let later = now + Duration::from_secs(9);
        let mut backlog = Backlog::default();
        backlog.add(lane("a"), entry(1), now);
        backlog.add(lane("a"), entry(2), now);
        backlog.add(lane("b"), entry(3), now);
        let (turn, first) = backlog.take(now).expect("the first of lane a");
        backlog.give_back(turn, first, later);
        assert_eq!(take(&mut backlog, now), Some(3));
        assert_eq!(take(&mut backlog, now), None);
        assert_eq!(backlog.next_due(), Some(later));
        assert_eq!([take(&mut backlog, later), take(&mut backlog, later)], [Some(1), Some(2)]);
        assert!(backlog.is_empty());
    }

    #[test]
    fn by_number_the_one_that_the_others_wait_for_is_due_at_once() {
        let now = clock::now();
        let later = now + Duration::from_secs(9);
        let numbered = |seq: u64| Entry { seq: Some(seq), ..entry(10 - seq) };
        let mut backlog = Backlog::default();
        backlog.add_by_number(lane("a"), numbered(3), now);
        let (turn, first) = backlog.take(now).expect("the only one");
        backlog.give_back(turn, first, later);
        backlog.add_by_number(lane("a"), numbered(4), now);
        assert_eq!(take(&mut backlog, now), None);
        backlog.add_by_number(lane("a"), numbered(1), now);
        backlog.add_by_number(lane("a"), numbered(2), now);
        let order: Vec<_> = std::iter::from_fn(|| take(&mut backlog, now)).collect();
        assert_eq!(order, [9, 8, 7, 6], "the offsets of the numbers 1 to 4");
        assert!(backlog.is_empty());
    }

    #[test]
    fn a_turn_that_is_let_go_leaves_nothing_behind() {
        let now = clock::now();
        let mut backlog = Backlog::default();
        backlog.add(lane("a"), entry(1), now);
        backlog.add(lane("a"), entry(2), now);
        assert_eq!(backlog.drop_turn(&lane("a")), 2);
        assert!(backlog.is_empty() && backlog.next_due().is_none() && backlog.take(now).is_none());
    }
}
