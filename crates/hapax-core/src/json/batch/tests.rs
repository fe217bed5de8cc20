//! What a batch takes and finds, against `serde_json`.

use proptest::prelude::*;

use super::*;
use crate::json::parse;

/// The elements, as `serde_json` finds them.
fn oracle(bytes: &[u8], max: usize) -> Result<Vec<String>, NoBatch> {
    struct Elements<'l>(&'l mut Vec<String>, usize);

    impl<'de> serde::de::Visitor<'de> for Elements<'_> {
        type Value = ();

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an array")
        }

        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
            while let Some(element) = elements.next_element::<&'de RawValue>()? {
                self.0.push(element.get().to_owned());
                if self.0.len() > self.1 {
                    return Err(serde::de::Error::custom("too many"));
                }
            }
            Ok(())
        }
    }

    let mut list = Vec::new();
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = serde::Deserializer::deserialize_seq(&mut reader, Elements(&mut list, max)).and_then(|()| reader.end());
    match read {
        Ok(()) => Ok(list),
        Err(_) if list.len() > max => Err(NoBatch::TooMany),
        Err(_) => Err(NoBatch::NotOne),
    }
}

fn is_whole_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(bytes).is_ok()
}

fn compare(bytes: &[u8], max: usize) {
    let shown = String::from_utf8_lossy(bytes);
    let found = Batch::of(bytes, max);
    let elements = found.as_ref().map(|batch| batch.raw().map(str::to_owned).collect()).map_err(|why| *why);
    // Where the bytes are no text at all, what comes before they go wrong is not looked at.
    if std::str::from_utf8(bytes).is_ok() {
        assert_eq!(elements, oracle(bytes, max), "{shown}");
    } else {
        assert_eq!(elements, Err(NoBatch::NotOne), "{shown}");
        assert!(oracle(bytes, max).is_err(), "{shown}");
    }
    if let Ok(batch) = &found {
        compare_nodes(batch);
    }
    let one = Batch::of_one(bytes);
    assert_eq!(one.is_ok(), is_whole_json(bytes), "{shown}");
    if let Ok(batch) = &one {
        let whole: Vec<_> = batch.raw().collect();
        assert_eq!(whole, [shown.trim_ascii()]);
        compare_nodes(batch);
    }
}

/// An element has cells exactly if it is strict JSON, and they say what those of its own tape say.
fn compare_nodes(batch: &Batch<'_>) {
    for (index, raw) in batch.raw().enumerate() {
        let alone = parse(raw.as_bytes());
        let (alone, node) = (alone.as_ref().ok().map(|it| it.root()), batch.node(index));
        assert_eq!(node.map(|it| it.raw()), alone.map(|it| it.raw()));
        let (Some(alone), Some(node)) = (alone, node) else { continue };
        assert_eq!(crate::value::Value::from(node), crate::value::Value::from(alone), "{raw}");
        assert_eq!(node.len(), alone.len());
    }
}

#[test]
fn an_array_is_its_elements() {
    for text in [
        "[]",
        " [ ] \n",
        r#"[{"a":1}, 2 ,"x",null,true,false,[],{}]"#,
        "[\t1\r\n,\n2 ]",
        "[1]]",
        "[1] 2",
        "[1",
        "[1,",
        "[1,]",
        "[,1]",
        "[1 2]",
        "[",
        "",
        "  ",
        "{}",
        "7",
        "nope",
        "\u{feff}[]",
        "[\u{c}1]",
        "[01]",
        "[1.]",
        "[-]",
        "[\"a\u{1}\"]",
        r#"["\x"]"#,
        r#"["\u12g4"]"#,
        r#"["é","\u00e9"]"#,
    ] {
        compare(text.as_bytes(), 10);
    }
    compare(b"[\"\xff\"]", 10);
    compare(b"[1,\"\xff\"]", 0);
}

#[test]
fn an_element_that_only_we_refuse_has_its_place_and_no_cells() {
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    let bad = [r#"{"a":1,"a":2}"#, r#""\ud834""#, "1e99999999999", deep.as_str()];
    for bad in bad {
        let text = format!(r#"[{{"n":1}}, {bad} ,{{"n":2}}]"#);
        compare(text.as_bytes(), 10);
        let batch = Batch::of(text.as_bytes(), 10).expect("an array");
        assert_eq!(batch.raw().nth(1), Some(bad));
        let known: Vec<_> = (0..4).map(|index| batch.node(index).is_some()).collect();
        assert_eq!(known, [true, false, true, false]);
        // What follows it is looked at all the same.
        compare(format!("[{bad} x]").as_bytes(), 10);
        compare(format!("[{bad}").as_bytes(), 10);
    }
    // The first fault is ours alone, the second is not.
    compare(br#"[{"a":1,"a":2,}]"#, 10);
    compare(br#"[{"a":{"b":1,"b":2},"c":nope}]"#, 10);
}

#[test]
fn one_more_than_is_taken_ends_the_reading() {
    for text in ["[0,0,0]", "[0,0,0", "[0,0,0 and so on", "[0,0,nope", "[0,0,", "[0,0]", "[0,0", "[{},[1,2],3]"] {
        compare(text.as_bytes(), 2);
        compare(text.as_bytes(), 0);
    }
}

#[test]
fn the_only_member_of_an_object_is_a_batch() {
    let of = |text: &str| {
        let batch = Batch::of_member(text.as_bytes(), "events", 2);
        batch.map(|batch| batch.raw().collect::<Vec<_>>().join("|"))
    };
    assert_eq!(of(r#"{"events":[1,{"a":2}]}"#).as_deref(), Ok(r#"1|{"a":2}"#));
    assert_eq!(of(" { \"events\" :\n[ ] } ").as_deref(), Ok(""));
    assert_eq!(of(r#"{"events":[1,2,3]}"#), Err(NoBatch::TooMany));
    for text in [
        r#"{"events":[1],"more":1}"#,
        r#"{"more":1,"events":[1]}"#,
        r#"{"events":1}"#,
        r#"{"events":[1]"#,
        r#"{"events":[1]} 1"#,
        r#"{"events" [1]}"#,
        r#"{"event":[1]}"#,
        "{}",
        "[1]",
    ] {
        assert_eq!(of(text), Err(NoBatch::NotOne), "{text}");
    }
}

#[test]
fn a_tape_ends_where_memory_would_not_be_worth_it() {
    let dense = format!("[{}]", vec!["0"; CELLS_MAX - 10].join(","));
    let text = format!(r#"[{{"n":1}},{dense},{dense},{{"n":2}}]"#);
    let batch = Batch::of(text.as_bytes(), 10).expect("an array");
    assert_eq!(batch.raw().map(str::len).collect::<Vec<_>>(), [7, dense.len(), dense.len(), 7]);
    let known: Vec<_> = (0..4).map(|index| batch.node(index).is_some()).collect();
    assert_eq!(known, [true, true, false, true]);
    assert!(batch.tape.cells.capacity() <= 2 * CELLS_MAX);
}

/// Two halves are the whole, wherever it is cut: they have its elements, or one of them is none.
fn compare_halves(bytes: &[u8], middle: usize, max: usize) -> bool {
    let shown = String::from_utf8_lossy(bytes);
    let Some(first) = Batch::first_half(bytes, middle, max) else { return false };
    let Some(second) = Batch::second_half(bytes, middle, max) else {
        // One half was enough to know that there is something wrong with the whole, or that it is too much.
        let whole = Batch::of(bytes, max);
        assert!(whole.is_err(), "{shown}");
        return false;
    };
    let found: Vec<_> = first.raw().chain(second.raw()).collect();
    let whole = Batch::of(bytes, found.len()).expect("what two halves are");
    assert_eq!(found, whole.raw().collect::<Vec<_>>(), "{shown}");
    compare_nodes(&first);
    compare_nodes(&second);
    true
}

#[test]
fn a_large_array_has_a_middle() {
    let one = |n: usize| format!(r#"{{"id":"{n}","text":"a }},{{ b","parts":[{{"x":1}},{{"x":2}}]}}"#);
    for between in [",", " ,\n  "] {
        let text = format!("[{}]", (0..9).map(one).collect::<Vec<_>>().join(between));
        let middle = Batch::middle(text.as_bytes()).expect("a middle");
        assert!(
            middle >= text.len() / 2 && middle < text.len() * 9 / 16 + 2 * one(0).len(),
            "{middle} of {}",
            text.len()
        );
        assert!(compare_halves(text.as_bytes(), middle, 9), "{text}");
        assert!(Batch::second_half(text.as_bytes(), middle, 2).is_none(), "too many are no half");
        assert!(Batch::first_half(text.as_bytes(), middle, 2).is_none(), "too many are no half");
    }
    for text in ["", "[]", "[1,2,3]", r#"[{"a":1}]"#, r#"{"events":[{"a":1},{"a":2}]}"#, "[[1],[1]]"] {
        assert_eq!(Batch::middle(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn a_middle_that_is_none_has_no_first_half() {
    // Within a string, and within an array of an element.
    let string = r#"[{"a":"xxxxxxxxxx},{\"a\":1},{"a":2}]"#;
    let within = [
        (r#"[{"a":1,"b":[{"a":1,"c":"xxxxxxxxxxxxx"},{"a":1}]}]"#, r#",{"a":1}]"#),
        (r#"[{"a":1},{"b":"yyyyyyyyy"},{"a":3},{"a":4}]"#, r#"{"a":3"#),
    ];
    for (text, mark) in within {
        let at = text.find(mark).expect("the mark") + usize::from(mark.starts_with(','));
        assert_eq!(compare_halves(text.as_bytes(), at, 10), mark.starts_with('{'), "{text}");
    }
    for at in 0..string.len() {
        compare_halves(string.as_bytes(), at, 10);
    }
}

/// JSON and what is almost JSON.
fn text() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?([eE][+-]?[0-9]{1,11})?",
        "\"[a-zé\\u{20}]{0,20}\"",
        Just(r#""\u00e9\n\ud834\udd1e""#.to_owned()),
        Just(r#""\ud834""#.to_owned()),
    ];
    let value = leaf.prop_recursive(4, 40, 6, |inner| {
        let members = prop::collection::vec(("\"[ab]{0,2}\"", inner.clone()), 0..5);
        let object = members.prop_map(|list| {
            let list: Vec<_> = list.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
            format!("{{{}}}", list.join(","))
        });
        let array = prop::collection::vec(inner, 0..5).prop_map(|list| format!("[{}]", list.join(" ,")));
        prop_oneof![object, array]
    });
    prop::collection::vec(value, 0..6).prop_map(|list| format!(" [{}]\n", list.join(",\n")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_batch_is_what_serde_json_finds(text in text(), max in 0..8_usize) {
        compare(text.as_bytes(), max);
    }

    #[test]
    fn two_halves_are_the_whole(text in text(), max in 0..8_usize, at in any::<prop::sample::Index>()) {
        compare_halves(text.as_bytes(), at.index(text.len()), max);
        for (at, _) in text.match_indices([',', '{', '"']) {
            compare_halves(text.as_bytes(), at, max);
            compare_halves(text.as_bytes(), at + 1, max);
        }
    }

    #[test]
    fn and_where_a_byte_is_wrong_both_say_so(
        text in text(),
        max in 0..8_usize,
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, any::<u8>(), any::<bool>()), 1..4),
    ) {
        let mut bytes = text.into_bytes();
        for (at, how, byte, is_any) in changes {
            let byte = if is_any { byte } else { br#"[]{},:"\u0e1-. tx"#[usize::from(byte) % 17] };
            let at = at.index(bytes.len().max(1));
            match how {
                0 if at < bytes.len() => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ if at < bytes.len() => drop(bytes.remove(at)),
                _ => {}
            }
        }
        compare(&bytes, max);
    }
}
