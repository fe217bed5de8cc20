//! The scanner against tables, and against an oracle made of serde_json and patience.

use proptest::prelude::*;
use serde_json::value::RawValue;

use super::{DEPTH_MAX, Kind, Tape, parse, parse_with, write_string};
use crate::pointer::Pointer;

/// Either `ok`, or the sentence, the byte and the pointer of the refusal.
fn check(text: impl AsRef<[u8]>, expect: &str) {
    let text = text.as_ref();
    let found = match parse(text) {
        Ok(_) => "ok".to_owned(),
        Err(fault) => format!("{fault} @{} {}", fault.at, fault.pointer).trim_end().to_owned(),
    };
    assert_eq!(found, expect, "{}", String::from_utf8_lossy(text));
}

#[test]
fn every_kind_of_value_may_stand_alone() {
    for text in ["null", "true", "false", "0", "-0", "-1.5e+3", "\"\"", "[]", "{}", " [1 , {\"a\" : 2}]\r\n\t"] {
        check(text, "ok");
    }
}

#[test]
fn what_is_not_json_is_refused_where_it_goes_wrong() {
    check("", "the text is empty @0");
    check("  ", "the text is empty @2");
    check("\u{feff}{}", "the text begins with a byte order mark @0");
    check(b"{\"a\":\"\xff\"}", "the text is not valid UTF-8 @6");
    check("{} {}", "something follows the document @3");
    check("{\"a\":1,}", "something else than a key in quotes @7");
    check("{\"a\":1,\"b\":[1,2,}", "something else than a value @16 /b");
    check("{\"a\":[1,{\"x~/y\":tru}]}", "something else than a value @16 /a/1/x~0~1y");
    check("{\"a\" 1}", "something else than a colon after a key @5 /a");
    check("{\"a\":1 \"b\"}", "something else than a comma or a closing brace @7");
    check("[1 2]", "something else than a comma or a closing bracket @3");
    check("[1,2", "the text ends too early @4");
    check("{\"a\":\"b", "the text ends too early @7 /a");
    check("\"\\", "the text ends too early @2");
    check("\"a\nb\"", "a raw control character in a string @2");
    check("\"12345678\u{1}\"", "a raw control character in a string @9");
    check("\"\\x\"", "an unknown escape in a string @1");
    check("\"\\u12g4\"", "an unknown escape in a string @1");
    check("nul", "something else than a value @0");
    check("'a'", "something else than a value @0");
}

#[test]
fn numbers_follow_the_grammar_and_their_exponents_fit() {
    check("01", "a number with a leading zero @0");
    check("-01", "a number with a leading zero @1");
    check("-", "the text ends too early @1");
    check("1.", "the text ends too early @2");
    check("[1.]", "something else than a digit @3");
    check("[.5]", "something else than a value @1");
    check("[+1]", "something else than a value @1");
    check("[1e]", "something else than a digit @3");
    check("[NaN]", "something else than a value @1");
    check("1e2147483647", "ok");
    check("1e-2147483648", "ok");
    check("1e+000000000000000000000000001", "ok");
    check("{\"n\":1e2147483648}", "exponent out of range @5 /n");
    check("1E-2147483649", "exponent out of range @0");
}

#[test]
fn surrogates_come_in_pairs() {
    check(r#""\ud834\udd1e""#, "ok");
    check(r#""\ud834""#, "a lone surrogate @1");
    check(r#""\udd1e""#, "a lone surrogate @1");
    check(r#""\ud834\ud834""#, "a lone surrogate @1");
    check(r#""\ud834 \udd1e""#, "a lone surrogate @1");
    check(r#"{"a":["\udd1e\ud834"]}"#, "a lone surrogate @7 /a");
}

#[test]
fn a_key_may_be_said_only_once() {
    check(r#"{"id":1,"id":2}"#, r#"duplicate key "id" @8 /id"#);
    check(r#"{"id":1,"\u0069d":2}"#, r#"duplicate key "id" @8 /id"#);
    check(r#"{"a":[{"x":{},"y":0,"x":1}]}"#, r#"duplicate key "x" @20 /a/0/x"#);
    check(r#"{"":1,"":2}"#, r#"duplicate key "" @6 /"#);
    check(r#"{"a":{"a":{"a":1}},"b":{"a":1}}"#, "ok");
    check("{\"A\":1,\"a\":2,\"a \":3,\"\u{e9}\":4,\"e\u{301}\":5}", "ok");
}

#[test]
fn a_key_may_be_said_only_once_among_thousands() {
    let members: Vec<String> = (0..5_000).map(|index| format!("\"k{index}\":{{\"k\":0}}")).collect();
    check(format!("{{{}}}", members.join(",")), "ok");
    let text = format!("{{{},\"\\u006b77\":1,\"k3\":2}}", members.join(","));
    let at = text.len() - "\"\\u006b77\":1,\"k3\":2}".len();
    check(&text, &format!("duplicate key \"k77\" @{at} /k77"));
}

#[test]
fn nesting_ends_at_the_limit() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    check(nested(DEPTH_MAX), "ok");
    check(nested(DEPTH_MAX + 1), &format!("nesting deeper than 64 @64 {}", "/0".repeat(63)));
    let objects = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    check(objects(DEPTH_MAX), "ok");
    check(objects(DEPTH_MAX + 1), &format!("nesting deeper than 64 @320 {}", "/a".repeat(64)));
    assert!(parse("[".repeat(1_000_000).as_bytes()).is_err());
}

#[test]
fn a_long_key_is_cut_in_the_sentence() {
    let key = "k".repeat(1_000);
    let fault = parse(format!("{{\"{key}\":1,\"{key}\":1}}").as_bytes()).expect_err("the key is there twice");
    assert_eq!(fault.to_string(), format!("duplicate key \"{}…\"", "k".repeat(64)));
}

#[test]
fn nodes_answer_what_was_written() {
    let text = r#"{"s":"a\u0062\n","n":-1.50,"u":18446744073709551615,"o":{"k":[1,[],{"x":null}],"\u0065":true}}"#;
    let document = parse(text.as_bytes()).expect("valid");
    let at = |pointer: &str| document.root().at(&Pointer::parse(pointer).expect("a pointer"));
    let raw = |pointer: &str| at(pointer).map(|node| node.raw());
    assert_eq!(at("/s").and_then(|node| node.as_str()).as_deref(), Some("ab\n"));
    assert_eq!(raw("/n"), Some("-1.50"));
    assert_eq!(at("/u").and_then(|node| node.as_u64()), Some(u64::MAX));
    assert_eq!(raw("/o/k"), Some(r#"[1,[],{"x":null}]"#));
    assert_eq!(raw("/o/k/2/x"), Some("null"));
    assert_eq!(raw("/o/e"), Some("true"));
    assert_eq!(raw("/o/k/3"), None);
    assert_eq!(raw("/o/k/00"), None);
    assert_eq!(raw("/s/0"), None);
    assert_eq!(raw(""), Some(text));
    assert_eq!(at("/o/k").map(|node| (node.kind(), node.len())), Some((Kind::Array, 3)));
    let keys: Vec<String> = document.root().members().map(|(key, _)| key.into_owned()).collect();
    assert_eq!(keys, ["s", "n", "u", "o"]);
}

#[test]
fn only_plain_integers_are_u64() {
    for (text, expect) in [
        ("0", Some(0)),
        ("7", Some(7)),
        ("18446744073709551615", Some(u64::MAX)),
        ("18446744073709551616", None),
        ("-0", None),
        ("-1", None),
        ("1.0", None),
        ("1e0", None),
        ("\"1\"", None),
    ] {
        assert_eq!(parse(text.as_bytes()).expect("valid").root().as_u64(), expect, "{text}");
    }
}

#[test]
fn a_tape_survives_refusals_and_is_used_again() {
    let mut tape = Tape::default();
    for text in ["[1,2,3]", "[1,2", "{\"a\":1}", "", "[4]"] {
        if let Ok(document) = parse_with(text.as_bytes(), &mut tape) {
            assert_eq!(document.root().raw(), text);
            document.recycle(&mut tape);
        }
    }
    assert!(tape.cells.capacity() > 0);
}

#[test]
fn strings_are_written_with_the_escapes_of_rfc_8785() {
    let mut out = Vec::new();
    write_string(&mut out, "a\"\\/\u{8}\t\n\u{c}\r\u{0}\u{1f}\u{7f}é𝄞");
    assert_eq!(String::from_utf8_lossy(&out), "\"a\\\"\\\\/\\b\\t\\n\\f\\r\\u0000\\u001f\u{7f}é𝄞\"");
}

/// Decides with serde_json alone whether a text is strict JSON in our sense: each value is taken apart and parsed anew.
fn oracle(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    serde_json::from_str::<Box<RawValue>>(text).is_ok_and(|raw| is_strict(raw.get(), 1))
}

fn is_strict(text: &str, depth: usize) -> bool {
    match text.as_bytes()[0] {
        b'"' => serde_json::from_str::<String>(text).is_ok(),
        b'[' => serde_json::from_str::<Vec<Box<RawValue>>>(text)
            .is_ok_and(|items| depth <= 64 && items.iter().all(|item| is_strict(item.get(), depth + 1))),
        b'{' => serde_json::from_str::<Pairs>(text).is_ok_and(|pairs| {
            let names: std::collections::HashSet<&String> = pairs.0.iter().map(|pair| &pair.0).collect();
            depth <= 64 && names.len() == pairs.0.len() && pairs.0.iter().all(|pair| is_strict(pair.1.get(), depth + 1))
        }),
        b'-' | b'0'..=b'9' => {
            let exponent = text.split(['e', 'E']).nth(1).unwrap_or("0");
            let wide: num_bigint::BigInt = exponent.parse().expect("serde_json took it for an exponent");
            i32::try_from(wide).is_ok()
        }
        _ => true,
    }
}

struct Pairs(Vec<(String, Box<RawValue>)>);

impl<'de> serde::Deserialize<'de> for Pairs {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Pairs, D::Error> {
        struct Collect;
        impl<'de> serde::de::Visitor<'de> for Collect {
            type Value = Pairs;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<M: serde::de::MapAccess<'de>>(self, mut map: M) -> Result<Pairs, M::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Collect)
    }
}

fn any_string() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "b",
        "",
        "é",
        "𝄞",
        "12345678",
        r"\n",
        r"\/",
        r"\u0061",
        r"\u00e9",
        r"\ud834\udd1e",
        r"\ud834",
        r"\\",
        "\u{7f}",
    ]);
    prop::collection::vec(piece, 0..3).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn any_json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any_string(),
        "-?(0|[1-9][0-9]{0,5})(\\.[0-9]{1,4})?([eE][+-]?[0-9]{1,11})?",
        "-?(0|[1-9][0-9]{0,5})(\\.[0-9]{1,4})?",
        prop::sample::select(vec!["null", "true", "false"]).prop_map(str::to_owned),
    ];
    let tree = leaf.prop_recursive(5, 60, 5, |inner| {
        let pair = (any_string(), inner.clone()).prop_map(|(key, value)| format!("{key} :{value}"));
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(" ,"))),
            prop::collection::vec(pair, 0..5).prop_map(|pairs| format!("{{{}}}", pairs.join(",\n"))),
            (inner, prop::sample::select(vec![1_usize, 30, 60, 64, 65, 90])).prop_map(|(value, depth)| format!(
                "{}{value}{}",
                "[".repeat(depth),
                "]".repeat(depth)
            )),
        ]
    });
    (tree, 0..3_usize).prop_map(|(text, spaces)| format!("{}{text}{}", "\t".repeat(spaces), " ".repeat(spaces)))
}

fn mutated(text: String, edits: Vec<(prop::sample::Index, u8, u8)>) -> Vec<u8> {
    const BYTES: &[u8] = b"\"\\{}[],:0123456789eE+-.truefalsn u\x00\x1f\x7f\xc3\xa9\xed\xa0";
    let mut bytes = text.into_bytes();
    for (place, how, with) in edits {
        let byte = BYTES[with as usize % BYTES.len()];
        let at = place.index(bytes.len() + 1);
        if how % 3 == 0 || at == bytes.len() {
            bytes.insert(at, byte);
        } else if how % 3 == 1 {
            bytes[at] = byte;
        } else {
            bytes.remove(at);
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn random_json_is_accepted_exactly_if_the_oracle_accepts_it(text in any_json()) {
        prop_assert_eq!(parse(text.as_bytes()).is_ok(), oracle(text.as_bytes()), "{}", text);
    }

    #[test]
    fn mutated_json_is_accepted_exactly_if_the_oracle_accepts_it(
        text in any_json(),
        edits in prop::collection::vec(any::<(prop::sample::Index, u8, u8)>(), 1..4),
    ) {
        let bytes = mutated(text, edits);
        prop_assert_eq!(parse(&bytes).is_ok(), oracle(&bytes), "{}", String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert_eq!(parse(&bytes).is_ok(), oracle(&bytes));
    }

    #[test]
    fn strings_survive_writing_and_reading(text in any::<String>()) {
        let mut out = Vec::new();
        write_string(&mut out, &text);
        let document = parse(&out).expect("what we write we read");
        prop_assert_eq!(document.root().as_str().map(|found| found.into_owned()), Some(text.clone()));
        let theirs: String = serde_json::from_slice(&out).expect("so does serde_json");
        prop_assert_eq!(theirs, text);
    }

    #[test]
    fn strings_mean_what_serde_json_says(text in any_string()) {
        if let Ok(document) = parse(text.as_bytes()) {
            let theirs: String = serde_json::from_str(&text).expect("accepted by both");
            prop_assert_eq!(document.root().as_str().map(|found| found.into_owned()), Some(theirs));
        }
    }
}
