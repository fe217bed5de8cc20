use super::*;
use num_bigint::BigInt;
use proptest::prelude::*;

fn check(text: &str, expect: &str) {
    let said = match Amount::parse(text) {
        Ok(amount) => amount.to_string(),
        Err(AmountFault::Malformed) => "malformed".to_owned(),
        Err(AmountFault::TooLarge) => "too large".to_owned(),
        Err(AmountFault::TooFine) => "too fine".to_owned(),
    };
    assert_eq!(said, expect, "{text:?}");
}

#[test]
fn an_amount_is_its_value_and_not_its_spelling() {
    check("5", "5");
    check("-5", "-5");
    check("1.0", "1");
    check("100", "100");
    check("1e2", "100");
    check("1E+2", "100");
    check("12.50e-1", "1.25");
    check("0.1", "0.1");
    check("-0", "0");
    check("-0.0e5", "0");
    check("0e99999999999999999999999", "0");
    check("0.000000001", "0.000000001");
    check("10e-10", "0.000000001");
    check("1.0000000000000000000000000", "1");
    check("10000000000000000000000000000000000000000e-30", "10000000000");
    check("0.00000000000000000000000000000012e30", "0.12");
    check("-9999999999999999999.999999999", "-9999999999999999999.999999999");
}

#[test]
fn too_many_digits_are_refused_and_never_rounded() {
    check("10000000000000000000", "too large");
    check("1e18", "1000000000000000000");
    check("1e19", "too large");
    check("1e9223372036854775807", "too large");
    check("1e99999999999999999999999999", "too large");
    check("0.0000000001", "too fine");
    check("1e-10", "too fine");
    check("1.0000000001", "too fine");
    check("1e-99999999999999999999999999", "too fine");
}

#[test]
fn only_what_json_calls_a_number_is_one() {
    for text in [
        "", "-", "+1", ".5", "5.", "01", "-01", "00", "1e", "1e+", "1e1.5", "0x10", "1_000", "1,5", " 1", "1 ", "NaN",
        "Infinity", "٣", "--1", "1-", "1e--1",
    ] {
        check(text, "malformed");
    }
}

#[test]
fn a_sum_has_at_most_38_digits() {
    let most = Amount::from_scaled(LIMIT - 1).expect("38 digits");
    let least = Amount::from_scaled(1).expect("one billionth");
    assert_eq!(most.checked_add(least), None);
    assert_eq!(most.checked_add(most), None);
    assert_eq!(most.checked_add(Amount::ZERO), Some(most));
    assert_eq!(Amount::from_scaled(LIMIT), None);
    assert_eq!(Amount::from_scaled(-LIMIT), None);
    assert_eq!(Amount::from_scaled(i128::MIN), None);
    assert_eq!(most.to_string(), "99999999999999999999999999999.999999999");
}

#[test]
fn an_amount_is_a_string_on_the_wire() {
    let most = Amount::from_scaled(1 - LIMIT).expect("38 digits");
    let wire = serde_json::to_string(&most).expect("a string");
    assert_eq!(wire, r#""-99999999999999999999999999999.999999999""#);
    assert_eq!(serde_json::from_str::<Amount>(&wire).ok(), Some(most));
    assert!(serde_json::from_str::<Amount>(r#""100000000000000000000000000000""#).is_err());
}

/// The value of a JSON number as (integer, power of ten), by big integers.
fn big(negative: bool, whole: &str, fraction: &str, exponent: i32) -> (BigInt, i32) {
    let digits: BigInt = format!("{whole}{fraction}").parse().expect("digits");
    (if negative { -digits } else { digits }, exponent - fraction.len() as i32)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn reading_agrees_with_big_integers(negative: bool, whole in "0|[1-9][0-9]{0,24}", fraction in "[0-9]{1,14}(0{0,5})", exponent in -30i32..30) {
        let text = format!("{}{whole}.{fraction}e{exponent}", if negative { "-" } else { "" });
        let (digits, power) = big(negative, &whole, &fraction, exponent);
        let ten = BigInt::from(10);
        // Everything is scaled by 10^80, where all cases are integers.
        let value = digits * ten.pow((power + 80) as u32);
        let fine = &value % ten.pow(71) == BigInt::ZERO;
        let small = value.magnitude() < ten.pow(99).magnitude();
        match Amount::parse(&text) {
            Ok(amount) => {
                prop_assert!(fine && small);
                prop_assert_eq!(BigInt::from(amount.scaled()) * ten.pow(71), value);
            }
            Err(AmountFault::TooLarge) => prop_assert!(!small),
            Err(AmountFault::TooFine) => prop_assert!(!fine),
            Err(AmountFault::Malformed) => prop_assert!(false, "{} is a JSON number", text),
        }
    }

    #[test]
    fn what_is_written_is_read_back(scaled in -(LIMIT - 1)..LIMIT, coarse in 0u32..38) {
        let step = 10i128.pow(coarse);
        let amount = Amount::from_scaled(scaled / step * step).expect("38 digits");
        prop_assert_eq!(read(&amount.to_string(), SUM_WHOLE_DIGITS), Ok(amount));
        prop_assert!(!amount.to_string().starts_with("-0") || amount.to_string().starts_with("-0."));
    }

    #[test]
    fn adding_agrees_with_big_integers(a in -(LIMIT - 1)..LIMIT, b in -(LIMIT - 1)..LIMIT) {
        let (left, right) = (Amount::from_scaled(a).expect("38"), Amount::from_scaled(b).expect("38"));
        let sum = BigInt::from(a) + BigInt::from(b);
        match left.checked_add(right) {
            Some(amount) => prop_assert_eq!(BigInt::from(amount.scaled()), sum),
            None => prop_assert!(sum.magnitude() >= BigInt::from(LIMIT).magnitude()),
        }
    }

    #[test]
    fn a_text_is_an_amount_only_if_serde_json_calls_it_a_number(text in "-?[0-9]{0,3}[.]?[0-9]{0,3}[eE]?[+-]?[0-9]{0,2}") {
        let number = serde_json::from_str::<&serde_json::value::RawValue>(&text).is_ok();
        prop_assert_eq!(Amount::parse(&text) != Err(AmountFault::Malformed), number, "{}", text);
    }

    #[test]
    fn any_text_is_answered(text in "\\PC*") {
        let _ = Amount::parse(&text);
    }
}
