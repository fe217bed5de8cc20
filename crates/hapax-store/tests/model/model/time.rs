//! RFC 3339 as section 3.2 wants it, and the periods of section 8.

use jiff::{Timestamp, civil, tz::TimeZone};

use super::rules::Period;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    At(i64),
    /// With the instant, where the text has one.
    NotUtc(Option<i64>),
    Unparsable,
}

pub(crate) fn read(text: &str, utc_only: bool) -> Reading {
    let Some((instant, zone)) = parse(text.as_bytes()) else {
        return Reading::Unparsable;
    };
    // 1678 to 2261, the whole years that 64 bits of nanoseconds hold.
    let (Ok(ns), Ok(timestamp)) = (i64::try_from(instant), Timestamp::from_nanosecond(instant)) else {
        return Reading::Unparsable;
    };
    let year = timestamp.to_zoned(TimeZone::UTC).year();
    if !(1678..=2261).contains(&year) {
        return Reading::Unparsable;
    }
    match zone {
        Zone::Utc => Reading::At(ns),
        Zone::Other if !utc_only => Reading::At(ns),
        Zone::Other => Reading::NotUtc(Some(ns)),
        Zone::Unknown => Reading::NotUtc(None),
    }
}

enum Zone {
    Utc,
    Other,
    /// No offset, or `-00:00`: the text does not say where it was written.
    Unknown,
}

fn parse(text: &[u8]) -> Option<(i128, Zone)> {
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = text.get(from..to)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        std::str::from_utf8(digits).ok()?.parse().ok()
    };
    let separator = |at: usize, allowed: &[u8]| text.get(at).is_some_and(|byte| allowed.contains(byte));
    if !(separator(4, b"-") && separator(7, b"-") && separator(10, b"Tt") && separator(13, b":") && separator(16, b":"))
    {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let date = civil::Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    let midnight = date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond();

    let mut at = 19;
    let mut fraction: i64 = 0;
    if separator(at, b".") {
        let digits = text[at + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || digits > 9 {
            return None;
        }
        fraction = number(at + 1, at + 1 + digits)? * 10_i64.pow(9 - digits as u32);
        at += 1 + digits;
    }
    let rest = &text[at..];
    let (zone, offset_minutes) = if rest.is_empty() {
        (Zone::Unknown, 0)
    } else if rest == b"Z" || rest == b"z" || rest == b"+00:00" {
        (Zone::Utc, 0)
    } else if rest == b"-00:00" {
        (Zone::Unknown, 0)
    } else if rest.len() == 6 && (rest[0] == b'+' || rest[0] == b'-') && rest[3] == b':' {
        let (hours, minutes) = (number(at + 1, at + 3)?, number(at + 4, at + 6)?);
        if hours > 23 || minutes > 59 {
            return None;
        }
        let minutes = hours * 60 + minutes;
        (Zone::Other, if rest[0] == b'+' { minutes } else { -minutes })
    } else {
        return None;
    };
    let seconds = i128::from(hour * 3600 + minute * 60 + second - offset_minutes * 60);
    Some((midnight + seconds * 1_000_000_000 + i128::from(fraction), zone))
}

/// A period is written as its beginning.
pub(crate) fn period_of(ns: i64, period: Period) -> String {
    let at =
        Timestamp::from_nanosecond(i128::from(ns)).expect("64 bits of nanoseconds are a time").to_zoned(TimeZone::UTC);
    match period {
        Period::Month => format!("{:04}-{:02}", at.year(), at.month()),
        Period::Day => format!("{:04}-{:02}-{:02}", at.year(), at.month(), at.day()),
        Period::None => "all".to_string(),
    }
}
