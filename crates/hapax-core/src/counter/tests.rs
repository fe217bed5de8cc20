use super::*;
use crate::duration::Span;
use proptest::prelude::*;

fn at(seconds: i64) -> Time {
    Time::from_nanos(seconds * 1_000_000_000)
}

fn amount(text: &str) -> Amount {
    Amount::parse(text).expect("an amount")
}

fn one(ts: i64, id: &str, value: &str) -> Last {
    Last { ts: at(ts), id: Arc::from(id), amount: amount(value) }
}

/// `count sum min max last`.
fn shown(tally: &Tally) -> String {
    let or_none = |value: Option<Amount>| value.map_or("-".to_owned(), |value| value.to_string());
    let last = tally.last.as_ref().map(|last| last.amount);
    format!("{} {} {} {} {}", tally.count, tally.sum, or_none(tally.min), or_none(tally.max), or_none(last))
}

#[test]
fn an_event_is_classified_against_the_watermark_before_it() {
    fn check(watermark: Option<i64>, lateness: Bound, ts: i64, expect: Class) {
        let counter = Counter { watermark: watermark.map(at), ..Counter::default() };
        assert_eq!(counter.classify(false, lateness, at(ts)), expect, "{ts} with the watermark at {watermark:?}");
        assert_eq!(counter.classify(true, lateness, at(ts)), Class::Closed, "closed for every key");
        let closed = Counter { closed: true, ..counter };
        assert_eq!(closed.classify(false, lateness, at(ts)), Class::Closed, "closed for this key");
    }
    let ten = Bound::Within(Span::from_secs(10));
    check(None, ten, 0, Class::Folded);
    check(None, ten, -1_000_000, Class::Folded);
    check(Some(100), ten, 100, Class::Folded);
    check(Some(100), ten, 500, Class::Folded);
    check(Some(100), ten, 90, Class::Folded);
    check(Some(100), ten, 89, Class::Late);
    check(Some(100), Bound::None, -1_000_000, Class::Folded);
    check(Some(100), Bound::Within(Span::ZERO), 100, Class::Folded);
    check(Some(100), Bound::Within(Span::ZERO), 99, Class::Late);
    let counter = Counter { watermark: Some(at(100)), ..Counter::default() };
    let just_late = Time::from_nanos(at(90).nanos() - 1);
    assert_eq!(counter.classify(false, ten, just_late), Class::Late, "a nanosecond is enough");
}

#[test]
fn a_class_is_what_the_receipt_and_the_adjustment_call_it() {
    let words: Vec<_> = Class::ALL.iter().map(|class| (*class as u8, class.name(), class.short())).collect();
    // The number stands in the entry's hash.
    assert_eq!(
        words,
        [(0, "folded", "folded"), (1, "late_beyond_window", "adjustment"), (2, "period_closed", "adjustment")]
    );
}

#[test]
fn folding_adds_up_and_moves_the_watermark_and_an_adjustment_does_neither() {
    let empty = Counter::default();
    assert_eq!(shown(&empty.folded), "0 0 - - -");
    let first = empty.with(Class::Folded, &one(10, "a", "2.5"), at(12)).expect("it fits");
    assert_eq!((shown(&first.folded), first.watermark), ("1 2.5 2.5 2.5 2.5".to_owned(), Some(at(10))));
    let ahead = first.with(Class::Folded, &one(99, "b", "-1"), at(20)).expect("it fits");
    assert_eq!((shown(&ahead.folded), ahead.watermark), ("2 1.5 -1 2.5 -1".to_owned(), Some(at(20))));
    let older = ahead.with(Class::Folded, &one(15, "c", "1"), at(21)).expect("it fits");
    assert_eq!((shown(&older.folded), older.watermark), ("3 2.5 -1 2.5 -1".to_owned(), Some(at(20))));
    for class in [Class::Late, Class::Closed] {
        let late = older.with(class, &one(999, "d", "7"), at(1000)).expect("it fits");
        assert_eq!((&late.folded, late.watermark), (&older.folded, older.watermark));
        assert_eq!(shown(&late.adjusted), "1 7 7 7 7");
        assert_eq!(shown(&late.effective().expect("it fits")), "4 9.5 -1 7 7");
    }
}

#[test]
fn the_last_is_the_greatest_time_and_then_the_greatest_id() {
    let fold = |events: &[Last]| {
        let counter =
            events.iter().try_fold(Counter::default(), |counter, one| counter.with(Class::Folded, one, at(0)));
        counter.expect("it fits").folded.last.expect("one").id
    };
    assert_eq!(&*fold(&[one(1, "b", "1"), one(1, "a", "2")]), "b");
    assert_eq!(&*fold(&[one(1, "a", "2"), one(1, "b", "1")]), "b");
    assert_eq!(&*fold(&[one(2, "a", "2"), one(1, "z", "1")]), "a");
    assert_eq!(&*fold(&[one(1, "B", "1"), one(1, "a", "1"), one(1, "aa", "1")]), "aa");
}

#[test]
fn a_correction_changes_the_effective_sum_alone() {
    let counter = Counter::default().with(Class::Folded, &one(1, "a", "5"), at(1)).expect("it fits");
    let corrected =
        counter.corrected_by(amount("-2.25")).expect("it fits").corrected_by(amount("-3")).expect("it fits");
    assert_eq!(corrected.folded, counter.folded);
    assert_eq!(corrected.watermark, counter.watermark);
    assert_eq!(shown(&corrected.effective().expect("it fits")), "1 -0.25 5 5 5");
    let nothing = Counter::default().corrected_by(amount("3")).expect("it fits");
    assert_eq!(shown(&nothing.effective().expect("it fits")), "0 3 - - -");
}

#[test]
fn a_sum_that_would_not_fit_leaves_the_counter_as_it_was() {
    let near = Amount::from_scaled(10_i128.pow(38) - 1).expect("38 digits");
    let full = Counter { folded: Tally { sum: near, ..Tally::default() }, ..Counter::default() };
    let tiny = one(1, "a", "0.000000001");
    assert_eq!(full.with(Class::Folded, &tiny, at(1)), None);
    assert_eq!(full.with(Class::Late, &tiny, at(1)), None, "the effective sum must fit as well");
    assert_eq!(full.corrected_by(amount("0.000000001")), None);
    assert!(full.with(Class::Folded, &one(1, "a", "-1"), at(1)).is_some());
    assert!(full.corrected_by(amount("-1")).is_some());
}

fn any_events() -> impl Strategy<Value = Vec<(Class, i64, String, i64)>> {
    let class = prop::sample::select(Class::ALL.to_vec());
    prop::collection::vec((class, 0i64..20, "[ab]{1,2}", -1_000_000_000_000i64..1_000_000_000_000), 0..20)
}

proptest! {
    /// A rebuild may meet the entries in any order and must get the same counter.
    #[test]
    fn the_order_of_arrival_does_not_matter(events in any_events(), seed: u64) {
        let fold = |events: &[(Class, i64, String, i64)]| {
            events.iter().enumerate().try_fold(Counter::default(), |counter, (_, (class, ts, id, scaled))| {
                let amount = Amount::from_scaled(i128::from(*scaled)).expect("small");
                counter.with(*class, &Last { ts: at(*ts), id: Arc::from(id.as_str()), amount }, at(10))
            })
        };
        let mut shuffled = events.clone();
        shuffled.sort_by_key(|(class, ts, id, scaled)| {
            let text = format!("{seed}{class}{ts}{id}{scaled}");
            text.bytes().fold(seed, |hash, byte| hash.rotate_left(7).wrapping_mul(31) ^ u64::from(byte))
        });
        prop_assert_eq!(fold(&events), fold(&shuffled));
    }

    #[test]
    fn a_tally_is_what_its_amounts_add_up_to(events in any_events()) {
        let mut counter = Counter::default();
        for (class, ts, id, scaled) in &events {
            let amount = Amount::from_scaled(i128::from(*scaled)).expect("small");
            counter = counter.with(*class, &Last { ts: at(*ts), id: Arc::from(id.as_str()), amount }, at(10)).expect("it fits");
        }
        let all = counter.effective().expect("it fits");
        prop_assert_eq!(all.count, events.len() as u64);
        prop_assert_eq!(all.sum.scaled(), events.iter().map(|(.., scaled)| i128::from(*scaled)).sum::<i128>());
        prop_assert_eq!(all.min.map(Amount::scaled), events.iter().map(|(.., scaled)| i128::from(*scaled)).min());
        prop_assert_eq!(all.max.map(Amount::scaled), events.iter().map(|(.., scaled)| i128::from(*scaled)).max());
        let folded = events.iter().filter(|(class, ..)| *class == Class::Folded);
        prop_assert_eq!(counter.watermark, folded.map(|(_, ts, ..)| at(*ts).min(at(10))).max());
    }
}
