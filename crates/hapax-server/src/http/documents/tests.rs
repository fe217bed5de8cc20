use super::*;

fn check(body: &str, expect: &str) {
    let found = match Documents::json(body.as_bytes(), 10) {
        Ok(it) => {
            let list: Vec<_> = it.list.iter().map(|it| String::from_utf8_lossy(it).into_owned()).collect();
            format!("{} {}", if it.single { "one" } else { "batch" }, list.join("|"))
        }
        Err(problem) => problem.code.to_owned(),
    };
    assert_eq!(found.trim_end(), expect, "{body}");
}

#[test]
fn an_object_is_one_event_and_an_array_is_a_batch() {
    check(r#"{"a":1}"#, r#"one {"a":1}"#);
    check(" \n{\"a\":1}\n", r#"one {"a":1}"#);
    check("[]", "batch");
    check(r#"[{"a":1}, 2 ,"x"]"#, r#"batch {"a":1}|2|"x""#);
}

#[test]
fn an_object_whose_only_member_is_the_array_events_is_a_batch() {
    check(r#"{"events":[{"a":1}]}"#, r#"batch {"a":1}"#);
    check(r#"{"\u0065vents":[1]}"#, "batch 1");
    check(r#"{"events":1}"#, r#"one {"events":1}"#);
    check(r#"{"events":[1],"more":1}"#, r#"one {"events":[1],"more":1}"#);
    check(r#"{"more":1,"events":[1]}"#, r#"one {"more":1,"events":[1]}"#);
    check(r#"{"events":[1],"events":[2]}"#, r#"one {"events":[1],"events":[2]}"#);
    check("{}", "one {}");
}

#[test]
fn what_is_no_json_at_all_is_turned_away() {
    for body in ["", "  ", "{", "[1", "[1,]", "nope", "{\"a\":1} {\"a\":2}", "\u{feff}{}"] {
        check(body, "MALFORMED");
    }
}

#[test]
fn what_only_the_judge_refuses_is_let_through() {
    check("7", "one 7");
    check(r#"{"a":1,"a":2}"#, r#"one {"a":1,"a":2}"#);
    let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
    check(&format!(r#"{{"a":{deep}}}"#), &format!(r#"one {{"a":{deep}}}"#));
}

#[test]
fn lines_are_documents_and_empty_ones_are_none() {
    let lines = |text: &str| Documents::lines(text.as_bytes(), 10).map(|it| it.list.len()).map_err(|it| it.code);
    assert_eq!(lines("{}\r\n\n{}\nnope\n"), Ok(3));
    assert_eq!(lines(""), Ok(0));
    assert_eq!(lines("nope"), Err("MALFORMED"));
    assert_eq!(lines(&"{}\n".repeat(10)), Ok(10));
    assert_eq!(lines(&"{}\n".repeat(11)), Err("TOO_LARGE"));
}

#[test]
fn a_batch_is_read_no_further_than_its_limit() {
    check("[0,0,0,0,0,0,0,0,0,0]", "batch 0|0|0|0|0|0|0|0|0|0");
    check("[0,0,0,0,0,0,0,0,0,0,0]", "TOO_LARGE");
    check(r#"{"events":[0,0,0,0,0,0,0,0,0,0,0]}"#, "TOO_LARGE");
    check("[0,0,0,0,0,0,0,0,0,0,0 and what follows is not looked at", "TOO_LARGE");
    check("[0] 0", "MALFORMED");
}

#[test]
fn a_cloudevent_is_one_event_whatever_it_looks_like() {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", hyper::header::HeaderValue::from_static("application/cloudevents+json"));
    for body in [r#"{"id":"1"}"#, r#"{"events":[{"id":"1"},{"id":"2"}]}"#, r#"[{"id":"1"},{"id":"2"}]"#, "[]"] {
        let found = Documents::of(&headers, body.as_bytes(), 10).expect("JSON");
        assert!(found.single, "{body}");
        assert_eq!(found.list, [Arc::from(body.as_bytes())], "{body}");
    }
}
