//! The periods that counters count by: UTC, half open, written as their beginning (SPEC 8).
//!
//! What holds: every instant lies in exactly one period of each kind; [`PeriodStart`] orders as time does; what is
//! written is read back, and nothing else is read. Weeks are ISO weeks (they begin on Monday and belong to the year of
//! their Thursday). Not here: zones, fiscal years, periods of the caller's own.

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use crate::calendar::{Date, weekday};
use crate::time::Time;

const HOUR: i64 = 3_600_000_000_000;

/// A kind of period.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Period {
    /// `2025-09-01T10`
    Hour,
    /// `2025-09-01`
    Day,
    /// `2025-W36`
    Week,
    /// `2025-09`
    Month,
    /// `all`: one period that never ends.
    None,
}

/// One period, named by its beginning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PeriodStart {
    period: Period,
    /// Hours since 1970: a week or month may begin before the earliest [`Time`], and is still a period.
    hour: i64,
}

impl Period {
    /// The period of this kind in which an instant lies.
    pub fn of(self, time: Time) -> PeriodStart {
        let hour = time.nanos().div_euclid(HOUR);
        let days = hour.div_euclid(24);
        let hour = match self {
            Period::Hour => hour,
            Period::Day => days * 24,
            Period::Week => (days - weekday(days)) * 24,
            Period::Month => Date { day: 1, ..Date::from_days(days) }.days() * 24,
            Period::None => 0,
        };
        PeriodStart { period: self, hour }
    }

    /// Reads a period of this kind exactly as it is written; `None` if it is anything else, or if no [`Time`] lies in
    /// it.
    pub fn parse(self, text: &str) -> Option<PeriodStart> {
        let hour = match (self, text.as_bytes()) {
            (Period::None, b"all") => 0,
            (Period::Month, [year @ .., b'-', m0, m1]) => day(year, &[*m0, *m1], b"01")? * 24,
            (Period::Day, [year @ .., b'-', m0, m1, b'-', d0, d1]) => day(year, &[*m0, *m1], &[*d0, *d1])? * 24,
            (Period::Hour, [year @ .., b'-', m0, m1, b'-', d0, d1, b'T', h0, h1]) => {
                let hour = number(&[*h0, *h1], 2).filter(|hour| *hour < 24)?;
                day(year, &[*m0, *m1], &[*d0, *d1])? * 24 + hour
            }
            (Period::Week, [year @ .., b'-', b'W', w0, w1]) => week(number(year, 4)?, number(&[*w0, *w1], 2)?)? * 24,
            (Period::None | Period::Month | Period::Day | Period::Hour | Period::Week, _) => return None,
        };
        let start = PeriodStart { period: self, hour };
        let reached = i128_hour(hour) <= i128::from(Time::LATEST.nanos())
            && start.next_hour().is_none_or(|next| i128_hour(next) > i128::from(Time::EARLIEST.nanos()));
        reached.then_some(start)
    }
}

impl PeriodStart {
    /// Its kind.
    pub fn period(self) -> Period {
        self.period
    }

    /// Whether an instant lies in it.
    pub fn contains(self, time: Time) -> bool {
        self.period.of(time) == self
    }

    /// Its first instant, or [`Time::EARLIEST`] if it begins before that.
    pub fn start(self) -> Time {
        match self.period {
            Period::None => Time::EARLIEST,
            Period::Hour | Period::Day | Period::Week | Period::Month => at(self.hour),
        }
    }

    /// The first instant after it, or [`Time::LATEST`] if it reaches that far; then only [`PeriodStart::contains`] is
    /// exact.
    pub fn end(self) -> Time {
        self.next_hour().map_or(Time::LATEST, at)
    }

    fn next_hour(self) -> Option<i64> {
        match self.period {
            Period::Hour => Some(self.hour + 1),
            Period::Day => Some(self.hour + 24),
            Period::Week => Some(self.hour + 7 * 24),
            Period::Month => {
                // The 32nd day counted from the first lies in the next month, whatever the length of this one.
                let next = Date::from_days(self.hour.div_euclid(24) + 31);
                Some(Date { day: 1, ..next }.days() * 24)
            }
            Period::None => None,
        }
    }
}

fn at(hour: i64) -> Time {
    Time::from_nanos(hour.saturating_mul(HOUR))
}

fn i128_hour(hour: i64) -> i128 {
    i128::from(hour) * i128::from(HOUR)
}

/// The day that such digits name, counted from 1970.
fn day(year: &[u8], month: &[u8], day: &[u8]) -> Option<i64> {
    let (month, day) = (u32::try_from(number(month, 2)?).ok()?, u32::try_from(number(day, 2)?).ok()?);
    Date::new(number(year, 4)?, month, day).map(Date::days)
}

/// The Monday of an ISO week, if the year has that week.
fn week(year: i64, week: i64) -> Option<i64> {
    // 4 January always lies in week 1.
    let fourth = Date::new(year, 1, 4)?.days();
    let monday = fourth - weekday(fourth) + (week - 1) * 7;
    (week >= 1 && iso_year(monday) == year).then_some(monday)
}

/// The year that a week belongs to, given its Monday: that of its Thursday.
fn iso_year(monday: i64) -> i64 {
    Date::from_days(monday + 3).year
}

fn number(digits: &[u8], width: usize) -> Option<i64> {
    (digits.len() == width && digits.iter().all(u8::is_ascii_digit))
        .then(|| digits.iter().fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0')))
}

impl fmt::Display for PeriodStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = self.hour.div_euclid(24);
        let Date { year, month, day } = Date::from_days(days);
        match self.period {
            Period::Hour => write!(f, "{year:04}-{month:02}-{day:02}T{:02}", self.hour.rem_euclid(24)),
            Period::Day => write!(f, "{year:04}-{month:02}-{day:02}"),
            Period::Week => {
                let year = iso_year(days);
                // The Thursday's place in its year counts the weeks, because each week has exactly one.
                let first = Date { year, month: 1, day: 1 }.days();
                write!(f, "{year:04}-W{:02}", (days + 3 - first) / 7 + 1)
            }
            Period::Month => write!(f, "{year:04}-{month:02}"),
            Period::None => f.write_str("all"),
        }
    }
}

impl Serialize for PeriodStart {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests;
