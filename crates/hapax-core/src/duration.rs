//! Lengths of time as a contract writes them: an integer and `ms`, `s`, `m`, `h` or `d`, or `none` / `forever`.
//!
//! What holds: a [`Span`] is never negative, is a whole number of milliseconds and at most 106751 days (what 64 bits of
//! nanoseconds hold), so every one can be written in the form it is read from. Not here: calendar lengths (months
//! differ).

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const MILLI: i64 = 1_000_000;
/// The units, largest first: the order in which writing tries them.
const UNITS: [(&str, i64); 5] =
    [("d", 86_400_000 * MILLI), ("h", 3_600_000 * MILLI), ("m", 60_000 * MILLI), ("s", 1_000 * MILLI), ("ms", MILLI)];

/// A length of time in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Span(i64);

/// A limit on a length of time, or none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Bound {
    /// Written `none` or, of things that are kept, `forever`.
    None,
    /// Up to and including this.
    Within(Span),
}

/// Why a text is not a length of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SpanFault {
    /// Not an integer and a unit.
    Malformed,
    /// More than [`Span::MAX`].
    TooLong,
}

impl Span {
    /// 106751 days, about 292 years.
    pub const MAX: Span = Span(106_751 * 86_400_000 * MILLI);
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// Stops at [`Span::MAX`].
    pub const fn from_millis(millis: u64) -> Span {
        if millis >= (Span::MAX.0 / MILLI) as u64 { Span::MAX } else { Span(millis as i64 * MILLI) }
    }

    /// Stops at [`Span::MAX`].
    pub const fn from_secs(secs: u64) -> Span {
        Span::from_millis(secs.saturating_mul(1_000))
    }

    /// Nanoseconds, a multiple of a million.
    pub const fn nanos(self) -> i64 {
        self.0
    }

    /// Whole milliseconds.
    pub const fn millis(self) -> u64 {
        (self.0 / MILLI) as u64
    }

    /// Reads `<integer><unit>`: no sign, no space, no fraction.
    pub fn parse(text: &str) -> Result<Span, SpanFault> {
        let end = text.bytes().take_while(u8::is_ascii_digit).count();
        let (digits, unit) = text.split_at(end);
        let known = UNITS.iter().find(|(name, _)| *name == unit);
        let (false, Some((_, nanos))) = (digits.is_empty(), known) else { return Err(SpanFault::Malformed) };
        // Only digits are left, so reading fails for no other reason than their number.
        let count: i64 = digits.parse().map_err(|_| SpanFault::TooLong)?;
        count.checked_mul(*nanos).filter(|total| *total <= Span::MAX.0).map(Span).ok_or(SpanFault::TooLong)
    }
}

impl Bound {
    /// Reads a [`Span`], `none` or `forever`.
    pub fn parse(text: &str) -> Result<Bound, SpanFault> {
        match text {
            "none" | "forever" => Ok(Bound::None),
            _ => Span::parse(text).map(Bound::Within),
        }
    }

    /// Whether a length in nanoseconds stays within the bound; equal does.
    pub fn holds(self, nanos: i128) -> bool {
        match self {
            Bound::None => true,
            Bound::Within(span) => nanos <= i128::from(span.nanos()),
        }
    }

    /// As a `keep` is written: what is kept without end is kept for ever, not for none.
    pub fn as_keep(self) -> String {
        match self {
            Bound::None => "forever".to_owned(),
            Bound::Within(span) => span.to_string(),
        }
    }

    /// The bound's length, if it has one.
    pub fn span(self) -> Option<Span> {
        match self {
            Bound::None => None,
            Bound::Within(span) => Some(span),
        }
    }
}

/// A signed number of nanoseconds in words, for explanations: `1.5s behind`, `300s ahead`, `0s`.
pub fn offset_in_words(nanos: i128) -> String {
    let side = match nanos.cmp(&0) {
        std::cmp::Ordering::Less => " behind",
        std::cmp::Ordering::Equal => "",
        std::cmp::Ordering::Greater => " ahead",
    };
    let (seconds, rest) = (nanos.unsigned_abs() / 1_000_000_000, nanos.unsigned_abs() % 1_000_000_000);
    if rest == 0 {
        return format!("{seconds}s{side}");
    }
    let fraction = format!("{rest:09}");
    format!("{seconds}.{}s{side}", fraction.trim_end_matches('0'))
}

/// In the largest unit that is exact.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let exact = UNITS.iter().find(|(_, nanos)| self.0 % nanos == 0);
        // A span is whole milliseconds, so the last unit always fits.
        let (unit, nanos) = exact.unwrap_or(&UNITS[4]);
        write!(f, "{}{unit}", self.0 / nanos)
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::None => f.write_str("none"),
            Bound::Within(span) => fmt::Display::fmt(span, f),
        }
    }
}

impl fmt::Display for SpanFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SpanFault::Malformed => "a duration is an integer and ms, s, m, h or d, like 900s, without sign or space",
            SpanFault::TooLong => "a duration is at most 106751d",
        })
    }
}

impl std::error::Error for SpanFault {}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for Bound {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)
            .map_err(|_| D::Error::custom("a duration is a text such as \"30s\""))?;
        Span::parse(&text).map_err(D::Error::custom)
    }
}

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Bound, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Bound::parse(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
