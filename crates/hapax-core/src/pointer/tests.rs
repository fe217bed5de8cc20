//! Pointers: the examples of RFC 6901 and the edges.

use proptest::prelude::*;

use super::{Pointer, index};

fn check(text: &str, expect: &str) {
    let found = match Pointer::parse(text) {
        Ok(pointer) => format!("{:?}", pointer.tokens()),
        Err(error) => error.to_string(),
    };
    assert_eq!(found, expect, "{text}");
}

#[test]
fn pointers_are_read_as_the_rfc_has_them() {
    check("", "[]");
    check("/", r#"[""]"#);
    check("/foo/0", r#"["foo", "0"]"#);
    check("/a~1b", r#"["a/b"]"#);
    check("/m~0n", r#"["m~n"]"#);
    check("/~01", r#"["~1"]"#);
    check("//a/", r#"["", "a", ""]"#);
    check("foo", "a JSON Pointer is empty or begins with a slash");
    check("#/foo", "a JSON Pointer is empty or begins with a slash");
    check("/a~", "in a JSON Pointer ~ is written ~0 and / is written ~1 (byte 2)");
    check("/a~2", "in a JSON Pointer ~ is written ~0 and / is written ~1 (byte 2)");
}

#[test]
fn a_prefix_ends_at_a_token() {
    let is_prefix = |left: &str, right: &str| {
        Pointer::parse(left).expect("a pointer").is_prefix_of(&Pointer::parse(right).expect("a pointer"))
    };
    assert!(is_prefix("", "/a"));
    assert!(is_prefix("/a", "/a"));
    assert!(is_prefix("/a", "/a/b"));
    assert!(!is_prefix("/a", "/ab"));
    assert!(!is_prefix("/a/b", "/a"));
}

#[test]
fn an_index_has_no_leading_zeros_and_no_sign() {
    for (token, expect) in [
        ("0", Some(0)),
        ("10", Some(10)),
        ("00", None),
        ("01", None),
        ("+1", None),
        ("-", None),
        ("", None),
        ("٣", None),
    ] {
        assert_eq!(index(token), expect, "{token}");
    }
    assert_eq!(index("99999999999999999999999"), None);
}

proptest! {
    #[test]
    fn a_pointer_survives_writing_and_reading(tokens in prop::collection::vec("[a~/0-1é]{0,4}", 0..4)) {
        let pointer = Pointer::from(tokens);
        prop_assert_eq!(Pointer::parse(&pointer.to_string()), Ok(pointer));
    }
}
