//! Times and decimals as the specification writes them, read by hand.

/// Nanoseconds since 1970 of `2026-01-15T10:00:00.5Z`.
pub(super) fn instant(text: &str) -> Option<i64> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
    let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
    let rest = text.get(19..)?.strip_suffix('Z')?;
    let nanos = match rest.strip_prefix('.') {
        Some(digits) => format!("{digits:0<9}").parse::<i64>().ok()?,
        None if rest.is_empty() => 0,
        None => return None,
    };
    // Days from the civil calendar: March is the first month, so that leap days come last.
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some(((days * 24 + hour) * 60 + minute) * 60_000_000_000 + second * 1_000_000_000 + nanos)
}

/// A decimal as a whole number of billionths: `1.25`, `125e-2`, `-3`.
pub(super) fn billionths(text: &str) -> Option<i128> {
    let (text, exponent) = match text.split_once(['e', 'E']) {
        Some((text, exponent)) => (text, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all: i128 = format!("{whole}{fraction}").parse().ok()?;
    let shift = 9 - i32::try_from(fraction.len()).ok()? + exponent;
    let power = 10_i128.checked_pow(shift.unsigned_abs())?;
    let value = if shift >= 0 { all.checked_mul(power)? } else { all / power };
    Some(sign * value)
}

/// The period that a time is in, as it is written.
pub(crate) fn period(kind: &str, time: &str) -> String {
    let length = match kind {
        "month" => 7,
        "day" => 10,
        "hour" => 13,
        _ => return "all".to_owned(),
    };
    time.get(..length).unwrap_or(time).to_owned()
}

#[cfg(test)]
mod tests {
    use super::{billionths, instant, period};

    #[test]
    fn times_and_decimals_are_read_as_written() {
        assert_eq!(instant("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(instant("2026-01-15T10:00:00.5Z"), Some(1_768_471_200_500_000_000));
        assert_eq!(instant("2024-02-29T23:59:59.000000001Z"), Some(1_709_251_199_000_000_001));
        assert_eq!(billionths("1.25"), billionths("125e-2"));
        assert_eq!(billionths("1.250"), Some(1_250_000_000));
        assert_eq!(billionths("-0.5"), Some(-500_000_000));
        assert_eq!(period("month", "2026-01-15T10:00:00Z"), "2026-01");
        assert_eq!(period("none", "2026-01-15T10:00:00Z"), "all");
    }
}
