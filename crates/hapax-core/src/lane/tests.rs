use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// A lane that accepts whatever comes, so that only the places are looked at.
#[derive(Clone, Debug)]
struct World {
    lane: Lane,
    gaps: Gaps,
    first: First,
    max: u64,
}

impl World {
    fn new(first: First, max: u64) -> Self {
        Self { lane: Lane::default(), gaps: Gaps::default(), first, max }
    }

    /// A number arrives, seen with these rows alone. `renumbers`: from a producer that was restarted.
    fn enter_with(&mut self, rows: &Gaps, number: u64, renumbers: bool) -> (Place, Edited) {
        let mut edit = Edit::new(rows);
        if renumbers {
            self.lane = self.lane.renumbered(self.lane.epoch + 1, 0);
            edit.end_numbering(&mut self.lane, self.max);
        }
        let place = self.lane.place(rows, self.first, number);
        edit.enter(&mut self.lane, place, number, Time::from_nanos(0), self.max);
        (place, edit.finish())
    }

    fn enter(&mut self, number: u64, renumbers: bool) -> String {
        let rows = self.gaps.clone();
        let (place, edited) = self.enter_with(&rows, number, renumbers);
        self.gaps.apply(&edited.changes);
        let mut said = match place {
            Place::Baseline => "baseline".to_owned(),
            Place::Continuous => "ok".to_owned(),
            Place::Gap { from, to } => format!("gap({from}..{to})"),
            Place::Late(_) => "late".to_owned(),
            Place::Unproven => "unproven".to_owned(),
            Place::Repeated => "repeated".to_owned(),
        };
        for (from, to) in edited.abandoned {
            said.push_str(&format!("-({from}..{to})"));
        }
        said
    }

    fn acknowledge(&mut self, from: u64, to: u64) -> String {
        let rows = self.gaps.clone();
        let mut edit = Edit::new(&rows);
        let missing = edit.acknowledge(&mut self.lane, from, to, self.max);
        self.gaps.apply(&edit.finish().changes);
        if missing { "known" } else { "none" }.to_owned()
    }

    /// `5`: the number 5. `^5`: the number 5 of the next epoch. `!2-4`: a person records 2 to 4 as lost.
    fn take(&mut self, word: &str) -> String {
        let number = |text: &str| text.parse().expect("a number");
        if let Some(range) = word.strip_prefix('!') {
            let (from, to) = range.split_once('-').unwrap_or((range, range));
            return self.acknowledge(number(from), number(to));
        }
        match word.strip_prefix('^') {
            Some(word) => self.enter(number(word), true),
            None => self.enter(number(word), false),
        }
    }

    /// `open 2 4..6 acknowledged 3 floor 1`; rows of earlier numberings with a prime.
    fn shown(&self) -> String {
        let mut parts = Vec::new();
        for kind in GapKind::ALL {
            let rows: Vec<String> = self.gaps.iter().filter(|gap| gap.kind == *kind).map(|gap| self.row(gap)).collect();
            if !rows.is_empty() {
                parts.push(format!("{kind} {}", rows.join(" ")));
            }
        }
        parts.extend(self.lane.floor.map(|floor| format!("floor {floor}")));
        parts.join(" ")
    }

    fn row(&self, gap: &Gap) -> String {
        let old = if gap.generation == self.lane.generation { "" } else { "'" };
        if gap.from == gap.to { format!("{}{old}", gap.from) } else { format!("{}..{}{old}", gap.from, gap.to) }
    }

    /// The record's counts are those of the rows.
    fn assert_counted(&self) {
        let count = |kind| self.gaps.iter().filter(|gap| gap.kind == kind).count() as u64;
        let counts = self.lane.counts;
        assert_eq!(counts.open, count(GapKind::Open), "open");
        assert_eq!(counts.acknowledged, count(GapKind::Acknowledged), "acknowledged");
        assert_eq!(counts.abandoned, count(GapKind::Abandoned), "abandoned");
        assert_eq!(counts.unlisted, count(GapKind::Unlisted), "unlisted");
        assert_eq!(counts.total(), self.gaps.iter().count() as u64);
    }
}

fn check_in(mut world: World, script: &str, expect: &str) {
    let mut said = Vec::new();
    for word in script.split_whitespace() {
        said.push(world.take(word));
        world.assert_counted();
    }
    let shown = world.shown();
    let told = if shown.is_empty() { said.join(" ") } else { format!("{} | {shown}", said.join(" ")) };
    assert_eq!(told, expect, "{script}");
}

/// A lane whose numbers begin with 1 and that keeps as many gaps as there are.
fn check(script: &str, expect: &str) {
    check_in(World::new(First::Number(1), 1000), script, expect);
}

fn check_any(script: &str, expect: &str) {
    check_in(World::new(First::Any, 1000), script, expect);
}

fn check_bounded(max: u64, script: &str, expect: &str) {
    check_in(World::new(First::Number(1), max), script, expect);
}

#[test]
fn a_number_inside_an_open_gap_fills_it() {
    check("1 2 3", "ok ok ok");
    check("1 5 3", "ok gap(2..4) late | open 2 4");
    check("1 5 2", "ok gap(2..4) late | open 3..4");
    check("1 5 4", "ok gap(2..4) late | open 2..3");
    check("1 5 3 2 4", "ok gap(2..4) late late late");
    check("1 3 2", "ok gap(2..2) late");
    check("3", "gap(1..2) | open 1..2");
    check("3 6 1 5", "gap(1..2) gap(4..5) late late | open 2 4");
}

#[test]
fn a_number_in_no_gap_was_used() {
    check("1 1", "ok repeated");
    check("1 2 1", "ok ok repeated");
    check("1 5 3 3", "ok gap(2..4) late repeated | open 2 4");
    check("1 5 5 6", "ok gap(2..4) repeated ok | open 2..4");
}

#[test]
fn numbers_may_begin_with_zero() {
    let world = World::new(First::Number(0), 1000);
    check_in(world.clone(), "0 1", "ok ok");
    check_in(world.clone(), "1", "gap(0..0) | open 0");
    check_in(world, "2 0 0", "gap(0..1) late repeated | open 1");
}

#[test]
fn below_a_baseline_lies_one_unlisted_range_that_shrinks_like_a_gap() {
    check_any("5", "baseline | unlisted 0..4");
    check_any("0", "baseline");
    check_any("0 1", "baseline ok");
    check_any("5 6 8", "baseline ok gap(7..7) | open 7 unlisted 0..4");
    check_any("5 2 2", "baseline late repeated | unlisted 0..1 3..4");
    check_any("2 0 1 0", "baseline late late repeated");
}

#[test]
fn the_last_number_is_the_last() {
    let last = u64::MAX;
    check_any(&format!("{last} {last} 5"), &format!("baseline repeated late | unlisted 0..4 6..{}", last - 1));
    check(&format!("1 {last} 3"), &format!("ok gap(2..{}) late | open 2 4..{}", last - 1, last - 1));
    let lane = Lane { highest: Some(last), ..Lane::default() };
    assert_eq!(lane.expected(First::Any), None);
    assert_eq!(lane.place(&Gaps::default(), First::Any, last), Place::Repeated);
}

#[test]
fn beyond_the_bound_the_oldest_gap_is_abandoned_and_then_forgotten() {
    check_bounded(2, "2 4 6", "gap(1..1) gap(3..3) gap(5..5)-(1..1) | open 3 5 abandoned 1");
    check_bounded(2, "2 4 6 1", "gap(1..1) gap(3..3) gap(5..5)-(1..1) late | open 3 5");
    check_bounded(
        1,
        "2 4 6 8",
        "gap(1..1) gap(3..3)-(1..1) gap(5..5)-(3..3) gap(7..7)-(5..5) | open 7 abandoned 5 floor 3",
    );
    // At or below the floor nobody can tell a late number from a used one; above it one can.
    check_bounded(
        1,
        "2 4 6 8 1 2 3 4 5 7",
        "gap(1..1) gap(3..3)-(1..1) gap(5..5)-(3..3) gap(7..7)-(5..5) \
         unproven unproven unproven repeated late late | floor 3",
    );
    // The floor rises to the end of what is forgotten, not to its beginning.
    check_bounded(
        1,
        "2 4 8 10 12 6 7",
        "gap(1..1) gap(3..3)-(1..1) gap(5..7)-(3..3) gap(9..9)-(5..7) gap(11..11)-(9..9) \
         unproven unproven | open 11 abandoned 9 floor 7",
    );
    // Splitting a gap makes one more of them.
    check_bounded(1, "9 4", "gap(1..8) late-(1..3) | open 5..8 abandoned 1..3");
    check_bounded(1, "9 4 2", "gap(1..8) late-(1..3) late | open 5..8 abandoned 3 floor 1");
}

#[test]
fn an_unlisted_range_that_is_split_too_often_is_forgotten_from_below() {
    let world = World::new(First::Any, 1);
    check_in(world.clone(), "9 4", "baseline late | unlisted 5..8 floor 3");
    check_in(world, "9 4 1 4 6", "baseline late unproven repeated late | unlisted 7..8 floor 5");
}

#[test]
fn a_lower_bound_takes_effect_bit_by_bit() {
    let mut world = World::new(First::Number(1), 10);
    for number in [2, 4, 6, 8, 10] {
        world.enter(number, false);
    }
    world.max = 1;
    let words = ["12", "13", "14", "15"];
    let said: Vec<String> = words.iter().map(|word| world.take(word)).collect();
    assert_eq!(said, ["gap(11..11)-(1..1)-(3..3)", "ok-(5..5)-(7..7)", "ok-(9..9)", "ok"]);
    assert_eq!(world.shown(), "open 11 abandoned 9 floor 7");
    world.assert_counted();
}

#[test]
fn a_person_may_record_any_part_of_a_gap_as_lost() {
    check("6 !2-3", "gap(1..5) known | open 1 4..5 acknowledged 2..3");
    check("6 !1-5", "gap(1..5) known | acknowledged 1..5");
    check("6 !0-9", "gap(1..5) known | acknowledged 1..5");
    check("6 !3", "gap(1..5) known | open 1..2 4..5 acknowledged 3");
    check("3 6 !2-4", "gap(1..2) gap(4..5) known | open 1 5 acknowledged 2 4");
    check("6 !2-3 !3-4", "gap(1..5) known known | open 1 5 acknowledged 2..3 4");
    check("6 !6-9", "gap(1..5) none | open 1..5");
    check("1 2 !1-2", "ok ok none");
    check_any("5 !1-3", "baseline none | unlisted 0..4");
}

#[test]
fn an_acknowledged_number_that_comes_after_all_is_late() {
    check("6 !2-4 3", "gap(1..5) known late | open 1 5 acknowledged 2 4");
    check("6 !2-4 3 3", "gap(1..5) known late repeated | open 1 5 acknowledged 2 4");
    check_bounded(1, "2 4 !1", "gap(1..1) gap(3..3)-(1..1) known | open 3 acknowledged 1");
    check_bounded(1, "9 !2 !4", "gap(1..8) known known | open 5..8 acknowledged 4 abandoned 3 floor 2");
}

#[test]
fn a_higher_epoch_numbers_afresh_and_waits_for_nothing_of_the_old_one() {
    check("1 5 ^1 2", "ok gap(2..4) ok-(2..4) ok | abandoned 2..4'");
    check("1 5 ^3", "ok gap(2..4) gap(1..2)-(2..4) | open 1..2 abandoned 2..4'");
    check("1 5 !2-3 ^1", "ok gap(2..4) known ok-(4..4) | abandoned 2..3' 4'");
    // The old numbering's rows hold none of the new one's numbers.
    check("1 5 ^1 3 2 3", "ok gap(2..4) ok-(2..4) gap(2..2) late repeated | abandoned 2..4'");
    check_any("5 ^9", "baseline baseline | unlisted 0..8");
    check_bounded(1, "2 4 ^1", "gap(1..1) gap(3..3)-(1..1) ok-(3..3) | abandoned 3'");
    check_bounded(1, "2 4 ^1 3", "gap(1..1) gap(3..3)-(1..1) ok-(3..3) gap(2..2) | open 2 abandoned 3'");
}

#[test]
fn a_numbering_that_never_began_leaves_no_generation_behind() {
    let new = Lane::default();
    assert_eq!(new.renumbered(3, 0).generation, 0);
    let begun = Lane { highest: Some(1), events: 7, out_of_order: true, ..Lane::default() };
    let next = begun.renumbered(3, 2);
    assert_eq!((next.generation, next.epoch, next.baseline, next.highest, next.floor), (1, 3, 2, None, None));
    assert_eq!((next.events, next.out_of_order), (7, true), "everything but the numbers goes on");
}

#[test]
fn a_lanes_time_never_falls_and_never_passes_our_clock() {
    let at = Time::from_nanos;
    let mut lane = Lane::default();
    for (observed, ingested, expect) in [(5, 10, 5), (3, 11, 5), (20, 12, 12), (12, 13, 12), (14, 14, 14)] {
        lane.advance_time(at(observed), at(ingested));
        assert_eq!(lane.last_time, Some(at(expect)), "{observed} received at {ingested}");
    }
}

#[test]
fn the_rows_that_share_a_number_with_a_range_are_found() {
    fn check(from: u64, to: u64, expect: &str) {
        let mut world = World::new(First::Number(1), 1000);
        for number in [5, 9, 20] {
            world.enter(number, false);
        }
        let rows: Vec<String> = world.gaps.within(0, from, to).iter().map(|gap| world.row(gap)).collect();
        assert_eq!(rows.join(" "), expect, "{from} to {to}");
        assert!(world.gaps.within(1, from, to).is_empty(), "another numbering has none of them");
    }
    check(0, 0, "");
    check(0, 1, "1..4");
    check(4, 6, "1..4 6..8");
    check(2, 3, "1..4");
    check(5, 5, "");
    check(9, 9, "");
    check(0, u64::MAX, "1..4 6..8 10..19");
    check(8, 10, "6..8 10..19");
    check(7, 2, "");
}

#[test]
fn a_turn_asks_for_no_more_rows_than_it_can_touch() {
    let mut world = World::new(First::Number(1), 1000);
    assert_eq!(GapNeeds::of(&world.lane, &[7], false, world.max), GapNeeds::default(), "there are none");
    (1..=50).for_each(|number| _ = world.enter(number * 2, false));
    assert_eq!(GapNeeds::of(&world.lane, &[], true, world.max), GapNeeds::default(), "nothing is judged");
    let needs = GapNeeds::of(&world.lane, &[7, 30], false, world.max);
    assert_eq!(needs, GapNeeds { numbers: vec![7, 30], oldest: 0, all: false });
    assert_eq!(world.gaps.select(0, &needs).iter().map(|gap| gap.from).collect::<Vec<_>>(), [7]);
    assert!(GapNeeds::of(&world.lane, &[7], true, world.max).all, "a numbering that ends needs them all");
    assert!(GapNeeds::of(&world.lane, &[7], false, 50).oldest > 0, "at the bound the oldest may have to go");
}

/// What a lane is, without rows: every number is missing, lost, or used.
#[derive(Default)]
struct Model {
    used: BTreeSet<u64>,
    highest: Option<u64>,
}

impl Model {
    fn place(&self, first: u64, number: u64) -> &'static str {
        match self.highest {
            None if number == first => "ok",
            None => "gap",
            Some(highest) if number == highest + 1 => "ok",
            Some(highest) if number > highest => "gap",
            Some(_) if self.used.contains(&number) => "repeated",
            Some(_) => "late",
        }
    }
}

fn any_script() -> impl Strategy<Value = Vec<String>> {
    let number = prop_oneof![8 => 1u64..40, 1 => 1u64..400].prop_map(|number| number.to_string());
    let restart = (1u64..12).prop_map(|number| format!("^{number}"));
    let lost = (1u64..40, 0u64..6).prop_map(|(from, more)| format!("!{from}-{}", from + more));
    prop::collection::vec(prop_oneof![12 => number, 1 => restart, 2 => lost], 1..60)
}

proptest! {
    #[test]
    fn without_a_bound_a_number_is_used_or_missing(numbers in prop::collection::vec(1u64..60, 1..80)) {
        let mut world = World::new(First::Number(1), 1_000_000);
        let mut model = Model::default();
        for number in numbers {
            let expect = model.place(1, number);
            let said = world.enter(number, false);
            prop_assert!(said.starts_with(expect), "{}: {} and not {}", number, said, expect);
            model.used.insert(number);
            model.highest = model.highest.max(Some(number));
            let missing: Vec<u64> = world.gaps.iter().flat_map(|gap| gap.from..=gap.to).collect();
            let highest = model.highest.unwrap_or(0);
            let expect: Vec<u64> = (1..highest).filter(|number| !model.used.contains(number)).collect();
            prop_assert_eq!(missing, expect);
            world.assert_counted();
        }
    }

    /// The promise that lets a store fetch a few rows of a lane with thousands.
    #[test]
    fn the_selected_rows_give_the_same_answers_as_all_rows(
        before in any_script(),
        turn in prop::collection::vec((1u64..60, prop::bool::weighted(0.05)), 1..12),
        any_first: bool,
        max in 1u64..6,
        max_before in 1u64..12,
    ) {
        let first = if any_first { First::Any } else { First::Number(1) };
        let mut whole = World::new(first, max_before.max(max));
        before.iter().for_each(|word| _ = whole.take(word));
        whole.assert_counted();
        // A contract with a lower bound may have come in between.
        whole.max = max;
        let numbers: Vec<u64> = turn.iter().map(|(number, _)| *number).collect();
        let renumbers = turn.iter().any(|(_, renumbers)| *renumbers);
        let needs = GapNeeds::of(&whole.lane, &numbers, renumbers, max);
        let mut few = World { gaps: whole.gaps.select(whole.lane.generation, &needs), ..whole.clone() };
        let mut written = whole.gaps.clone();
        for (number, renumbers) in turn {
            let rows = few.gaps.clone();
            let (place, edited) = few.enter_with(&rows, number, renumbers);
            let rows = whole.gaps.clone();
            let (expect, expected) = whole.enter_with(&rows, number, renumbers);
            prop_assert_eq!(place, expect);
            prop_assert_eq!(&edited.changes, &expected.changes);
            prop_assert_eq!(&edited.abandoned, &expected.abandoned);
            few.gaps.apply(&edited.changes);
            whole.gaps.apply(&expected.changes);
            written.apply(&edited.changes);
            prop_assert_eq!(&few.lane, &whole.lane);
        }
        prop_assert_eq!(&written, &whole.gaps, "what is written down is what all rows would have become");
        whole.assert_counted();
    }

    /// Whatever happens, rows lie beside each other, below the highest number, and within the bound.
    #[test]
    fn rows_never_overlap_and_never_outgrow_their_bound(script in any_script(), max in 1u64..5) {
        let mut world = World::new(First::Number(1), max);
        let mut used: BTreeMap<u32, BTreeSet<u64>> = BTreeMap::new();
        for word in &script {
            world.take(word);
            if let Ok(number) = word.trim_start_matches('^').parse() {
                used.entry(world.lane.generation).or_default().insert(number);
            }
            world.assert_counted();
            let rows: Vec<Gap> = world.gaps.iter().copied().collect();
            for pair in rows.windows(2) {
                prop_assert!(pair[0].generation < pair[1].generation || pair[0].to < pair[1].from);
            }
            for gap in &rows {
                prop_assert!(gap.from <= gap.to);
                let numbers = used.get(&gap.generation).cloned().unwrap_or_default();
                prop_assert!(numbers.range(gap.from..=gap.to).next().is_none(), "a used number is not missing");
                if gap.generation == world.lane.generation {
                    prop_assert!(Some(gap.to) < world.lane.highest);
                }
            }
            let counts = world.lane.counts;
            prop_assert!(counts.open <= max && counts.abandoned <= max && counts.unlisted <= max);
        }
    }
}
