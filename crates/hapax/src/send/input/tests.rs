//! Files as people have them.

use super::{Event, Format, Input};

fn read(text: &[u8], format: Format, texts: &[&str]) -> Result<Vec<(u64, String)>, String> {
    let texts: Vec<String> = texts.iter().map(|it| (*it).to_owned()).collect();
    let reader = std::io::Cursor::new(text.to_vec());
    let events = Input::new("f", reader, format, &texts).and_then(|input| input.collect::<Result<Vec<Event>, _>>());
    let shown = |event: Event| (event.line, String::from_utf8_lossy(&event.text).into_owned());
    events.map(|events| events.into_iter().map(shown).collect()).map_err(|error| format!("{error:#}"))
}

fn check(text: &str, format: Format, expect: &[(u64, &str)]) {
    let expect: Vec<_> = expect.iter().map(|(line, text)| (*line, (*text).to_owned())).collect();
    assert_eq!(read(text.as_bytes(), format, &[]), Ok(expect), "{text:?}");
}

fn check_wrong(text: &[u8], format: Format, texts: &[&str], expect: &str) {
    assert_eq!(read(text, format, texts), Err(expect.to_owned()));
}

#[test]
fn a_line_is_an_event_and_an_empty_line_is_none() {
    check(
        "{\"a\":1}\n\n  \r\n{\"a\":2}\r\n{\"a\": 3 }",
        Format::Ndjson,
        &[(1, "{\"a\":1}"), (4, "{\"a\":2}"), (5, "{\"a\": 3 }")],
    );
    check("", Format::Ndjson, &[]);
}

#[test]
fn a_wrong_line_is_passed_on_because_the_verdict_is_the_servers() {
    check("{\"a\":\n[1]\nnonsense\n", Format::Ndjson, &[(1, "{\"a\":"), (2, "[1]"), (3, "nonsense")]);
}

#[test]
fn a_byte_order_mark_is_nobodys_data() {
    check("\u{feff}{}\n", Format::Ndjson, &[(1, "{}")]);
    check("\u{feff}a\n1\n", Format::Csv, &[(2, "{\"a\":1}")]);
    check("\u{feff}[{}]", Format::Json, &[(1, "{}")]);
}

#[test]
fn the_first_row_names_the_fields() {
    check(
        "id,seq,ok,note\ne-1,1,true,\"a, \"\"b\"\"\nc\"\ne-2,2,,null\n",
        Format::Csv,
        &[
            (2, "{\"id\":\"e-1\",\"seq\":1,\"ok\":true,\"note\":\"a, \\\"b\\\"\\nc\"}"),
            (4, "{\"id\":\"e-2\",\"seq\":2,\"note\":null}"),
        ],
    );
}

#[test]
fn a_number_is_what_json_calls_one_with_all_its_digits() {
    check(
        "a\n0.1000000000000000055\n-1e5\n007\n+1\n1.\n 1\n18446744073709551616\nNaN\n",
        Format::Csv,
        &[
            (2, "{\"a\":0.1000000000000000055}"),
            (3, "{\"a\":-1e5}"),
            (4, "{\"a\":\"007\"}"),
            (5, "{\"a\":\"+1\"}"),
            (6, "{\"a\":\"1.\"}"),
            (7, "{\"a\":\" 1\"}"),
            (8, "{\"a\":18446744073709551616}"),
            (9, "{\"a\":\"NaN\"}"),
        ],
    );
}

#[test]
fn a_column_of_texts_stays_one() {
    let found = read(b"id,n\n1001,1001\n", Format::Csv, &["id"]);
    assert_eq!(found, Ok(vec![(2, "{\"id\":\"1001\",\"n\":1001}".to_owned())]));
    check_wrong(b"id,n\n", Format::Csv, &["x"], "f: --text x: there is no such column; there are id, n");
}

#[test]
fn a_table_that_is_none_is_told_with_its_line() {
    check_wrong(b"a,b\n1,2\n1\n", Format::Csv, &[], "f: line 3 has 1 cells and the first row has 2");
    check_wrong(b"a,a\n", Format::Csv, &[], "f: line 1: the column a is there twice");
    check_wrong(b"a,\n", Format::Csv, &[], "f: line 1: column 2 has no name; the first row names the fields");
    check_wrong(b"a\ncaf\xe9\n", Format::Csv, &[], "f: line 2 is not UTF-8");
}

#[test]
fn a_json_document_is_an_event_or_a_list_of_them() {
    check("{\n \"a\": 1\n}", Format::Json, &[(1, "{  \"a\": 1 }")]);
    check("[\n {\"a\":1.0},\n\n {\"a\":2}]", Format::Json, &[(2, "{\"a\":1.0}"), (4, "{\"a\":2}")]);
    check("{\"events\": [{\"a\":1},{\"a\":2}]}", Format::Json, &[(1, "{\"a\":1}"), (1, "{\"a\":2}")]);
    check("{\"events\": [1], \"b\": 2}", Format::Json, &[(1, "{\"events\": [1], \"b\": 2}")]);
    check_wrong(
        b"{}\n{}\n",
        Format::Json,
        &[],
        "f: is not JSON: trailing characters at line 2 column 1; one document a line is --format ndjson",
    );
}

#[test]
fn the_ending_of_the_name_says_how_it_is_written() {
    let of = |name: &str| Format::of(std::path::Path::new(name));
    assert_eq!([of("a.csv"), of("a.json"), of("a.ndjson")], [Format::Csv, Format::Json, Format::Ndjson]);
    assert_eq!([of("-"), of("a.jsonl"), of("events")], [Format::Ndjson; 3]);
}
