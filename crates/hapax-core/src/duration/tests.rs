use super::*;
use proptest::prelude::*;

fn check(text: &str, expect: &str) {
    let said = match Bound::parse(text) {
        Ok(bound) => bound.to_string(),
        Err(SpanFault::Malformed) => "malformed".to_owned(),
        Err(SpanFault::TooLong) => "too long".to_owned(),
    };
    assert_eq!(said, expect, "{text:?}");
}

#[test]
fn a_span_is_written_in_the_largest_exact_unit() {
    check("900s", "15m");
    check("901s", "901s");
    check("24h", "1d");
    check("48h", "2d");
    check("1500ms", "1500ms");
    check("60000ms", "1m");
    check("0d", "0s");
    check("007s", "7s");
    check("none", "none");
    check("forever", "none");
}

#[test]
fn nothing_but_an_integer_and_a_unit_is_a_span() {
    for text in [
        "", "5", "s", "-5s", "+5s", "5 s", " 5s", "5s ", "1.5h", "1e3s", "5S", "5us", "5ns", "5w", "1h30m", "٣s",
        "None",
    ] {
        check(text, "malformed");
    }
}

#[test]
fn a_span_that_is_too_long_is_told_so() {
    check("106751d", "106751d");
    check("106752d", "too long");
    check("2562024h", "106751d");
    check("2562025h", "too long");
    check("9223372036854775807d", "too long");
    check("99999999999999999999999999ms", "too long");
    assert_eq!(SpanFault::TooLong.to_string(), "a duration is at most 106751d");
}

#[test]
fn equal_to_a_bound_is_within_it() {
    let second = Bound::Within(Span::from_secs(1));
    assert!(second.holds(1_000_000_000));
    assert!(!second.holds(1_000_000_001));
    assert!(second.holds(-1));
    assert!(Bound::None.holds(i128::MAX));
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(millis in 0..=Span::MAX.millis(), coarse in prop::sample::select(vec![1u64, 1_000, 60_000, 3_600_000, 86_400_000])) {
        let span = Span::from_millis(millis / coarse * coarse);
        prop_assert_eq!(Span::parse(&span.to_string()), Ok(span));
        prop_assert_eq!(Span::from_millis(span.millis()), span);
    }

    #[test]
    fn any_text_is_answered(text in "\\PC*") {
        let _ = Bound::parse(&text);
    }
}
