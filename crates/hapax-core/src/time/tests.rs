use super::*;
use proptest::prelude::*;

fn check(text: &str, expect: &str) {
    let said = |utc_only| match parse(text, utc_only) {
        Ok(time) => time.to_string(),
        Err(TimeFault::Malformed(_)) => "malformed".to_owned(),
        Err(TimeFault::NotUtc(_)) => "not utc".to_owned(),
    };
    let (strict, lenient) = (said(true), said(false));
    let both = if strict == lenient { strict } else { format!("{strict} | {lenient}") };
    assert_eq!(both, expect, "{text:?}");
}

#[test]
fn utc_is_z_or_zero_and_the_shortest_form_comes_back() {
    check("2025-09-01T10:00:00Z", "2025-09-01T10:00:00Z");
    check("2025-09-01t10:00:00z", "2025-09-01T10:00:00Z");
    check("2025-09-01T10:00:00+00:00", "2025-09-01T10:00:00Z");
    check("2025-09-01T10:00:00.0Z", "2025-09-01T10:00:00Z");
    check("2025-09-01T10:00:00.120Z", "2025-09-01T10:00:00.12Z");
    check("2025-09-01T10:00:00.000000001Z", "2025-09-01T10:00:00.000000001Z");
    check("1969-12-31T23:59:59.5Z", "1969-12-31T23:59:59.5Z");
    check("2024-02-29T23:59:59Z", "2024-02-29T23:59:59Z");
}

#[test]
fn another_offset_is_an_instant_only_where_the_contract_takes_it() {
    check("2025-09-01T10:00:00+02:00", "not utc | 2025-09-01T08:00:00Z");
    check("2025-09-01T00:00:00-23:59", "not utc | 2025-09-01T23:59:00Z");
    check("2025-01-01T00:30:00+01:00", "not utc | 2024-12-31T23:30:00Z");
    check("2025-09-01T10:00:00+00:01", "not utc | 2025-09-01T09:59:00Z");
}

#[test]
fn an_unknown_offset_is_never_utc() {
    check("2025-09-01T10:00:00-00:00", "not utc");
    check("2025-09-01T10:00:00", "not utc");
    check("2025-09-01T10:00:00.123", "not utc");
}

#[test]
fn what_no_instant_answers_to_is_malformed() {
    for text in [
        "",
        "2025-09-01",
        "2025-09-01T10:00Z",
        "2025-09-01 10:00:00Z",
        "2025-09-01_10:00:00Z",
        "2025-09-01T24:00:00Z",
        "2025-09-01T10:60:00Z",
        "2025-06-30T23:59:60Z",
        "2025-02-30T10:00:00Z",
        "2025-02-29T10:00:00Z",
        "2025-00-01T10:00:00Z",
        "2025-01-00T10:00:00Z",
        "2025-13-01T10:00:00Z",
        "2025-9-01T10:00:00Z",
        "+2025-09-01T10:00:00Z",
        "02025-09-01T10:00:00Z",
        "2025-09-01T10:00:00.Z",
        "2025-09-01T10:00:00.",
        "2025-09-01T10:00:00,5Z",
        "2025-09-01T10:00:00.1234567890Z",
        "2025-09-01T10:00:00+00",
        "2025-09-01T10:00:00+0000",
        "2025-09-01T10:00:00+00:0",
        "2025-09-01T10:00:00+24:00",
        "2025-09-01T10:00:00+23:60",
        "2025-09-01T10:00:00\u{2212}01:00",
        "2025-09-01T10:00:00ZZ",
        "2025-09-01T10:00:00Z ",
        " 2025-09-01T10:00:00Z",
        "2025-09-01T10:00:00Z\0",
        "2025-09-01T10:00:00Z[UTC]",
        "2025-09-01T10:00:00 Z",
        "２025-09-01T10:00:00Z",
        "2025-09-01T10:00:0\u{663}Z",
        "20250901T100000Z",
        "2025-W36-1T10:00:00Z",
        "2025-244T10:00:00Z",
        "-001-09-01T10:00:00Z",
    ] {
        check(text, "malformed");
    }
}

#[test]
fn malformed_wins_over_not_utc() {
    check("2025-02-30T10:00:00", "malformed");
    check("2025-02-30T10:00:00-00:00", "malformed");
    check("2025-09-01T24:00:00+02:00", "malformed");
    check("1677-12-31T23:59:59", "malformed");
}

#[test]
fn the_range_is_of_instants_and_whole_years() {
    check("1678-01-01T00:00:00Z", "1678-01-01T00:00:00Z");
    check("1677-12-31T23:59:59.999999999Z", "malformed");
    check("2261-12-31T23:59:59.999999999Z", "2261-12-31T23:59:59.999999999Z");
    check("2262-01-01T00:00:00Z", "malformed");
    check("1677-12-31T23:30:00-01:00", "not utc | 1678-01-01T00:30:00Z");
    check("1678-01-01T00:30:00+01:00", "malformed");
    check("2262-01-01T00:30:00+01:00", "not utc | 2261-12-31T23:30:00Z");
    check("0000-01-01T00:00:00Z", "malformed");
    check("9999-12-31T23:59:59Z", "malformed");
    assert_eq!(parse("1678-01-01T00:00:00Z", true), Ok(Time::EARLIEST));
    assert_eq!(parse("2261-12-31T23:59:59.999999999Z", true), Ok(Time::LATEST));
}

#[test]
fn arithmetic_stops_at_the_ends() {
    assert_eq!(Time::LATEST.plus(Span::MAX), Time::LATEST);
    assert_eq!(Time::EARLIEST.minus(Span::MAX), Time::EARLIEST);
    assert_eq!(Time::from_nanos(i64::MAX), Time::LATEST);
    assert_eq!(Time::from_nanos(i64::MIN), Time::EARLIEST);
    assert_eq!(Time::from_nanos(5).since(Time::from_nanos(8)), -3);
    assert_eq!(Time::LATEST.since(Time::EARLIEST), 18_429_206_399_999_999_999);
    assert_eq!(Time::from_nanos(0).plus(Span::from_millis(1)).nanos(), 1_000_000);
}

#[test]
fn a_time_is_a_string_on_the_wire() {
    let time = parse("2025-09-01T10:00:00.5Z", true).expect("well formed");
    let wire = serde_json::to_string(&time).expect("a string");
    assert_eq!(wire, r#""2025-09-01T10:00:00.5Z""#);
    assert_eq!(serde_json::from_str::<Time>(&wire).ok(), Some(time));
    assert!(serde_json::from_str::<Time>(r#""2025-09-01T10:00:00""#).is_err());
}

/// The grammar of SPEC 3.2 written a second time, in another style: `9` stands for a digit, `T`, `Z` and `+` for what
/// may stand in their places. Whether the digits name an instant is then for jiff to say.
fn grammar(text: &str) -> bool {
    let Some((head, rest)) = text.split_at_checked(19) else { return false };
    let fits = |text: &str, pattern: &str| {
        text.chars().count() == pattern.len()
            && text.chars().zip(pattern.chars()).all(|(c, p)| match p {
                '9' => c.is_ascii_digit(),
                'T' => matches!(c, 'T' | 't'),
                'Z' => matches!(c, 'Z' | 'z'),
                '+' => matches!(c, '+' | '-'),
                _ => c == p,
            })
    };
    let zone = rest.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit());
    let fraction = &rest[..rest.len() - zone.len()];
    fits(head, "9999-99-99T99:99:99")
        && (fraction.is_empty() || (1..=9).any(|digits| fits(fraction, &format!(".{}", "9".repeat(digits)))))
        && (fits(zone, "Z") || (fits(zone, "+99:99") && &zone[1..3] <= "23" && &zone[4..] <= "59"))
        && &head[11..13] <= "23"
        && &head[17..] <= "59"
}

fn independent(text: &str) -> Option<i64> {
    let years = -9_214_560_000_000_000_000..=9_214_646_399_999_999_999;
    if !grammar(text) || text.ends_with("-00:00") {
        return None;
    }
    let nanos = text.to_uppercase().parse::<jiff::Timestamp>().ok()?.as_nanosecond();
    years.contains(&nanos).then_some(nanos as i64)
}

fn chrono_says(text: &str) -> Option<i64> {
    chrono::DateTime::parse_from_rfc3339(text).ok()?.timestamp_nanos_opt()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn what_is_written_is_read_back(nanos in Time::EARLIEST.nanos()..=Time::LATEST.nanos(), coarse in 0u32..10) {
        let step = 10i64.pow(coarse);
        let time = Time::from_nanos(nanos / step * step);
        let text = time.to_string();
        prop_assert_eq!(parse(&text, true), Ok(time));
        prop_assert_eq!(text, jiff::Timestamp::from_nanosecond(time.nanos().into()).expect("in range").to_string());
    }

    #[test]
    fn nearly_well_formed_texts_agree_with_jiff_behind_a_grammar(
        text in "(1[67]|20|22)[0-9]{2}-[01][0-9]-[0-3][0-9][Tt ][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\\.[0-9]{0,10})?(Z|z|[+-][0-2][0-9]:?[0-6]?[0-9]|)"
    ) {
        prop_assert_eq!(parse_any(&text).map(Time::nanos), independent(&text), "{}", text);
    }

    #[test]
    fn well_formed_texts_agree_with_chrono(
        text in "(1[789]|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|z|[+-](0[1-9]|1[0-9]|2[0-3]):[0-5][0-9])"
    ) {
        prop_assert_eq!(parse_any(&text).map(Time::nanos), chrono_says(&text), "{}", text);
    }

    #[test]
    fn one_changed_character_never_changes_more_than_jiff_agrees_to(
        nanos in Time::EARLIEST.nanos()..=Time::LATEST.nanos(), at in 0usize..30, with in any::<char>()
    ) {
        let mut text: Vec<char> = Time::from_nanos(nanos).to_string().chars().collect();
        let at = at % text.len();
        text[at] = with;
        let text: String = text.into_iter().collect();
        prop_assert_eq!(parse_any(&text).map(Time::nanos), independent(&text), "{}", text);
    }

    #[test]
    fn any_text_is_answered(text in "\\PC*", utc_only: bool) {
        let _ = parse(&text, utc_only);
    }
}
