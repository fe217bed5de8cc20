use http::{Method, Uri};

use super::*;

fn head_of(uri: &'static str, headers: &[(&str, &str)]) -> Head {
    Head { method: Method::GET, uri: Uri::from_static(uri), headers: headers.iter().copied().collect() }
}

fn check_of(headers: &[(&str, &str)], needs_keys: bool) -> &'static str {
    check_where(headers, || Ok(needs_keys))
}

fn check_where(headers: &[(&str, &str)], needs_keys: impl Fn() -> Result<bool, Problem>) -> &'static str {
    check(&head_of("/", headers), needs_keys, &["ledger.example".to_owned()]).err().map_or("ok", |problem| problem.code)
}

#[test]
fn without_keys_it_answers_at_its_own_names_alone() {
    for host in [
        "127.0.0.1",
        "127.0.0.1:4090",
        "[::1]:4090",
        "[::1]",
        "10.1.2.3:80",
        "localhost",
        "LOCALHOST:1",
        "localhost.",
        "a.localhost",
        "ledger.example",
        "Ledger.Example:4090",
    ] {
        assert_eq!(check_of(&[("host", host)], false), "ok", "{host}");
    }
    for host in [
        "evil.example",
        "evil.example:4090",
        "",
        ":4090",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "xlocalhost",
        "[",
        "[evil]",
        "?",
    ] {
        assert_eq!(check_of(&[("host", host)], false), "HOST_UNKNOWN", "{host}");
        assert_eq!(check_of(&[("host", host)], true), "ok", "{host}: a key is what a page has not");
    }
    assert_eq!(check_of(&[], false), "ok", "HTTP/1.0");
}

#[test]
fn a_target_with_a_name_counts_before_the_header() {
    let head = head_of("http://evil.example/", &[("host", "localhost")]);
    assert_eq!(check(&head, || Ok(false), &[]).err().map(|problem| problem.code), Some("HOST_UNKNOWN"));
}

#[test]
fn a_page_of_another_site_is_refused_where_no_keys_are_needed() {
    let host = ("host", "127.0.0.1:4090");
    assert_eq!(check_of(&[host, ("origin", "http://127.0.0.1:4090")], false), "ok");
    assert_eq!(check_of(&[host, ("origin", "http://evil.example")], false), "FORBIDDEN");
    assert_eq!(check_of(&[host, ("origin", "null")], false), "FORBIDDEN");
    assert_eq!(check_of(&[host, ("origin", "http://evil.example")], true), "ok", "a key is what a page has not");
}

#[test]
fn where_the_store_cannot_be_asked_only_what_looks_foreign_waits_for_it() {
    let away = || Err(Problem::new(ProblemCode::StoreUnreachable, "away"));
    assert_eq!(check_where(&[("host", "127.0.0.1:4090")], away), "ok");
    assert_eq!(check_where(&[("host", "evil.example")], away), "STORE_UNREACHABLE");
    assert_eq!(check_where(&[("host", "127.0.0.1"), ("origin", "http://evil.example")], away), "STORE_UNREACHABLE");
}
