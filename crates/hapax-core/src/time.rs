//! Instants, and the strict RFC 3339 reader and writer for them.
//!
//! What holds: a [`Time`] lies between the beginning of 1678 and the end of 2261, so whatever is written can be read
//! back, and arithmetic stops at these ends instead of wrapping. Reading accepts what SPEC 3.2 lists and nothing else:
//! the readers of the usual libraries each let something through that two systems would then understand differently
//! (`+00`, `:60`, any separator). Not here: a clock (time enters the core as data), zones, leap seconds.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::calendar::Date;
use crate::duration::Span;
use crate::out::PAIRS;

const SECOND: i64 = 1_000_000_000;
const DAY_SECONDS: i64 = 86_400;

/// An instant: nanoseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

/// Why a text is not a time that the ledger takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeFault {
    /// It is not RFC 3339, or names an instant that does not exist or is out of range.
    Malformed(&'static str),
    /// It is well formed, but does not say that it is UTC.
    NotUtc(&'static str),
}

impl Time {
    /// 1678-01-01T00:00:00Z: the first whole year that 64 bits of nanoseconds reach.
    pub const EARLIEST: Time = Time(-9_214_560_000 * SECOND);
    /// 2261-12-31T23:59:59.999999999Z: the end of the last whole year.
    pub const LATEST: Time = Time(9_214_646_400 * SECOND - 1);

    /// An instant beyond either end becomes that end.
    pub const fn from_nanos(nanos: i64) -> Time {
        if nanos < Time::EARLIEST.0 {
            Time::EARLIEST
        } else if nanos > Time::LATEST.0 {
            Time::LATEST
        } else {
            Time(nanos)
        }
    }

    /// Nanoseconds since 1970.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// How long after `earlier` this is, in nanoseconds; negative if it is before it. 128 bits, because the two ends
    /// are further apart than 64 bits reach.
    pub fn since(self, earlier: Time) -> i128 {
        i128::from(self.0) - i128::from(earlier.0)
    }

    /// Stops at [`Time::LATEST`].
    pub fn plus(self, span: Span) -> Time {
        Time::from_nanos(self.0.saturating_add(span.nanos()))
    }

    /// Stops at [`Time::EARLIEST`].
    pub fn minus(self, span: Span) -> Time {
        Time::from_nanos(self.0.saturating_sub(span.nanos()))
    }
}

/// Reads a time. With `utc_only` an offset other than zero is [`TimeFault::NotUtc`]; `-00:00` (RFC 3339: the offset is
/// unknown) and a missing offset always are. A text that is also malformed is called malformed.
pub fn parse(text: &str, utc_only: bool) -> Result<Time, TimeFault> {
    use TimeFault::{Malformed, NotUtc};
    let Some((head, tail)) = text.as_bytes().split_first_chunk::<19>() else {
        return Err(Malformed("a time is written like 2025-09-01T10:00:00Z"));
    };
    let [y0, y1, y2, y3, b'-', m0, m1, b'-', d0, d1, b'T' | b't', h0, h1, b':', i0, i1, b':', s0, s1] = *head else {
        return Err(Malformed("a time is written like 2025-09-01T10:00:00Z"));
    };
    let numbers = [two(y0, y1), two(y2, y3), two(m0, m1), two(d0, d1), two(h0, h1), two(i0, i1), two(s0, s1)];
    let [Some(century), Some(year), Some(month), Some(day), Some(hour), Some(minute), Some(second)] = numbers else {
        return Err(Malformed("a date and a time of day consist of the digits 0 to 9"));
    };
    let Some(date) = Date::new(i64::from(century * 100 + year), month, day) else {
        return Err(Malformed("the calendar has no such day"));
    };
    if hour > 23 || minute > 59 {
        return Err(Malformed("the hour is 00 to 23 and the minute 00 to 59"));
    }
    if second > 59 {
        return Err(Malformed("the second is 00 to 59; leap seconds are not taken"));
    }
    let (fraction, tail) = fraction(tail)?;
    // The offset in minutes, and why the text does not count as UTC, if so.
    let (offset, not_utc) = match *tail {
        [b'Z' | b'z'] => (0, None),
        [] => (0, Some(NotUtc("a local time has no offset; write Z for UTC"))),
        [sign @ (b'+' | b'-'), h0, h1, b':', m0, m1] => {
            let (Some(hours @ 0..=23), Some(minutes @ 0..=59)) = (two(h0, h1), two(m0, m1)) else {
                return Err(Malformed("an offset is at most 23:59"));
            };
            match (sign, i64::from(hours * 60 + minutes)) {
                (b'+', 0) => (0, None),
                (_, 0) => (0, Some(NotUtc("-00:00 says that the offset is unknown; write Z for UTC"))),
                (b'+', ahead) => (ahead, utc_only.then_some(NotUtc("the offset is not zero; write the time in UTC"))),
                (_, behind) => (-behind, utc_only.then_some(NotUtc("the offset is not zero; write the time in UTC"))),
            }
        }
        _ => return Err(Malformed("after the seconds comes Z or an offset like +00:00, and nothing else")),
    };
    let seconds = date.days() * DAY_SECONDS + i64::from(hour * 3_600 + minute * 60 + second) - offset * 60;
    // A four-digit year may lie far beyond what 64 bits of nanoseconds hold. Both ends are whole seconds.
    if !(Time::EARLIEST.0 / SECOND..=Time::LATEST.0 / SECOND).contains(&seconds) {
        return Err(Malformed("a time lies between 1678 and 2261"));
    }
    match not_utc {
        Some(fault) => Err(fault),
        None => Ok(Time(seconds * SECOND + i64::from(fraction))),
    }
}

/// Reads a time with any offset; `None` where [`parse`] says why.
pub fn parse_any(text: &str) -> Option<Time> {
    parse(text, false).ok()
}

fn two(tens: u8, ones: u8) -> Option<u32> {
    let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
    (tens <= 9 && ones <= 9).then_some(u32::from(tens) * 10 + u32::from(ones))
}

/// The nanoseconds of a fraction, if there is one, and what comes after it.
fn fraction(tail: &[u8]) -> Result<(u32, &[u8]), TimeFault> {
    let Some((b'.', digits)) = tail.split_first() else { return Ok((0, tail)) };
    let (mut count, mut value) = (0, 0_u32);
    // At most nine digits are a value; one more is enough to be refused.
    while let Some(digit @ b'0'..=b'9') = digits.get(count)
        && count < 10
    {
        value = value.wrapping_mul(10).wrapping_add(u32::from(digit - b'0'));
        count += 1;
    }
    // Between one and nine digits the place is there.
    const SCALES: [u32; 9] = [100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1];
    match SCALES.get(count.wrapping_sub(1)) {
        Some(scale) => Ok((value * scale, &digits[count..])),
        None if count == 0 => Err(TimeFault::Malformed("a point is followed by digits")),
        None => Err(TimeFault::Malformed("a fraction has at most nine digits")),
    }
}

/// RFC 3339 in UTC, shortest form: no fraction if it is zero, otherwise no zeros at its end.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.written(&mut [0; WRITTEN_MAX]))
    }
}

/// `2025-09-01T10:00:00.123456789Z`
pub(crate) const WRITTEN_MAX: usize = 30;

impl Time {
    /// Writes digit by digit: each receipt has a time, and the machinery of formats costs ten times as much.
    pub(crate) fn written<'b>(&self, buffer: &'b mut [u8; WRITTEN_MAX]) -> &'b str {
        let seconds = self.0.div_euclid(SECOND);
        let Date { year, month, day } = Date::from_days(seconds.div_euclid(DAY_SECONDS));
        let clock = seconds.rem_euclid(DAY_SECONDS);
        let nanos = self.0.rem_euclid(SECOND);
        buffer.copy_from_slice(b"0000-00-00T00:00:00.000000000Z");
        let day = [(0, year / 100), (2, year % 100), (5, i64::from(month)), (8, i64::from(day))];
        let clock = [(11, clock / 3_600), (14, clock / 60 % 60), (17, clock % 60)];
        let fraction = [(20, nanos / 10_000_000), (22, nanos / 100_000), (24, nanos / 1_000), (26, nanos / 10)];
        for (place, value) in day.into_iter().chain(clock).chain(fraction) {
            // Years have four digits, and so each of these has two.
            buffer[place..place + 2].copy_from_slice(&PAIRS[(value % 100) as usize]);
        }
        buffer[28] = b'0' + (nanos % 10) as u8;
        let mut end = WRITTEN_MAX - 1;
        while buffer[end - 1] == b'0' && end > 20 {
            end -= 1;
        }
        if end == 20 {
            end = 19;
        }
        buffer[end] = b'Z';
        str::from_utf8(&buffer[..=end]).unwrap_or_default()
    }
}

/// The written form: a failing test that shows nanoseconds since 1970 helps nobody.
impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl TimeFault {
    /// The sentence for people.
    pub fn why(self) -> &'static str {
        match self {
            TimeFault::Malformed(why) | TimeFault::NotUtc(why) => why,
        }
    }
}

impl fmt::Display for TimeFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.why())
    }
}

impl std::error::Error for TimeFault {}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.written(&mut [0; WRITTEN_MAX]))
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Time, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        parse(&text, true).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
