use super::matching::{differences, in_lines};
use hapax_core::source::Node;

fn check(expected: &str, found: &str, expect: &[&str]) {
    let expected = Node::from_toml(expected).expect("TOML");
    let found = Node::from_json(found.as_bytes()).expect("JSON");
    assert_eq!(differences(&expected, &found), expect);
}

#[test]
fn a_table_matches_if_each_of_its_keys_does() {
    check("", r#"{"a":1}"#, &[]);
    check("a = 1", r#"{"a":1,"b":2}"#, &[]);
    check("a = 1\nb = 2", r#"{"a":1}"#, &["b: expected 2, found nothing"]);
    check("t.x = 1", r#"{"t":{"x":2,"y":3}}"#, &["t.x: expected 1, found 2"]);
    check("t.x = 1", r#"{"t":5}"#, &[r#"t: expected {"x":1}, found 5"#]);
    check("t = 5", r#"{"t":{"x":1}}"#, &[r#"t: expected 5, found {"x":1}"#]);
    check("a = 1", "[]", &[r#"the answer: expected {"a":1}, found []"#]);
    check("a = 1", "null", &[r#"the answer: expected {"a":1}, found nothing"#]);
}

#[test]
fn a_list_matches_whole_and_only_marks_and_states_in_any_order() {
    check("l = [1, 2]", r#"{"l":[1,2]}"#, &[]);
    check("l = [1, 2]", r#"{"l":[2,1]}"#, &["l[0]: expected 1, found 2", "l[1]: expected 2, found 1"]);
    check("l = []", r#"{"l":[1]}"#, &["l: expected 0 in the list, found 1"]);
    check(
        "l = [{ a = 1 }, { a = 1 }]",
        r#"{"l":[{"a":2}]}"#,
        &["l: expected 2 in the list, found 1", "l[0].a: expected 1, found 2"],
    );
    check("l = [{ a = 1 }]", r#"{"l":[{"a":1,"b":2}]}"#, &[]);
    check("l = 1", r#"{"l":[1]}"#, &["l: expected 1, found [1]"]);
    for key in ["marks", "states"] {
        check(&format!("{key} = [\"A\", \"B\"]"), &format!(r#"{{"{key}":["B","A"]}}"#), &[]);
        check(&format!("r = [{{ {key} = [\"A\", \"B\"] }}]"), &format!(r#"{{"r":[{{"{key}":["B","A"]}}]}}"#), &[]);
        let said = format!(r#"{key}: expected ["A"], found ["A","B"]"#);
        check(&format!("{key} = [\"A\"]"), &format!(r#"{{"{key}":["A","B"]}}"#), &[&said]);
    }
    check("marks = [\"A\", \"A\"]", r#"{"marks":["A","B"]}"#, &[r#"marks: expected ["A","A"], found ["A","B"]"#]);
}

#[test]
fn a_star_matches_what_is_there_and_absent_what_is_not() {
    check("a = \"*\"", r#"{"a":[]}"#, &[]);
    check("a = \"*\"", r#"{"a":false}"#, &[]);
    check("a = \"*\"", r#"{"a":null}"#, &[r#"a: expected "*", found nothing"#]);
    check("a = \"*\"", "{}", &[r#"a: expected "*", found nothing"#]);
    check("absent = [\"a\", \"b\"]", r#"{"a":null}"#, &[]);
    check("absent = [\"a\", \"b\"]", r#"{"b":0}"#, &["b: expected nothing, found 0"]);
    check("t.absent = [\"a\"]", r#"{"t":{"a":1}}"#, &["t.a: expected nothing, found 1"]);
    check("l = [{ absent = [\"a\"] }]", r#"{"l":[{"a":1}]}"#, &["l[0].a: expected nothing, found 1"]);
}

#[test]
fn numbers_are_compared_as_exact_decimals() {
    check("a = 1.0", r#"{"a":1}"#, &[]);
    check("a = \"1.00\"", r#"{"a":1}"#, &[]);
    check("a = 1", r#"{"a":"1.0"}"#, &[]);
    check("a = \"1e2\"", r#"{"a":"100"}"#, &[]);
    check("a = 0.1", r#"{"a":0.1000000000000000055}"#, &["a: expected 0.1, found 0.1000000000000000055"]);
    check("a = 18446744073709551615", r#"{"a":18446744073709551615}"#, &[]);
    check(
        "a = 18446744073709551615",
        r#"{"a":18446744073709551614}"#,
        &["a: expected 18446744073709551615, found 18446744073709551614"],
    );
    check("a = \"01\"", r#"{"a":1}"#, &[r#"a: expected "01", found 1"#]);
    check("a = true", r#"{"a":"true"}"#, &[r#"a: expected true, found "true""#]);
    check("a = 1", r#"{"a":true}"#, &["a: expected 1, found true"]);
}

#[test]
fn a_key_that_the_answer_lacks_is_told_with_the_one_that_was_meant() {
    check("verdct = \"x\"", r#"{"verdict":"x"}"#, &[r#"verdct: expected "x", found nothing; did you mean `verdict`?"#]);
    check(
        "t = { last_sq = 1 }",
        r#"{"t":{"last_seq":1}}"#,
        &["t.last_sq: expected 1, found nothing; did you mean `last_seq`?"],
    );
    check("nonsense = 1", r#"{"verdict":"x"}"#, &["nonsense: expected 1, found nothing"]);
    check("code = \"X\"", r#"{"code":null}"#, &[r#"code: expected "X", found nothing"#]);
}

#[test]
fn an_answer_is_shown_member_by_member() {
    let shown = |text: &str| in_lines(&Node::from_json(text.as_bytes()).expect("JSON"));
    assert_eq!(
        shown(r#"{"a":1,"long":[1,2],"l":[{"x":1},{}],"n":null}"#),
        ["a     1", "long  [1,2]", r#"l[0]  {"x":1}"#, "l[1]  {}", "n     null",]
    );
    assert_eq!(shown("[1]"), ["[1]"]);
    assert!(shown("{}").is_empty());
}
