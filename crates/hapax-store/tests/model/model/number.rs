//! Numbers as they are written: exact decimals, by pushing digits about.

use serde_json::Value;

/// A decimal in normal form: the digits have no zero at either end, and the value is `0.digits × 10^point`. Zero has
/// no digits. Two texts are the same number exactly if these are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Decimal {
    negative: bool,
    digits: String,
    point: i128,
}

/// The number that a text holds by JSON's grammar, with nothing around it.
pub(crate) fn decimal(text: &str) -> Option<Decimal> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) if all_digits(fraction) => (whole, fraction),
        Some(_) => return None,
        None => (mantissa, ""),
    };
    if !all_digits(whole) || (whole.len() > 1 && whole.starts_with('0')) {
        return None;
    }
    let exponent: i128 = match exponent {
        None => 0,
        Some(exponent) => {
            let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            if !all_digits(digits) {
                return None;
            }
            // An exponent too long for 128 bits is out of every range that anyone asks about.
            let size = digits.parse().unwrap_or(i128::from(i64::MAX));
            if exponent.starts_with('-') { -size } else { size }
        }
    };
    let all = format!("{whole}{fraction}");
    let stripped = all.trim_start_matches('0');
    let leading = (all.len() - stripped.len()) as i128;
    let digits = stripped.trim_end_matches('0').to_string();
    if digits.is_empty() {
        return Some(Decimal { negative: false, digits, point: 0 });
    }
    Some(Decimal { negative, digits, point: whole.len() as i128 - leading + exponent })
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A counter's amount in billionths: a number, or a string that holds one, with at most 19 digits before the point
/// and 9 after it.
pub(crate) fn amount(value: Option<&Value>) -> Option<i128> {
    let value = value?;
    let text = match value.as_str() {
        Some(text) => text.to_string(),
        None if value.is_number() => value.to_string(),
        None => return None,
    };
    let Decimal { negative, digits, point } = decimal(&text)?;
    let after = (digits.len() as i128 - point).max(0);
    if point > 19 || after > 9 {
        return None;
    }
    if digits.is_empty() {
        return Some(0);
    }
    let zeros = 9 + point - digits.len() as i128;
    let units: i128 = format!("{digits}{}", "0".repeat(usize::try_from(zeros).ok()?)).parse().ok()?;
    Some(if negative { -units } else { units })
}

/// Billionths in shortest form, as answers write them.
pub(crate) fn shortest(units: i128) -> String {
    let size = units.unsigned_abs();
    let (whole, fraction) = (size / 1_000_000_000, size % 1_000_000_000);
    let sign = if units < 0 { "-" } else { "" };
    if fraction == 0 {
        return format!("{sign}{whole}");
    }
    format!("{sign}{whole}.{}", format!("{fraction:09}").trim_end_matches('0'))
}

/// The same value, whatever the order of members and the writing of numbers.
pub(crate) fn same_value(a: &Value, b: &Value) -> bool {
    if let (Some(a), Some(b)) = (a.as_object(), b.as_object()) {
        return a.len() == b.len() && a.iter().all(|(name, value)| b.get(name).is_some_and(|b| same_value(value, b)));
    }
    if let (Some(a), Some(b)) = (a.as_array(), b.as_array()) {
        return a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_value(a, b));
    }
    if a.is_number() && b.is_number() {
        return decimal(&a.to_string()) == decimal(&b.to_string());
    }
    a == b
}
