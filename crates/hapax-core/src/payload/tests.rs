//! Payloads against tables, and against the slow model.

use proptest::prelude::*;

use super::{Decimals, PayloadRules, Units, same};
use crate::json::parse;
use crate::number::Number;
use crate::pointer::Pointer;

pub(crate) mod model;

/// Rules as words: `include /a /b | exclude /c | decimals /w 2 | units /w /u kg lb=0.45359237`.
pub(crate) fn rules(words: &str) -> PayloadRules {
    let pointer = |text: &str| Pointer::parse(text.trim_matches('"')).expect("a pointer");
    let mut rules = PayloadRules::default();
    for rule in words.split('|').map(str::trim).filter(|rule| !rule.is_empty()) {
        let words: Vec<&str> = rule.split_whitespace().collect();
        let rest = &words[1..];
        match words[0] {
            "include" => rules.include.extend(rest.iter().copied().map(pointer)),
            "exclude" => rules.exclude.extend(rest.iter().copied().map(pointer)),
            "lowercase" => rules.lowercase.extend(rest.iter().copied().map(pointer)),
            "utc" => rules.utc.extend(rest.iter().copied().map(pointer)),
            "decimals" => {
                rules.decimals.push(Decimals { field: pointer(rest[0]), places: rest[1].parse().expect("places") });
            }
            "units" => {
                let factor = |word: &&str| {
                    let (unit, factor) = word.split_once('=').expect("unit=factor");
                    (unit.to_owned(), Number::parse(factor).expect("a factor"))
                };
                let factors = rest[3..].iter().map(factor).collect();
                rules.units.push(Units {
                    field: pointer(rest[0]),
                    unit: pointer(rest[1]),
                    to: rest[2].to_owned(),
                    factors,
                });
            }
            other => panic!("no rule is called {other}"),
        }
    }
    rules
}

fn check(words: &str, original: &str, submitted: &str, expect: bool) {
    let (original, submitted) =
        (parse(original.as_bytes()).expect("valid"), parse(submitted.as_bytes()).expect("valid"));
    let context = format!("{words}: {} {}", original.text(), submitted.text());
    assert_eq!(same(&rules(words), &original, &submitted), expect, "{context}");
    assert_eq!(same(&rules(words), &submitted, &original), expect, "{context}, turned round");
}

#[test]
fn without_rules_the_whole_document_counts_but_not_its_writing() {
    check("", r#"{"a":1,"b":"x"}"#, r#"{ "b":"\u0078", "a":1.0 }"#, true);
    check("", r#"{"a":0.1}"#, r#"{"a":0.1000000000000000055}"#, false);
    check("", r#"{"a":9007199254740993}"#, r#"{"a":9007199254740992}"#, false);
    check("", r#"{"a":null}"#, "{}", false);
    check("", r#"{"a":5}"#, r#"{"a":"5"}"#, false);
    check("", "[1,2]", "[2,1]", false);
    check("", r#"{"a":1e1000000000}"#, r#"{"a":10e999999999}"#, true);
    check("", "{}", "[]", false);
}

#[test]
fn include_compares_values_and_absences() {
    check("include /a", r#"{"a":1,"b":2}"#, r#"{"b":3,"a":1}"#, true);
    check("include /a", r#"{"b":2}"#, r#"{}"#, true);
    check("include /a", r#"{"a":null}"#, "{}", false);
    check("include /a/b /a", r#"{"a":{"b":1,"c":1}}"#, r#"{"a":{"b":1,"c":2}}"#, false);
    check("include /a/b /a | decimals /a/b 0", r#"{"a":{"b":1.1}}"#, r#"{"a":{"b":1.2}}"#, true);
    check("include /a/b /ab", r#"{"a":{"b":1,"c":1}}"#, r#"{"a":{"b":1}}"#, true);
    check("include /a/b", r#"{"a":{}}"#, r#"{"a":5}"#, true);
}

#[test]
fn exclude_takes_members_items_and_whole_parts_away() {
    check("exclude /t /a/r", r#"{"t":1,"a":{"r":1,"x":1}}"#, r#"{"a":{"x":1}}"#, true);
    check("exclude /a/0", r#"{"a":[1,2]}"#, r#"{"a":[9,2]}"#, true);
    check("exclude /a/0 /a/1", r#"{"a":[1,2,3]}"#, r#"{"a":[8,9,3]}"#, true);
    check("exclude /a/0 /a/1", r#"{"a":[1,2,3]}"#, r#"{"a":[8,9,4]}"#, false);
    check("exclude /a/1", r#"{"a":[1]}"#, r#"{"a":[1,2]}"#, true);
    check("include /a/b /c | exclude /a", r#"{"a":{"b":1},"c":1}"#, r#"{"c":1}"#, true);
    check("include /a | exclude /a/b", r#"{"a":{"b":1}}"#, r#"{"a":{}}"#, true);
    check("exclude \"\"", r#"{"a":1}"#, "[2]", true);
}

#[test]
fn units_compare_as_converted_and_unknown_ones_as_they_stand() {
    let words = "units /w /u kg lb=0.45359237 g=0.001";
    check(words, r#"{"w":1,"u":"kg"}"#, r#"{"w":1000,"u":"g"}"#, true);
    check(words, r#"{"w":0.45359237,"u":"kg"}"#, r#"{"w":1,"u":"lb"}"#, true);
    check(words, r#"{"w":1,"u":"kg"}"#, r#"{"w":1,"u":"stone"}"#, false);
    check(words, r#"{"w":"1000","u":"g"}"#, r#"{"w":"1","u":"kg"}"#, false);
    check(words, r#"{"w":1000,"u":"G"}"#, r#"{"w":1,"u":"kg"}"#, false);
    check("units /w /u kg g=0.001 | exclude /u", r#"{"w":1,"u":"kg"}"#, r#"{"w":1000,"u":"g"}"#, false);
    check("units /w /u kg kg=2 g=0.001", r#"{"w":1,"u":"kg"}"#, r#"{"w":1000,"u":"g"}"#, true);
    check("units /w /u kg lb=0.45359237 | decimals /w 2", r#"{"w":0.45,"u":"kg"}"#, r#"{"w":1,"u":"lb"}"#, true);
}

#[test]
fn decimals_round_numbers_and_nothing_else() {
    check("decimals /w 2", r#"{"w":1.005}"#, r#"{"w":1.00}"#, true);
    check("decimals /w 2", r#"{"w":1.015}"#, r#"{"w":1.02}"#, true);
    check("decimals /w 2", r#"{"w":"1.005"}"#, r#"{"w":"1.00"}"#, false);
}

#[test]
fn times_compare_as_instants_if_they_are_times() {
    check("utc /t", r#"{"t":"2026-01-01T00:00:00Z"}"#, r#"{"t":"2026-01-01T01:00:00+01:00"}"#, true);
    check("", r#"{"t":"2026-01-01T00:00:00Z"}"#, r#"{"t":"2026-01-01T01:00:00+01:00"}"#, false);
    check("utc /t", r#"{"t":"yesterday"}"#, r#"{"t":"Yesterday"}"#, false);
    check("utc /t | lowercase /t", r#"{"t":"yesterday"}"#, r#"{"t":"Yesterday"}"#, true);
}

#[test]
fn case_is_folded_letter_by_letter() {
    check("lowercase /s", r#"{"s":"ÄbC"}"#, r#"{"s":"äBc"}"#, true);
    check("lowercase /s", r#"{"s":"ΟΣ"}"#, r#"{"s":"οσ"}"#, true);
    check("lowercase /s", r#"{"s":["A"]}"#, r#"{"s":["a"]}"#, false);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6_000))]

    #[test]
    fn sameness_agrees_with_the_slow_model((rules, original, submitted) in model::any_case(), style in any::<[u64; 2]>()) {
        let expect = model::slow_payload(&rules, &original) == model::slow_payload(&rules, &submitted);
        let [mut left, mut right] = style;
        let (original, submitted) = (model::written(&original, &mut left), model::written(&submitted, &mut right));
        let documents = (parse(original.as_bytes()).expect("valid"), parse(submitted.as_bytes()).expect("valid"));
        prop_assert_eq!(same(&rules, &documents.0, &documents.1), expect, "{} {}", original, submitted);
    }
}
