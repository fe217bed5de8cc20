//! Numbers against a slow implementation: integers over a common power of ten.

use std::cmp::Ordering;
use std::hash::{BuildHasher, RandomState};

use num_bigint::{BigInt, Sign};
use proptest::prelude::*;

use super::Number;

fn number(text: &str) -> Number {
    Number::parse(text).unwrap_or_else(|| panic!("{text} is a number"))
}

fn check(text: &str, expect: &str) {
    let found = Number::parse(text).map_or("none".to_owned(), |number| number.to_string());
    assert_eq!(found, expect, "{text}");
}

#[test]
fn equal_values_have_one_form() {
    check("1.0", "1");
    check("-0", "0");
    check("-0.000e5", "0");
    check("0e99999999999999999", "0");
    check("1e2", "100");
    check("1.50E-3", "0.0015");
    check("-12.340", "-12.34");
    check("9007199254740993", "9007199254740993");
    check("0.1000000000000000055", "0.1000000000000000055");
    assert_ne!(number("9007199254740993"), number("9007199254740992"));
}

#[test]
fn long_forms_take_an_exponent() {
    check("1e99", &format!("1{}", "0".repeat(99)));
    check("1e100", "1e100");
    check("-1.25e1000000000", "-1.25e1000000000");
    check("1e-98", &format!("0.{}1", "0".repeat(97)));
    check("1e-99", "1e-99");
    check("123e2147483647", "1.23e2147483649");
    check("1.23e2147483649", "1.23e2147483649");
}

#[test]
fn what_is_no_json_number_is_none() {
    for text in
        ["", "-", "+1", "01", "-01", "1.", ".5", "1e", "1e+", "1e+-2", " 1", "1 ", "0x1", "1_0", "NaN", "1.e1", "١"]
    {
        check(text, "none");
    }
    check("1e9999999999999999999999", "none");
}

#[test]
fn halves_round_to_the_even_neighbour() {
    for (text, places, expect) in [
        ("0.5", 0, "0"),
        ("1.5", 0, "2"),
        ("2.5", 0, "2"),
        ("-2.5", 0, "-2"),
        ("2.51", 0, "3"),
        ("2.4999", 0, "2"),
        ("0.05", 0, "0"),
        ("0.9", 0, "1"),
        ("99.995", 2, "100"),
        ("99.985", 2, "99.98"),
        ("0.005", 2, "0"),
        ("0.0051", 2, "0.01"),
        ("12", 5, "12"),
        ("1e1000000000", 2, "1e1000000000"),
        ("-1e-1000000000", 2, "0"),
        ("7e-1", 4_294_967_295, "0.7"),
    ] {
        assert_eq!(number(text).round_half_even(places).to_string(), expect, "{text} to {places}");
    }
}

#[test]
fn exponents_are_never_written_out() {
    let (huge, tiny) = (number("1e2147483647"), number("-1e-2147483648"));
    assert!(huge > tiny && tiny < number("0") && huge > number("2e2147483646"));
    assert_eq!(huge.times(&huge), number("1e4294967294"));
    assert_eq!(huge.times(&tiny), number("-0.1"));
}

/// The slow number: an integer, and how many of its digits stand behind the point.
#[derive(Debug, Clone)]
struct Slow(BigInt, u32);

impl Slow {
    fn of(text: &str) -> Slow {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent = exponent.parse::<i64>().expect("small") - fraction.len() as i64;
        let integer: BigInt = format!("{whole}{fraction}").parse().expect("digits");
        if exponent >= 0 { Slow(integer * ten(exponent as u32), 0) } else { Slow(integer, (-exponent) as u32) }
    }

    fn cmp(&self, other: &Slow) -> Ordering {
        (&self.0 * ten(other.1)).cmp(&(&other.0 * ten(self.1)))
    }

    fn rounded(&self, places: u32) -> Slow {
        if self.1 <= places {
            return self.clone();
        }
        let unit = ten(self.1 - places);
        let (mut quotient, rest) = (self.0.magnitude() / unit.magnitude(), self.0.magnitude() % unit.magnitude());
        let twice = rest * 2_u32;
        if &twice > unit.magnitude() || (&twice == unit.magnitude() && quotient.bit(0)) {
            quotient += 1_u32;
        }
        let sign = if self.0.sign() == Sign::Minus { -1 } else { 1 };
        Slow(BigInt::from(quotient) * sign, places)
    }
}

fn ten(power: u32) -> BigInt {
    BigInt::from(10).pow(power)
}

fn any_number() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,2})?",
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,30})?",
        "-?[0-2](\\.(0|5|49|50|51|9){1,4})?",
        "-?[1-9]9{0,25}(\\.9{1,25})?(e-?[0-9])?",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn comparing_agrees_with_integers(left in any_number(), right in any_number()) {
        let (a, b) = (number(&left), number(&right));
        let expect = Slow::of(&left).cmp(&Slow::of(&right));
        prop_assert_eq!(a.cmp(&b), expect);
        prop_assert_eq!(a == b, expect == Ordering::Equal);
        if a == b {
            let state = RandomState::new();
            prop_assert_eq!(state.hash_one(&a), state.hash_one(&b));
        }
    }

    #[test]
    fn rounding_agrees_with_integers(text in any_number(), places in 0_u32..6) {
        let found = number(&text).round_half_even(places).to_string();
        prop_assert_eq!(Slow::of(&found).cmp(&Slow::of(&text).rounded(places)), Ordering::Equal, "{}", found);
    }

    #[test]
    fn multiplying_agrees_with_integers(left in any_number(), right in any_number()) {
        let found = number(&left).times(&number(&right)).to_string();
        let (a, b) = (Slow::of(&left), Slow::of(&right));
        prop_assert_eq!(Slow::of(&found).cmp(&Slow(a.0 * b.0, a.1 + b.1)), Ordering::Equal, "{}", found);
    }

    #[test]
    fn a_number_survives_writing_and_reading(text in any_number(), exponent in -3_000_000_000_i64..3_000_000_000) {
        let plain = number(&text);
        prop_assert_eq!(Number::parse(&plain.to_string()), Some(plain.clone()));
        let moved = plain.times(&number(&format!("1e{exponent}")));
        prop_assert_eq!(Number::parse(&moved.to_string()), Some(moved));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[-+0-9.eE]{0,8}") {
        let is_json = crate::json::parse(text.as_bytes()).is_ok();
        prop_assert!(!is_json || Number::parse(&text).is_some(), "the parser takes what cannot be read");
        let is_number = serde_json::from_str::<Box<serde_json::value::RawValue>>(&text).is_ok();
        prop_assert_eq!(Number::parse(&text).is_some(), is_number);
    }
}
