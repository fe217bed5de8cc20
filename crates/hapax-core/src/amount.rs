//! Exact decimal amounts: what a counter adds up.
//!
//! What holds: an [`Amount`] is an integer number of billionths with fewer than 39 digits in all; reading and adding
//! are exact or fail, never rounded; equal values are equal whatever their spelling (`1e2`, `100.0`). Not here:
//! division, rounding, binary floating point, units.

use std::fmt;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Digits after the point.
const PLACES: i64 = 9;
const UNIT: u128 = 1_000_000_000;
/// Digits before the point of what an event may carry.
const WHOLE_DIGITS: i64 = 19;
/// Digits before the point of a sum: 38 in all, which is what 128 bits hold without a case for the odd ones beyond.
const SUM_WHOLE_DIGITS: i64 = 29;
const LIMIT: i128 = 10i128.pow(38);

/// A decimal number, exact to nine places.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Amount(i128);

/// Why a text is not an amount.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AmountFault {
    /// Not a number as JSON writes it.
    Malformed,
    /// Too many digits before the point, once written without exponent.
    TooLarge,
    /// Too many digits after the point, once written without exponent and without zeros at the end.
    TooFine,
}

impl Amount {
    /// Nothing.
    pub const ZERO: Amount = Amount(0);

    /// From billionths; `None` if they have more than 38 digits.
    pub fn from_scaled(scaled: i128) -> Option<Amount> {
        (scaled > -LIMIT && scaled < LIMIT).then_some(Amount(scaled))
    }

    /// In billionths.
    pub const fn scaled(self) -> i128 {
        self.0
    }

    /// Reads a JSON number, exponent included, of at most 19 digits before and 9 after the point.
    pub fn parse(text: &str) -> Result<Amount, AmountFault> {
        read(text, WHOLE_DIGITS)
    }

    /// `None` if the sum would have more than 38 digits.
    pub fn checked_add(self, other: Amount) -> Option<Amount> {
        self.0.checked_add(other.0).and_then(Amount::from_scaled)
    }
}

/// Reads a number whose value has at most `whole_max` digits before the point. Zeros that do not matter are dropped
/// before anything is counted, and at most 38 digits are ever added up, so a text of a megabyte costs one pass over it.
fn read(text: &str, whole_max: i64) -> Result<Amount, AmountFault> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, rest) = split_digits(unsigned);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("0", rest),
    };
    let exponent = exponent(rest).ok_or(AmountFault::Malformed)?;
    if whole.is_empty() || fraction.is_empty() || (whole.len() > 1 && whole.starts_with('0')) {
        return Err(AmountFault::Malformed);
    }
    // The value is 0.d₁d₂… × 10^before, where `digits` are d₁, d₂, … without zeros at either end.
    let all = || whole.bytes().chain(fraction.bytes());
    let leading = all().take_while(|digit| *digit == b'0').count();
    let trailing = all().rev().take_while(|digit| *digit == b'0').count();
    let total = whole.len() + fraction.len();
    if leading == total {
        return Ok(Amount::ZERO);
    }
    let count = count(total - leading - trailing);
    let before = count_signed(whole.len(), leading).saturating_add(exponent);
    let after = count.saturating_sub(before);
    if before > whole_max {
        return Err(AmountFault::TooLarge);
    }
    if after > PLACES {
        return Err(AmountFault::TooFine);
    }
    let digits = all().skip(leading).take(total - leading - trailing);
    let value = digits.fold(0i128, |sum, digit| sum * 10 + i128::from(digit - b'0'));
    // `after` is at most nine, and `before` at most 29, so the power is at most 38 less the digits already there.
    let power = u32::try_from(PLACES - after).map_err(|_| AmountFault::TooFine)?;
    let scaled = value * 10i128.pow(power);
    Ok(Amount(if negative { -scaled } else { scaled }))
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

/// A text is never so long that its length is not an `i64`.
fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

fn count_signed(plus: usize, minus: usize) -> i64 {
    count(plus).saturating_sub(count(minus))
}

/// The exponent, 0 if there is none, `None` if what is there is not one. Beyond any that could matter it stays where it
/// is: half of the range, so that the length of a text can still be added to it.
fn exponent(text: &str) -> Option<i64> {
    let Some(rest) = text.strip_prefix(['e', 'E']) else { return text.is_empty().then_some(0) };
    let (sign, digits) = match rest.strip_prefix(['+', '-']) {
        Some(digits) => (if rest.starts_with('-') { -1 } else { 1 }, digits),
        None => (1, rest),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let size = digits
        .bytes()
        .fold(0i64, |sum, byte| sum.saturating_mul(10).saturating_add(i64::from(byte - b'0')).min(i64::MAX / 2));
    Some(sign * size)
}

/// Shortest form: no exponent, no zeros at the end, no `-0`.
impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = self.0.unsigned_abs();
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{}", size / UNIT)?;
        let (mut fraction, mut width) = (size % UNIT, 9);
        if fraction != 0 {
            while fraction.is_multiple_of(10) {
                fraction /= 10;
                width -= 1;
            }
            write!(f, ".{fraction:0width$}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for AmountFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AmountFault::Malformed => "an amount is a number as JSON writes it",
            AmountFault::TooLarge => "an amount has at most 19 digits before the point",
            AmountFault::TooFine => "an amount has at most 9 digits after the point",
        })
    }
}

impl std::error::Error for AmountFault {}

/// A decimal string: a JSON number would pass through binary floating point in half of all readers.
impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// From the string that is written; a sum may have more digits than an event's amount.
impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Amount, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        read(&text, SUM_WHOLE_DIGITS).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
