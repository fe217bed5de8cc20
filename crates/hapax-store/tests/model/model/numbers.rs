//! What a lane knows of its producer's numbers, folded from its accepted events, oldest first.
//!
//! Gaps are not kept: they are what is missing between the used numbers. Because new gaps open only at the top and the
//! lowest is given up first, three limits say what became of each: at or below `forgotten` nothing is known any more,
//! up to `abandoned` a gap is given up but kept, above it is open. Below the baseline there is `unlisted_forgotten`.

use std::collections::BTreeSet;

use super::readings::RANGES_BEFORE_FLOOR;
use super::rules::{First, Sequence};

#[derive(Debug, Clone, Default)]
pub(crate) struct Numbers {
    pub(crate) epoch: u64,
    /// The numbers of this epoch; empty for a new lane.
    pub(crate) used: BTreeSet<u64>,
    /// The lowest number that there can be.
    lowest: u64,
    /// Numbers from here on are reported as missing.
    baseline: u64,
    abandoned: Option<u64>,
    forgotten: Option<u64>,
    unlisted_forgotten: Option<u64>,
    /// Whether the event folded last made an open gap abandoned.
    pub(crate) abandoned_one: bool,
}

/// A stretch of missing numbers, both ends included.
pub(crate) type Stretch = (u64, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Expected,
    Above {
        expected: u64,
    },
    /// Never seen, and known to be so.
    Missing,
    /// Below the floor, and in no range.
    Unproven,
    Used,
}

impl Numbers {
    /// `events` are the (epoch, number) of the lane's accepted events, oldest first.
    pub(crate) fn fold(rules: &Sequence, events: &[(u64, u64)]) -> Numbers {
        let mut numbers = Numbers::default();
        for (epoch, number) in events {
            numbers.add(rules, *epoch, *number);
        }
        numbers
    }

    fn add(&mut self, rules: &Sequence, epoch: u64, number: u64) {
        let fresh = self.used.is_empty() || epoch > self.epoch;
        self.abandoned_one = false;
        if fresh {
            let left_open = !self.open().is_empty();
            let (lowest, baseline) = (lowest(rules), first_expected(rules, number));
            *self = Numbers { epoch, lowest, baseline, abandoned_one: left_open, ..Numbers::default() };
        }
        assert_eq!(epoch, self.epoch, "an accepted event is never of a lower epoch");
        self.used.insert(number);

        while self.open().len() > rules.gaps_open_max {
            self.abandoned = Some(self.open()[0].1);
            self.abandoned_one = true;
        }
        while self.kept_abandoned().len() > rules.gaps_open_max {
            self.forgotten = Some(self.kept_abandoned()[0].1);
        }
        while self.unlisted().len() > rules.gaps_open_max {
            self.unlisted_forgotten = Some(self.unlisted()[0].1);
        }
    }

    pub(crate) fn highest(&self) -> Option<u64> {
        self.used.last().copied()
    }

    pub(crate) fn open(&self) -> Vec<Stretch> {
        self.listed().into_iter().filter(|gap| Some(gap.1) > self.abandoned).collect()
    }

    pub(crate) fn kept_abandoned(&self) -> Vec<Stretch> {
        let kept = |gap: &Stretch| Some(gap.1) > self.forgotten && Some(gap.1) <= self.abandoned;
        self.listed().into_iter().filter(kept).collect()
    }

    pub(crate) fn unlisted(&self) -> Vec<Stretch> {
        let below = self.missing().into_iter().filter(|gap| gap.1 < self.baseline);
        below.filter(|gap| Some(gap.1) > self.unlisted_forgotten).collect()
    }

    /// The greatest number of which nothing is known.
    pub(crate) fn floor(&self) -> Option<u64> {
        self.forgotten.max(self.unlisted_forgotten)
    }

    /// Where a number of this epoch lies. For a new lane, or a higher epoch, ask [`Numbers::place_first`].
    pub(crate) fn place(&self, number: u64) -> Place {
        let highest = self.highest().expect("the lane has a number");
        if number > highest {
            let expected = highest + 1;
            return if number == expected { Place::Expected } else { Place::Above { expected } };
        }
        let inside = |gaps: Vec<Stretch>| gaps.iter().any(|gap| gap.0 <= number && number <= gap.1);
        let in_a_range = inside(self.open()) || inside(self.kept_abandoned()) || inside(self.unlisted());
        let below_floor = Some(number) <= self.floor();
        if in_a_range && (RANGES_BEFORE_FLOOR || !below_floor) {
            Place::Missing
        } else if below_floor {
            Place::Unproven
        } else {
            Place::Used
        }
    }

    /// Where the first number of a lane or of an epoch lies.
    pub(crate) fn place_first(rules: &Sequence, number: u64) -> Place {
        let expected = first_expected(rules, number);
        if number == expected { Place::Expected } else { Place::Above { expected } }
    }

    fn listed(&self) -> Vec<Stretch> {
        self.missing().into_iter().filter(|gap| gap.0 >= self.baseline).collect()
    }

    /// Every stretch of unused numbers below the highest. None crosses the baseline, which is used or is the lowest.
    fn missing(&self) -> Vec<Stretch> {
        let mut stretches = Vec::new();
        let mut next = self.lowest;
        for number in &self.used {
            if *number > next {
                stretches.push((next, number - 1));
            }
            // After the last possible number nothing follows, and nothing is asked.
            next = number.saturating_add(1);
        }
        stretches
    }
}

fn lowest(rules: &Sequence) -> u64 {
    match rules.first {
        First::Any | First::Zero => 0,
        First::One => 1,
    }
}

/// What the first event of a lane or of an epoch is expected to carry, if it carries `number`.
fn first_expected(rules: &Sequence, number: u64) -> u64 {
    match rules.first {
        First::Any => number,
        First::Zero | First::One => lowest(rules),
    }
}
