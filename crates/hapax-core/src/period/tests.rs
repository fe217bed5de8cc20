use super::*;
use crate::time;
use proptest::prelude::*;

const ALL: [Period; 5] = [Period::Hour, Period::Day, Period::Week, Period::Month, Period::None];

fn at(text: &str) -> Time {
    time::parse(text, true).expect("a time")
}

#[test]
fn a_period_is_written_as_its_beginning() {
    fn check(text: &str, expect: &str) {
        let said: Vec<String> = ALL.iter().map(|period| period.of(at(text)).to_string()).collect();
        assert_eq!(said.join(" "), expect);
    }
    check("2025-09-01T10:59:59.999999999Z", "2025-09-01T10 2025-09-01 2025-W36 2025-09 all");
    check("2024-12-30T00:00:00Z", "2024-12-30T00 2024-12-30 2025-W01 2024-12 all");
    check("2021-01-03T23:59:59Z", "2021-01-03T23 2021-01-03 2020-W53 2021-01 all");
    check("1969-12-31T23:00:00Z", "1969-12-31T23 1969-12-31 1970-W01 1969-12 all");
    check("1678-01-01T00:00:00Z", "1678-01-01T00 1678-01-01 1677-W52 1678-01 all");
    check("2261-12-31T23:59:59.999999999Z", "2261-12-31T23 2261-12-31 2262-W01 2261-12 all");
}

#[test]
fn only_the_written_form_of_the_right_kind_is_read() {
    fn check(period: Period, text: &str, expect: bool) {
        assert_eq!(period.parse(text).is_some(), expect, "{period:?} {text:?}");
    }
    check(Period::Month, "2025-09", true);
    check(Period::Month, "2025-9", false);
    check(Period::Month, "2025-13", false);
    check(Period::Month, "2025-00", false);
    check(Period::Month, "2025-09-01", false);
    check(Period::Month, "02025-09", false);
    check(Period::Month, "-025-09", false);
    check(Period::Month, "1677-12", false);
    check(Period::Month, "1678-01", true);
    check(Period::Month, "2262-01", false);
    check(Period::Month, "9999-12", false);
    check(Period::Day, "2025-02-29", false);
    check(Period::Day, "2024-02-29", true);
    check(Period::Day, "2024-02", false);
    check(Period::Hour, "2025-09-01T23", true);
    check(Period::Hour, "2025-09-01T24", false);
    check(Period::Hour, "2025-09-01t23", false);
    check(Period::Hour, "2025-09-01T23:00", false);
    check(Period::Week, "2020-W53", true);
    check(Period::Week, "2025-W53", false);
    check(Period::Week, "2025-W00", false);
    check(Period::Week, "2025-w36", false);
    check(Period::Week, "2025-W3\u{663}", false);
    check(Period::Week, "1677-W52", true);
    check(Period::Week, "1677-W51", false);
    check(Period::Week, "2262-W01", true);
    check(Period::Week, "2262-W02", false);
    check(Period::None, "all", true);
    check(Period::None, "", false);
    check(Period::Day, "all", false);
    check(Period::None, "2025-09", false);
}

#[test]
fn a_period_ends_where_the_next_begins() {
    fn check(period: Period, text: &str, start: &str, end: &str) {
        let found = period.parse(text).expect("a period");
        assert_eq!((found.start(), found.end()), (at(start), at(end)), "{text}");
    }
    check(Period::Month, "2025-02", "2025-02-01T00:00:00Z", "2025-03-01T00:00:00Z");
    check(Period::Month, "2024-12", "2024-12-01T00:00:00Z", "2025-01-01T00:00:00Z");
    check(Period::Week, "2025-W01", "2024-12-30T00:00:00Z", "2025-01-06T00:00:00Z");
    check(Period::Day, "2024-02-29", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z");
    check(Period::Hour, "2025-09-01T23", "2025-09-01T23:00:00Z", "2025-09-02T00:00:00Z");
    check(Period::None, "all", "1678-01-01T00:00:00Z", "2261-12-31T23:59:59.999999999Z");
}

#[test]
fn a_period_is_a_string_on_the_wire_and_its_kind_a_word() {
    let month = Period::Month.of(at("2025-09-01T10:00:00Z"));
    assert_eq!(serde_json::to_string(&month).ok().as_deref(), Some(r#""2025-09""#));
    assert_eq!(serde_json::from_str::<Period>(r#""none""#).ok(), Some(Period::None));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn periods_agree_with_jiff(nanos in Time::EARLIEST.nanos()..=Time::LATEST.nanos()) {
        let time = Time::from_nanos(nanos);
        let zoned = jiff::Timestamp::from_nanosecond(nanos.into()).expect("in range").to_zoned(jiff::tz::TimeZone::UTC);
        let week = zoned.date().iso_week_date();
        prop_assert_eq!(Period::Hour.of(time).to_string(), zoned.strftime("%Y-%m-%dT%H").to_string());
        prop_assert_eq!(Period::Day.of(time).to_string(), zoned.strftime("%Y-%m-%d").to_string());
        prop_assert_eq!(Period::Month.of(time).to_string(), zoned.strftime("%Y-%m").to_string());
        prop_assert_eq!(Period::Week.of(time).to_string(), format!("{}-W{:02}", week.year(), week.week()));
    }

    #[test]
    fn a_period_is_read_back_and_contains_what_it_is_of(nanos in Time::EARLIEST.nanos()..=Time::LATEST.nanos(), other in Time::EARLIEST.nanos()..=Time::LATEST.nanos()) {
        let (time, other) = (Time::from_nanos(nanos), Time::from_nanos(other));
        for period in ALL {
            let start = period.of(time);
            prop_assert_eq!(period.parse(&start.to_string()), Some(start));
            prop_assert!(start.contains(time));
            prop_assert!(start.start() <= time && time < start.end() || start.end() == Time::LATEST);
            prop_assert_eq!(start.contains(other), start.start() <= other && other < start.end() || start.end() == Time::LATEST && other >= start.start());
            prop_assert!(time > other || start <= period.of(other));
        }
    }

    #[test]
    fn any_text_is_answered(text in "\\PC*") {
        for period in ALL {
            let _ = period.parse(&text);
        }
    }
}
