use super::*;

/// The framing of a head whose lines are given, or the code of the problem.
fn check_of(lines: &str) -> String {
    let head = lines.replace('\n', "\r\n") + "\r\n\r\n";
    match read(&Bytes::from(head)).map(|asked| asked.framing) {
        Ok(Framing::Length(length)) => length.to_string(),
        Ok(Framing::Chunked) => "chunked".to_owned(),
        Err(problem) => format!("{} {}", problem.status, problem.detail),
    }
}

#[test]
fn a_plain_request_has_one_length() {
    for (lines, framing) in [
        ("GET / HTTP/1.1\nhost: a", "0"),
        ("GET / HTTP/1.0", "0"),
        ("POST /v1?x=%20 HTTP/1.1\nHOST:a\ncontent-length:  7\t", "7"),
        ("POST / HTTP/1.1\nhost: a\nTransfer-Encoding: Chunked", "chunked"),
        ("POST / HTTP/1.1\nhost: a\ncontent-length: 18446744073709551615", "18446744073709551615"),
        ("BREW / HTTP/1.1\nhost: a\nx-y: caf\u{e9} \"q\"", "0"),
        ("GET http://a/b HTTP/1.1\nhost: a", "0"),
        ("OPTIONS * HTTP/1.1\nhost:", "0"),
        ("CONNECT a:80 HTTP/1.1\nhost: a", "0"),
    ] {
        assert_eq!(check_of(lines), framing, "{lines:?}");
    }
}

#[test]
fn what_could_be_read_in_two_ways_is_not_read() {
    for lines in [
        "GET / HTTP/1.1",
        "GET / HTTP/1.1\nhost: a\nhost: a",
        "GET / HTTP/1.0\nhost: a\nhost: b",
        "GET / HTTP/1.1\nhost: a\ncontent-length: 5\ncontent-length: 5",
        "GET / HTTP/1.1\nhost: a\ncontent-length: 5, 5",
        "GET / HTTP/1.1\nhost: a\ncontent-length: +5",
        "GET / HTTP/1.1\nhost: a\ncontent-length: -0",
        "GET / HTTP/1.1\nhost: a\ncontent-length: 0x5",
        "GET / HTTP/1.1\nhost: a\ncontent-length:",
        "GET / HTTP/1.1\nhost: a\ncontent-length: 5 5",
        "GET / HTTP/1.1\nhost: a\ncontent-length: 18446744073709551616",
        "GET / HTTP/1.1\nhost: a\ncontent-length: 5\ntransfer-encoding: chunked",
        "GET / HTTP/1.1\nhost: a\ntransfer-encoding: chunked\ncontent-length: 5",
        "GET / HTTP/1.1\nhost: a\ntransfer-encoding: chunked\ntransfer-encoding: chunked",
        "GET / HTTP/1.1\nhost: a\ntransfer-encoding: gzip, chunked",
        "GET / HTTP/1.1\nhost: a\ntransfer-encoding: identity",
        "GET / HTTP/1.1\nhost: a\ntransfer-encoding: xchunked",
        "GET / HTTP/1.1\nhost: a\ntransfer-encoding: \u{b}chunked",
        "GET / HTTP/1.1\nhost: a\ntransfer-encoding:",
        "GET / HTTP/1.0\nhost: a\ntransfer-encoding: chunked",
        "GET / HTTP/1.1\nhost: a\ncontent-length : 5",
        "GET / HTTP/1.1\nhost : a",
        "GET / HTTP/1.1\nhost: a\nx: 1\n 2",
        "GET / HTTP/1.1\n host: a",
        "GET / HTTP/1.1\nhost: a\nx",
        "GET / HTTP/1.1\nhost: a\n: y",
        "GET / HTTP/1.1\nhost: a\nx: \0",
        "GET / HTTP/1.1\nhost: a\nx\0: y",
        "GET / HTTP/1.1\nhost: a\nx: a\rb: c",
        "GET  / HTTP/1.1\nhost: a",
        "GET /  HTTP/1.1\nhost: a",
        "GET\t/ HTTP/1.1\nhost: a",
        "GET / HTTP/1.1 \nhost: a",
        " GET / HTTP/1.1\nhost: a",
        "GET / HTTP/1.2\nhost: a",
        "GET / HTTP/2.0\nhost: a",
        "PRI * HTTP/2.0",
        "GET / http/1.1\nhost: a",
        "GET /\nhost: a",
        "GET",
        "G(T / HTTP/1.1\nhost: a",
        "GET /caf\u{e9} HTTP/1.1\nhost: a",
        "GET /\u{7f} HTTP/1.1\nhost: a",
        "GET  HTTP/1.1\nhost: a",
        "GET nowhere HTTP/1.1\nhost: a",
        "GET a:80 HTTP/1.1\nhost: a",
    ] {
        assert!(check_of(lines).starts_with("400 "), "{lines:?}: {}", check_of(lines));
    }
}

#[test]
fn headers_have_a_number() {
    let lines = |count: usize| "GET / HTTP/1.1\nhost: a".to_owned() + &"\nx: y".repeat(count - 1);
    assert_eq!(check_of(&lines(LINES_MAX)), "0");
    assert!(check_of(&lines(LINES_MAX + 1)).starts_with("431 "));
}

#[test]
fn a_request_says_whether_it_is_the_last_and_whether_it_waits_for_a_word() {
    for (lines, is_last, expects) in [
        ("GET / HTTP/1.1\nhost: a", false, false),
        ("GET / HTTP/1.1\nhost: a\nconnection: Close", true, false),
        ("GET / HTTP/1.1\nhost: a\nconnection: upgrade, close", true, false),
        ("GET / HTTP/1.1\nhost: a\nconnection: closed", false, false),
        ("GET / HTTP/1.0", true, false),
        ("GET / HTTP/1.0\nconnection: keep-alive", false, false),
        ("GET / HTTP/1.0\nconnection: keep-alive, close", true, false),
        ("PUT / HTTP/1.1\nhost: a\nexpect: 100-Continue", false, true),
        ("PUT / HTTP/1.0\nexpect: 100-continue", true, false),
    ] {
        let asked = read(&Bytes::from(lines.replace('\n', "\r\n") + "\r\n\r\n")).expect("a head");
        assert_eq!((asked.is_last, asked.expects), (is_last, expects), "{lines:?}");
    }
}
