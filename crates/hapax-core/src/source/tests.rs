use super::*;
use proptest::prelude::*;

/// Every value of a tree with its place: `a 1:5 = 1`.
fn places(node: &Node) -> Vec<String> {
    fn walk(path: &str, node: &Node, out: &mut Vec<String>) {
        let place = format!("{}:{}", node.at.line, node.at.column);
        match &node.value {
            Value::Table(members) => {
                for (key, member) in members {
                    walk(&if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, member, out);
                }
            }
            Value::List(items) => {
                items.iter().enumerate().for_each(|(index, item)| walk(&format!("{path}[{index}]"), item, out));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {
                out.push(format!("{path} {place} = {}", node.to_json()));
            }
        }
    }
    let mut out = Vec::new();
    walk("", node, &mut out);
    out
}

fn check_toml(text: &str, expect: &[&str]) {
    match Node::from_toml(text) {
        Ok(node) => assert_eq!(places(&node), expect, "{text}"),
        Err(problem) => assert_eq!([problem.to_string()].as_slice(), expect, "{text}"),
    }
}

fn check_json(text: &str, expect: &[&str]) {
    match Node::from_json(text.as_bytes()) {
        Ok(node) => assert_eq!(places(&node), expect, "{text}"),
        Err(problem) => assert_eq!([problem.to_string()].as_slice(), expect, "{text}"),
    }
}

#[test]
fn each_value_of_a_toml_text_has_its_line_and_column() {
    check_toml("a = 1\n\nb.c = \"x\"", &["a 1:5 = 1", "b.c 3:7 = \"x\""]);
    check_toml("[t]\nx = true\n[t.u]\ny = false", &["t.x 2:5 = true", "t.u.y 4:5 = false"]);
    check_toml("a = [1,\n 2]", &["a[0] 1:6 = 1", "a[1] 2:2 = 2"]);
    check_toml("\"é\" = \"ü\"\r\nb = { c = 2 }", &["é 1:7 = \"ü\"", "b.c 2:11 = 2"]);
    check_toml("", &[]);
}

#[test]
fn each_value_of_a_json_text_has_its_line_and_column() {
    check_json(
        "{\"a\": 1,\n \"é\": \"ü\", \"b\": [true, null]}",
        &["a 1:7 = 1", "é 2:7 = \"ü\"", "b[0] 2:18 = true", "b[1] 2:24 = null"],
    );
    check_json("{\"a\":", &["line 1: not JSON: the text ends too early"]);
    check_json("{\n\"a\": 1,\n\"a\": 2}", &["line 3: not JSON: duplicate key \"a\""]);
    check_json("", &["line 1: not JSON: the text is empty"]);
    // The line is counted in the bytes as they are, not in what stands for the bad ones.
    let problem = Node::from_json(b"{\"a\":\n\"\xff\"}").expect_err("not UTF-8");
    assert_eq!((problem.at.line, problem.why.as_str()), (2, "not JSON: the text is not valid UTF-8"));
}

#[test]
fn numbers_and_dates_keep_the_text_they_were_written_with() {
    check_toml("a = 1.50\nb = 1e400\nc = -0.0", &["a 1:5 = 1.50", "b 2:5 = 1e400", "c 3:5 = -0.0"]);
    check_toml("a = 0xff\nb = 1_000\nc = +5\nd = +1.5", &["a 1:5 = 255", "b 2:5 = 1000", "c 3:5 = 5", "d 4:5 = 1.5"]);
    check_toml("a = 1_000.5", &["a 1:5 = 1000.5"]);
    check_toml("a = 18446744073709551615", &["a 1:5 = 18446744073709551615"]);
    check_toml("a = 2026-01-01t10:00:00.500z", &["a 1:5 = \"2026-01-01t10:00:00.500z\""]);
    check_toml("a = 2026-01-01 10:00:00-00:00", &["a 1:5 = \"2026-01-01 10:00:00-00:00\""]);
    check_json(
        "{\"a\": 1.50, \"b\": 123456789012345678901234567890}",
        &["a 1:7 = 1.50", "b 1:18 = 123456789012345678901234567890"],
    );
}

#[test]
fn a_text_that_cannot_be_read_is_told_with_its_line() {
    check_toml("a = 1\nb =\n", &["line 2: not TOML: string values must be quoted, expected literal string"]);
    check_toml("a = 1\na = 2\n", &["line 2: not TOML: the key `a` is there twice"]);
    check_toml("a = 1\nb = inf", &["line 2: inf is not a number that JSON can write"]);
    check_toml("a = nan", &["line 1: nan is not a number that JSON can write"]);
    let digits = "9".repeat(40);
    check_toml(&format!("a = {digits}"), &[&format!("line 1: the number {digits} is too large")]);
}

fn check_over(written: &str, preset: &str, expect: &str) {
    let tree = |text: &str| Node::from_toml(text).expect("TOML");
    assert_eq!(tree(written).over(tree(preset)).to_json(), expect, "{written} over {preset}");
}

#[test]
fn tables_merge_key_by_key_and_everything_else_replaces() {
    check_over("", "a = 1", r#"{"a":1}"#);
    check_over("a = 2", "a = 1\nb = 3", r#"{"a":2,"b":3}"#);
    check_over("t.x = 1", "t = { x = 2, y = 3 }", r#"{"t":{"x":1,"y":3}}"#);
    check_over("t.u.x = 1", "t = { u = { y = 2 } }", r#"{"t":{"u":{"y":2,"x":1}}}"#);
    check_over("l = [1]", "l = [2, 3]", r#"{"l":[1]}"#);
    check_over("t = {}", "t = { x = 2 }", r#"{"t":{"x":2}}"#);
    check_over("t = 5", "t = { x = 2 }", r#"{"t":5}"#);
    check_over("t = { x = 2 }", "t = 5", r#"{"t":{"x":2}}"#);
}

#[test]
fn a_table_with_a_field_is_one_value_and_replaces() {
    let preset = r#"w = { field = "/a", values = [1] }"#;
    check_over(r#"w = { field = "/b" }"#, preset, r#"{"w":{"field":"/b"}}"#);
    check_over(r"w = {}", preset, r#"{"w":{}}"#);
    check_over(r"w = { values = [2] }", preset, r#"{"w":{"values":[2]}}"#);
    check_over(preset, "w = {}", r#"{"w":{"field":"/a","values":[1]}}"#);
    // A table that is called `field` is a member like any other.
    check_over("c.field.x = 1", "c.usage.x = 2", r#"{"c":{"usage":{"x":2},"field":{"x":1}}}"#);
}

#[test]
fn what_was_written_keeps_its_place_and_the_rest_has_none() {
    let preset = Node::implied(Value::Table(vec![("a".into(), Node::implied(Value::Number("1".into())))]));
    let merged = Node::from_toml("\nb = 2").expect("TOML").over(preset);
    assert_eq!(places(&merged), ["a 0:0 = 1", "b 2:5 = 2"]);
}

/// Reads a small table with every kind of key, and gives the values and the problems.
fn check_read(text: &str, expect: &[&str]) {
    let node = Node::from_toml(text).expect("TOML");
    let mut reader = Reader::default();
    let mut top = reader.table(&node, "");
    top.text("name", &mut reader);
    top.bool("required", false, &mut reader);
    top.count("places", &mut reader);
    top.word("order", &[("none", 0), ("latest", 1), ("in_order", 2)], 0, &mut reader);
    top.list("include", &mut reader);
    let mut inner = top.table("time", &mut reader);
    inner.required("future", "a duration", &mut reader);
    inner.finish(&mut reader);
    top.finish(&mut reader);
    let problems: Vec<String> = reader.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems, expect, "{text}");
}

#[test]
fn a_reader_names_every_problem_at_once() {
    let missing = "line 1: time.future: is missing; expected a duration";
    check_read("name = \"x\"", &[missing]);
    check_read("time.future = 1", &[]);
    check_read(
        "name = 5\nrequired = \"yes\"\nplaces = -1\norder = \"last\"\ninclude = {}\ntime = 7",
        &[
            "line 1: name: expected a text, found a number",
            "line 2: required: expected true or false, found a text",
            "line 3: places: expected a whole number from 0, found -1",
            "line 4: order: expected \"none\", \"latest\" or \"in_order\", found \"last\"",
            "line 5: include: expected a list, found a table",
            "line 6: time: expected a table, found a number",
        ],
    );
    check_read(
        "places = 1.0\norder = 5\ntime.future = 1",
        &[
            "line 1: places: expected a whole number from 0, found 1.0",
            "line 2: order: expected \"none\", \"latest\" or \"in_order\", found 5",
        ],
    );
    check_read("places = 18446744073709551615\ntime.future = 1", &[]);
    check_read(
        "places = 18446744073709551616\ntime.future = 1",
        &["line 1: places: expected a whole number from 0, found 18446744073709551616"],
    );
}

#[test]
fn an_unknown_key_is_told_with_the_one_that_was_probably_meant() {
    check_read(
        "nme = 1\ntime.future = 1\ntime.futrue = 2",
        &[
            "line 3: time.futrue: is not a key that is known here; did you mean `future`?",
            "line 1: nme: is not a key that is known here; did you mean `name`?",
        ],
    );
    check_read(
        "time.future = 1\ntolerance = 2",
        &["line 2: tolerance: is not a key that is known here; known are name, required, places, order, include, time"],
    );
}

#[test]
fn a_suggestion_is_a_slip_away_and_no_more() {
    fn check(word: &str, expect: Option<&str>) {
        assert_eq!(nearest(word, ["time", "sequence", "envelope", "key"]), expect, "{word}");
    }
    check("tiem", Some("time"));
    check("tme", Some("time"));
    check("times", Some("time"));
    check("seqence", Some("sequence"));
    check("sqeuence", Some("sequence"));
    check("seq", Some("sequence"));
    check("kye", Some("key"));
    check("name", None);
    check("", None);
    check("t", None);
    check("ky", None);
    check("envelopment", None);
    check(&"time".repeat(1000), None);
    assert_eq!(nearest("x", []), None);
}

#[test]
fn a_message_is_one_short_line_whatever_was_written() {
    let node = Node::from_toml("\"a\\u001b[31m\" = \"\\u0007x\\ny\"").expect("TOML");
    let mut reader = Reader::default();
    let mut top = reader.table(&node, "");
    top.node("other");
    top.finish(&mut reader);
    let said = reader.problems[0].to_string();
    assert_eq!(said, "line 1: a\\u{1b}[31m: is not a key that is known here; known are other");
    let Value::Table(members) = &node.value else { panic!("a table") };
    assert_eq!(members[0].1.found(), "\"\\u{7}x\\ny\"");
    let long = Node::implied(Value::Text("é".repeat(5000)));
    assert_eq!(long.found(), format!("\"{}…\"", "é".repeat(64)));
}

#[test]
fn a_problem_finds_the_nearest_line_that_was_written() {
    fn check(key: &str, expect: u32) {
        let written = Node::from_toml("\n[time]\nfuture = \"1h\"").expect("TOML");
        let mut problem = Problem { key: key.to_owned(), why: String::new(), at: Place::default() };
        problem.locate(&written);
        assert_eq!(problem.at.line, expect, "{key}");
    }
    check("time.future", 3);
    check("time.past", 2);
    check("identity.keep", 1);
}

fn any_tree() -> impl Strategy<Value = Node> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        prop_oneof!["-?(0|[1-9][0-9]{0,30})", "-?(0|[1-9][0-9]{0,9})\\.[0-9]{1,12}(e[+-]?[0-9]{1,2})?"]
            .prop_map(Value::Number),
        any::<String>().prop_map(Value::Text),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let node = inner.prop_map(Node::implied).boxed();
        prop_oneof![
            prop::collection::vec(node.clone(), 0..4).prop_map(Value::List),
            prop::collection::btree_map(any::<String>(), node, 0..4)
                .prop_map(|members| Value::Table(members.into_iter().collect())),
        ]
    })
    .prop_map(Node::implied)
}

proptest! {
    #[test]
    fn a_tree_reads_back_from_its_json_and_both_writers_agree(tree in any_tree()) {
        let text = tree.to_json();
        let back = Node::from_json(text.as_bytes()).expect("what we write is JSON");
        prop_assert_eq!(back.to_json(), text.clone());
        let other = serde_json::to_string(&tree).expect("JSON");
        prop_assert_eq!(Node::from_json(other.as_bytes()).expect("JSON").to_json(), text);
    }

    #[test]
    fn any_text_is_answered(text in "\\PC*|[a-z =\"\\[\\]{}.\n0-9-]*") {
        let _ = Node::from_toml(&text);
        let _ = Node::from_json(text.as_bytes());
    }
}
