//! Patches: shown in tables, and applied by another implementation.

use proptest::prelude::*;

use super::diff;
use crate::json::parse;
use crate::payload::tests::{model, rules};
use crate::payload::{PayloadRules, same};

/// Applies a patch with the json-patch crate. Its numbers are floats, which the tests' few digits survive.
fn applied(original: &str, patch: &str) -> Result<String, String> {
    let mut document: serde_json::Value = serde_json::from_str(original).map_err(|error| error.to_string())?;
    let patch: json_patch::Patch = serde_json::from_str(patch).map_err(|error| error.to_string())?;
    json_patch::patch(&mut document, &patch).map_err(|error| error.to_string())?;
    Ok(document.to_string())
}

/// The patch in short; checks on the way that it can be applied and leads to the submitted payload.
fn patched(rules: &PayloadRules, original: &str, submitted: &str) -> Result<String, String> {
    let left = parse(original.as_bytes()).map_err(|fault| fault.to_string())?;
    let right = parse(submitted.as_bytes()).map_err(|fault| fault.to_string())?;
    let ops = diff(rules, &left, &right);
    let text = serde_json::to_string(&ops).map_err(|error| error.to_string())?;
    if ops.is_empty() != same(rules, &left, &right) {
        return Err(format!("empty means same: {text}"));
    }
    let result = applied(original, &text).map_err(|error| format!("{error}: {text}"))?;
    let reached = parse(result.as_bytes()).map_err(|fault| fault.to_string())?;
    if !same(rules, &reached, &right) {
        return Err(format!("{text} leads to {result}"));
    }
    let short = |op: &super::Op| {
        let sign = match op.op {
            super::OpKind::Add => '+',
            super::OpKind::Remove => '-',
            super::OpKind::Replace => '=',
        };
        format!("{sign}{} {}", op.path, op.value.as_ref().map_or("", |value| value.get())).trim_end().to_owned()
    };
    Ok(ops.iter().map(short).collect::<Vec<_>>().join("; "))
}

fn check(words: &str, original: &str, submitted: &str, expect: &str) {
    let found = patched(&rules(words), original, submitted);
    assert_eq!(found.as_deref(), Ok(expect), "{words}: {original} {submitted}");
}

#[test]
fn operations_are_sent_as_rfc_6902_has_them() {
    let (left, right) = (br#"{"a":1,"b":2}"#, br#"{"a":1.50,"c":[1e2]}"#);
    let ops = diff(&PayloadRules::default(), &parse(left).expect("valid"), &parse(right).expect("valid"));
    let text = serde_json::to_string(&ops).expect("operations can be written");
    let expect = concat!(
        r#"[{"op":"replace","path":"/a","value":1.50},{"op":"remove","path":"/b"},"#,
        r#"{"op":"add","path":"/c","value":[1e2]}]"#
    );
    assert_eq!(text, expect);
}

#[test]
fn only_what_differs_is_shown_and_numbers_as_written() {
    check("", r#"{"a":1,"b":"x"}"#, r#"{"b":"\u0078","a":1.0}"#, "");
    check("", r#"{"a":{"b":1,"c":2}}"#, r#"{"a":{"b":1.50,"c":2.0}}"#, "=/a/b 1.50");
    check("", r#"{"a":1}"#, r#"{"b":[ 1 ]}"#, "-/a; +/b [ 1 ]");
    check("", r#"{"a/b":{"~":1}}"#, r#"{"a/b":{"~":2}}"#, "=/a~1b/~0 2");
    check("", "[1]", r#"{"a":1}"#, r#"= {"a":1}"#);
    check("", r#"{"a":[1]}"#, r#"{"a":{"0":1}}"#, r#"=/a {"0":1}"#);
}

#[test]
fn arrays_grow_and_shrink_at_their_end() {
    check("", "[1,2,3]", "[1,5]", "=/1 5; -/2");
    check("", "[1,2,3,4]", "[1]", "-/3; -/2; -/1");
    check("", "[1]", "[2,3,4]", "=/0 2; +/1 3; +/2 4");
}

#[test]
fn what_the_contract_calls_equal_is_left_out() {
    check("exclude /t | decimals /w 1", r#"{"t":1,"w":1.01,"x":1}"#, r#"{"t":2,"w":1.0,"x":2}"#, "=/x 2");
    check("include /a/b", r#"{"a":{"b":1,"c":1}}"#, r#"{"a":{"b":2,"c":2}}"#, "=/a/b 2");
    check("lowercase /s", r#"{"s":"A","x":1}"#, r#"{"s":"a","x":2}"#, "=/x 2");
}

#[test]
fn excluded_items_come_along_only_where_others_stand_behind_them() {
    check("exclude /1", "[1,2]", "[1]", "");
    check("exclude /1", "[1]", "[1,2,3]", "+/1 2; +/2 3");
    check("exclude /1", "[1,2]", "[1,9,3]", "+/2 3");
    check("exclude /1", "[1,2,3]", "[1]", "-/2");
    check("exclude /2", "[1,2,3]", "[1]", "-/2; -/1");
}

#[test]
fn a_number_and_its_unit_are_shown_together() {
    let words = "units /w /u kg g=0.001";
    check(words, r#"{"w":1,"u":"kg"}"#, r#"{"w":1000,"u":"g"}"#, "");
    check(words, r#"{"w":1,"u":"kg"}"#, r#"{"w":2000,"u":"g"}"#, r#"=/u "g"; =/w 2000"#);
    check(words, r#"{"w":1000,"u":"g"}"#, r#"{"w":1,"u":"stone"}"#, r#"=/u "stone"; =/w 1"#);
    check(words, r#"{"w":1,"u":"kg"}"#, r#"{"w":2,"u":"kg"}"#, "=/w 2");
    check(words, r#"{"w":1000,"u":"g"}"#, r#"{"w":1}"#, "-/u; =/w 1");
    let shared = "units /w /u kg g=0.001 | units /v /u kg g=0.001";
    let expect = r#"=/u "g"; =/v 1000; =/w 2000"#;
    check(shared, r#"{"w":1,"v":1,"u":"kg"}"#, r#"{"w":2000,"v":1000,"u":"g"}"#, expect);
    let across = "units /a/0 /u kg g=0.001";
    check(across, r#"{"a":[1],"u":"kg"}"#, r#"{"a":{"0":1000},"u":"g"}"#, r#"=/a {"0":1000}; =/u "g""#);
}

#[test]
fn an_included_place_is_reached_through_what_the_original_lacks() {
    check("include /a/b /a/c", "{}", r#"{"a":{"b":1,"c":2,"d":3}}"#, r#"+/a {"b":1,"c":2,"d":3}"#);
    check("include /a/b", r#"{"a":5}"#, r#"{"a":{"b":1}}"#, r#"=/a {"b":1}"#);
    check("include /a/2", r#"{"a":[0]}"#, r#"{"a":[7,8,9]}"#, "+/a/1 8; +/a/2 9");
    check("include /a/2 /a/1", r#"{"a":[0]}"#, r#"{"a":[7,8,9]}"#, "+/a/1 8; +/a/2 9");
    check("include /a/b", r#"{"a":[0]}"#, r#"{"a":{"b":1}}"#, r#"=/a {"b":1}"#);
    check("include /a/b", r#"{"a":{"b":1,"c":2}}"#, "{}", "-/a/b");
    check("include /a/1 /a/3", r#"{"a":[0,1,2,3]}"#, r#"{"a":{"3":3}}"#, r#"=/a {"3":3}"#);
    check("include /a/1", r#"{"a":[0,1,2,3]}"#, r#"{"a":[0]}"#, "-/a/3; -/a/2; -/a/1");
    check("include /a/1 /a/2/x", r#"{"a":[0,1,{"x":1}]}"#, r#"{"a":[0]}"#, "-/a/2; -/a/1");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn a_patch_leads_to_the_submitted_payload((rules, original, submitted) in model::any_case(), style in any::<[u64; 2]>()) {
        let [mut left, mut right] = style;
        let (original, submitted) = (model::written(&original, &mut left), model::written(&submitted, &mut right));
        let found = patched(&rules, &original, &submitted);
        prop_assert!(found.is_ok(), "{:?} from {} to {}", found, original, submitted);
    }
}
