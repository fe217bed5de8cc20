//! Values: equal if they mean the same, and the canonical form tells them apart.

use super::Value;
use crate::json::parse;

fn value(text: &str) -> Value {
    Value::from(parse(text.as_bytes()).expect("valid").root())
}

fn check(text: &str, expect: &str) {
    let mut out = Vec::new();
    value(text).write_canonical(&mut out);
    assert_eq!(String::from_utf8_lossy(&out), expect);
}

#[test]
fn the_canonical_form_is_one_per_value() {
    check(r#" { "b" : [ 1.0, 1e2, -0 ], "a" : { } } "#, r#"{"a":{},"b":[1,100,0]}"#);
    check(r#""\u0041\u000a\/""#, r#""A\n/""#);
    check("[null,true,false,[],\"\"]", "[null,true,false,[],\"\"]");
    check("9007199254740993", "9007199254740993");
}

#[test]
fn members_are_in_the_order_of_utf_16() {
    check("{\"\u{fb33}\":1,\"😀\":2,\"é\":3}", "{\"é\":3,\"😀\":2,\"\u{fb33}\":1}");
}

#[test]
fn order_and_writing_of_members_do_not_matter() {
    assert_eq!(value(r#"{"a":1,"b":[2]}"#), value(r#"{"b":[2.0],"\u0061":1e0}"#));
    assert_ne!(value("[1,2]"), value("[2,1]"));
    assert_ne!(value("5"), value("\"5\""));
}
