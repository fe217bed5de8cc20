use proptest::prelude::*;

use super::*;

fn check(body: &str, expect: &str) {
    let found = match Documents::json(body.as_bytes(), 10) {
        Ok(it) => {
            let list: Vec<_> = it.iter().map(|it| String::from_utf8_lossy(it).into_owned()).collect();
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
    let lines = |text: &str| Documents::lines(text.as_bytes(), 10).map(|it| it.len()).map_err(|it| it.code);
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
    let headers: Headers = [("content-type", "application/cloudevents+json")].into_iter().collect();
    for body in [r#"{"id":"1"}"#, r#"{"events":[{"id":"1"},{"id":"2"}]}"#, r#"[{"id":"1"},{"id":"2"}]"#, "[]"] {
        let found = Documents::of(&headers, body.as_bytes(), 10).expect("JSON");
        assert!(found.single, "{body}");
        assert_eq!(found.iter().collect::<Vec<_>>(), [body.as_bytes()], "{body}");
    }
}

/// Is it one event, and the documents.
type Pieces = (bool, Vec<Vec<u8>>);

/// As they were cut before they were scanned: by `serde_json` alone.
fn cut_by_serde(body: &[u8], max: usize) -> Result<Pieces, Problem> {
    let whole = || {
        serde_json::from_slice::<&RawValue>(body).map_err(|error| not_json(&error))?;
        Ok((true, vec![trimmed(body).to_vec()]))
    };
    let start = body.iter().position(|byte| !byte.is_ascii_whitespace());
    let list = match start.map(|at| body[at]) {
        None => return Err(malformed("the body is empty; send an event as a JSON object, or a batch as an array")),
        Some(b'[') => elements(body, max)?,
        Some(b'{') => match serde_json::from_slice::<Top<'_>>(body) {
            Ok(Top(Some(list))) => elements(list.get().as_bytes(), max)?,
            Ok(Top(None)) | Err(_) => return whole(),
        },
        Some(_) => return whole(),
    };
    Ok((false, list.into_iter().map(Cow::into_owned).collect()))
}

fn compare(body: &[u8], max: usize) {
    let shown = String::from_utf8_lossy(body);
    let found = Documents::json(body, max);
    if let Ok(documents) = &found {
        for (index, document) in documents.iter().enumerate() {
            let alone = hapax_core::json::parse(document);
            let raw = documents.node(index).map(|node| node.raw().as_bytes());
            assert!(raw.is_none_or(|raw| raw == document && alone.is_ok()), "{shown}");
        }
    }
    let found = found.map(|it| (it.single, it.iter().map(<[u8]>::to_vec).collect())).map_err(|it| (it.code, it.detail));
    assert_eq!(found, cut_by_serde(body, max).map_err(|it| (it.code, it.detail)), "{shown}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Scanning changes neither what is taken nor what is said of the rest.
    #[test]
    fn a_body_is_cut_as_serde_json_cuts_it(
        wrap in 0..5_usize,
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                r#"{"a":1}"#, "7", r#""x\u00e9""#, r#"{"a":1,"a":2}"#, r#""\ud834""#, "1e99999999999", "[[],{}]", " null ",
                r#"{"events":[1]}"#, "nope", "01", "\"a\u{1}\"", "",
            ]),
            0..5,
        ),
        change in prop::option::weighted(0.6, (any::<prop::sample::Index>(), any::<u8>(), 0..2_u8)),
        max in 0..5_usize,
    ) {
        let list = pieces.join(",");
        let mut body = match wrap {
            0 => format!("[{list}]"),
            1 => format!("{{\"events\":[{list}]}}"),
            2 => format!(" {{ \"\\u0065vents\" : [{list}] }}\n"),
            3 => format!("{{\"events\":[{list}],\"more\":1}}"),
            _ => list,
        }.into_bytes();
        if let Some((at, byte, how)) = change {
            let at = at.index(body.len() + 1);
            let byte = br#"[]{},:"\u0 1x"#.get(usize::from(byte)).copied().unwrap_or(byte);
            if how == 0 || at == body.len() { body.insert(at, byte) } else { body[at] = byte }
        }
        compare(&body, max);
    }
}
