use super::*;

fn check(headers: &[(&'static str, &str)], kind: Option<&str>, body: &[u8], expect: &str) {
    let headers: Headers = headers.iter().copied().collect();
    let found = structured(&headers, kind, body)
        .map_or_else(|it| it.code.to_owned(), |it| String::from_utf8_lossy(&it).into_owned());
    assert_eq!(found, expect);
}

#[test]
fn headers_become_members_and_the_body_becomes_data() {
    let headers = [("ce-specversion", "1.0"), ("ce-id", "a"), ("ce-source", "/s"), ("other", "x")];
    check(
        &headers,
        Some("application/json"),
        br#"{"n": 1.0}"#,
        r#"{"id":"a","source":"/s","specversion":"1.0","data":{"n": 1.0}}"#,
    );
    check(&headers[1..2], None, b"", r#"{"id":"a"}"#);
    check(
        &headers[1..2],
        Some("application/vnd.x+json"),
        b"1",
        r#"{"id":"a","datacontenttype":"application/vnd.x+json","data":1}"#,
    );
    check(&headers[1..2], Some("text/plain"), b"hi", r#"{"id":"a","datacontenttype":"text/plain","data":"hi"}"#);
    check(
        &headers[1..2],
        Some("image/png"),
        &[1, 2, 3, 4],
        r#"{"id":"a","datacontenttype":"image/png","data_base64":"AQIDBA=="}"#,
    );
}

#[test]
fn values_are_decoded_once_and_must_be_utf_8() {
    check(&[("ce-id", "a%20b%2520")], None, b"", r#"{"id":"a b%20"}"#);
    check(&[("ce-id", "%FF")], None, b"", "MALFORMED");
    check(&[("ce-id", "a\"b")], None, b"", r#"{"id":"a\"b"}"#);
}

#[test]
fn what_contradicts_itself_is_turned_away() {
    check(&[("ce-id", "a"), ("ce-id", "b")], None, b"", "MALFORMED");
    check(&[("ce-id", "a"), ("ce-data", "b")], None, b"", "MALFORMED");
    check(&[("ce-id", "a")], Some("application/json"), b"nope", "MALFORMED");
}

#[test]
fn base64_pads_what_is_left() {
    let all: Vec<_> = ["", "f", "fo", "foo", "foob"].iter().map(|it| base64(it.as_bytes())).collect();
    assert_eq!(all, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg=="]);
}
