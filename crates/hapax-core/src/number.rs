//! Numbers as they were meant: exact decimals of any size.
//!
//! A number is a sign, digits and a power of ten, always in the same form (no zeros at either end of the digits, zero
//! is positive), so equal values are equal structs and hash alike: `1.0` is `1`, `-0` is `0`, `1e2` is `100`. Nothing is
//! ever written out by its exponent: `1e1000000000` costs one digit.
//!
//! Not here: division, addition, floats. Counters have their own fixed-scale amounts.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use serde::{Deserialize, Serialize};

mod product;

#[cfg(test)]
mod tests;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Number {
    negative: bool,
    /// ASCII digits, without zeros at either end; none at all for zero.
    digits: String,
    /// The value is the digits, read as an integer, times ten to this.
    exponent: i64,
}

/// Written exponents beyond this are no numbers here. It is far above the parser's own limit, so that whatever
/// [`Number`] prints it also reads, and far enough below `i64` that no product of two can overflow.
const EXPONENT_MAX: i64 = 1 << 60;

/// The longest form that is written without an exponent.
const PLAIN_CHARS_MAX: i64 = 100;

impl Number {
    /// Reads the grammar of JSON numbers and nothing more.
    pub fn parse(text: &str) -> Option<Number> {
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = match rest.find(['e', 'E']) {
            Some(at) => (&rest[..at], rest[at + 1..].parse::<i64>().ok()?),
            None => (rest, 0),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) if is_digits(fraction) => (whole, fraction),
            Some(_) => return None,
            None => (mantissa, ""),
        };
        let has_leading_zero = whole.len() > 1 && whole.starts_with('0');
        if !is_digits(whole) || has_leading_zero || !(-EXPONENT_MAX..=EXPONENT_MAX).contains(&exponent) {
            return None;
        }
        // Most numbers are integers, and they need no second copy.
        let digits = if fraction.is_empty() { Cow::Borrowed(whole) } else { Cow::Owned([whole, fraction].concat()) };
        Some(Number::normal(negative, &digits, exponent - fraction.len() as i64))
    }

    fn normal(negative: bool, digits: &str, exponent: i64) -> Number {
        let significant = digits.trim_end_matches('0');
        let exponent = exponent.saturating_add((digits.len() - significant.len()) as i64);
        let significant = significant.trim_start_matches('0');
        if significant.is_empty() {
            return Number::default();
        }
        Number { negative, digits: significant.to_owned(), exponent }
    }

    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The nearest number with at most so many digits after the point; of two equally near ones, the even one.
    pub fn round_half_even(&self, places: u32) -> Number {
        let unit = -i64::from(places);
        if self.exponent >= unit {
            return self.clone();
        }
        let kept = self.point() - unit;
        if kept < 0 {
            // Below a tenth of the unit, so below its half.
            return Number::default();
        }
        let (head, tail) = self.digits.split_at(kept as usize);
        let is_odd = head.bytes().last().is_some_and(|digit| digit % 2 == 1);
        // No zeros end the digits, so whatever follows a five makes it more than half.
        let is_up = match tail.cmp("5") {
            Ordering::Less => false,
            Ordering::Equal => is_odd,
            Ordering::Greater => true,
        };
        let rounded = if is_up { one_more(head) } else { head.to_owned() };
        Number::normal(self.negative, &rounded, unit)
    }

    /// The exact product. Its cost is the product of the two lengths, so one of them should be short.
    pub fn times(&self, other: &Number) -> Number {
        if self.is_zero() || other.is_zero() {
            return Number::default();
        }
        let digits = product::of(&self.digits, &other.digits);
        // Saturation would take more factors than anyone multiplies; see `EXPONENT_MAX`.
        Number::normal(self.negative != other.negative, &digits, self.exponent.saturating_add(other.exponent))
    }

    /// Where the point stands: the value is 0.digits times ten to this.
    fn point(&self) -> i64 {
        self.exponent.saturating_add(self.digits.len() as i64)
    }

    fn magnitude(&self, other: &Number) -> Ordering {
        match (self.is_zero(), other.is_zero()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (false, false) => self.point().cmp(&other.point()).then_with(|| self.digits.cmp(&other.digits)),
        }
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The integer after this one, in digits; an empty text is zero.
fn one_more(digits: &str) -> String {
    let kept = digits.trim_end_matches('9');
    let zeros = digits.len() - kept.len();
    let mut out = String::with_capacity(digits.len() + 1);
    match kept.as_bytes().split_last() {
        Some((last, before)) => {
            out.push_str(&kept[..before.len()]);
            out.push(char::from(last + 1));
        }
        None => out.push('1'),
    }
    out.extend(std::iter::repeat_n('0', zeros));
    out
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.magnitude(other),
            (true, true) => other.magnitude(self),
        }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// One form per value: plain up to a hundred characters, beyond that one digit, the point, the rest and an exponent.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        let (length, point) = (self.digits.len() as i64, self.point());
        if self.negative {
            f.write_str("-")?;
        }
        let chars = if point <= 0 {
            length.saturating_sub(point).saturating_add(2)
        } else if point < length {
            length + 1
        } else {
            point
        };
        if chars > PLAIN_CHARS_MAX {
            let (first, rest) = self.digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            return write!(f, "{first}{dot}{rest}e{}", point - 1);
        }
        if point <= 0 {
            write!(f, "0.{}{}", "0".repeat(-point as usize), self.digits)
        } else if point < length {
            write!(f, "{}.{}", &self.digits[..point as usize], &self.digits[point as usize..])
        } else {
            write!(f, "{}{}", self.digits, "0".repeat((point - length) as usize))
        }
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Number {
        Number::normal(false, &value.to_string(), 0)
    }
}

/// The error of reading a number from a contract's string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotANumber;

impl fmt::Display for NotANumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a decimal number")
    }
}

impl std::error::Error for NotANumber {}

impl TryFrom<String> for Number {
    type Error = NotANumber;

    fn try_from(text: String) -> Result<Number, NotANumber> {
        Number::parse(&text).ok_or(NotANumber)
    }
}

impl From<Number> for String {
    fn from(number: Number) -> String {
        number.to_string()
    }
}
