use hyper::Request;

use super::*;

fn check_of(headers: &[(&str, &str)], needs_keys: bool) -> &'static str {
    let mut request = Request::builder().uri("/");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let (parts, ()) = request.body(()).expect("a request").into_parts();
    check(&parts, needs_keys).err().map_or("ok", |problem| problem.code)
}

#[test]
fn a_request_says_once_whom_it_asks() {
    assert_eq!(check_of(&[("host", "a")], true), "ok");
    assert_eq!(check_of(&[], true), "MALFORMED");
    assert_eq!(check_of(&[("host", "a"), ("host", "a")], true), "MALFORMED");
}

#[test]
fn a_page_of_another_site_is_refused_where_no_keys_are_needed() {
    let host = ("host", "127.0.0.1:4090");
    assert_eq!(check_of(&[host, ("origin", "http://127.0.0.1:4090")], false), "ok");
    assert_eq!(check_of(&[host, ("origin", "http://evil.example")], false), "FORBIDDEN");
    assert_eq!(check_of(&[host, ("origin", "null")], false), "FORBIDDEN");
    assert_eq!(check_of(&[host, ("origin", "http://evil.example")], true), "ok", "a key is what a page has not");
}
