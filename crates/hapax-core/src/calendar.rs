//! Days and dates of the proleptic Gregorian calendar, as plain integer arithmetic.
//!
//! It holds for every year that an instant can fall into, with room to spare. Days are counted from 1970-01-01; what is
//! not a date (30 February) is `None` and never rolls over into the next month. Not here: times of day, zones, leap
//! seconds.

/// A day of the calendar.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Date {
    pub(crate) year: i64,
    pub(crate) month: u32,
    pub(crate) day: u32,
}

/// The days of 400 years, after which the calendar repeats itself, weekdays included.
const CYCLE: i64 = 146_097;
/// Days from 0000-03-01, where the counting below begins, to 1970-01-01.
const EPOCH: i64 = 719_468;

impl Date {
    /// `None` if the calendar has no such day.
    pub(crate) fn new(year: i64, month: u32, day: u32) -> Option<Date> {
        let longest = match month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 if is_leap(year) => 29,
            2 => 28,
            _ => return None,
        };
        (1..=longest).contains(&day).then_some(Date { year, month, day })
    }

    /// Days since 1970-01-01. A year is counted from March, so that the leap day is its last and needs no case of its
    /// own.
    pub(crate) fn days(self) -> i64 {
        let year = if self.month <= 2 { self.year - 1 } else { self.year };
        let month = i64::from((self.month + 9) % 12);
        let of_cycle = year.rem_euclid(400);
        let of_year = (153 * month + 2) / 5 + i64::from(self.day) - 1;
        year.div_euclid(400) * CYCLE + of_cycle * 365 + of_cycle / 4 - of_cycle / 100 + of_year - EPOCH
    }

    /// The date of a day counted from 1970-01-01.
    pub(crate) fn from_days(days: i64) -> Date {
        let days = days + EPOCH;
        let of_cycle = days.rem_euclid(CYCLE);
        let year = (of_cycle - of_cycle / 1_460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
        let of_year = of_cycle - (365 * year + year / 4 - year / 100);
        let from_march = (5 * of_year + 2) / 153;
        let day = of_year - (153 * from_march + 2) / 5 + 1;
        let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
        let year = year + days.div_euclid(CYCLE) * 400 + i64::from(month <= 2);
        // Both are within 1..=31 by construction, so the casts lose nothing.
        Date { year, month: month as u32, day: day as u32 }
    }
}

/// Monday is 0, as ISO weeks count. 1970-01-01 was a Thursday.
pub(crate) fn weekday(days: i64) -> i64 {
    (days + 3).rem_euclid(7)
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

#[cfg(test)]
mod tests;
