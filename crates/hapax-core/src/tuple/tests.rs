//! The tuple's bytes: pinned once, and different for different tuples.

use proptest::prelude::*;

use super::{TAG, TuplePart, canonical};
use crate::number::Number;

#[test]
fn the_bytes_are_pinned() {
    let number = Number::parse("1.50").expect("a number");
    let parts = [
        TuplePart::Absent,
        TuplePart::Null,
        TuplePart::Bool(true),
        TuplePart::Number(&number),
        TuplePart::Text("ab"),
        TuplePart::Instant(-2),
        TuplePart::Json(b"[]"),
    ];
    let mut expect = TAG.to_vec();
    expect.extend_from_slice(b"\0\0\0\0\0\0\0\x07");
    expect.extend_from_slice(b"\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0");
    expect.extend_from_slice(b"\x02\0\0\0\0\0\0\0\x01\x01\x03\0\0\0\0\0\0\0\x031.5");
    expect.extend_from_slice(b"\x04\0\0\0\0\0\0\0\x02ab\x05\0\0\0\0\0\0\0\x08\xff\xff\xff\xff\xff\xff\xff\xfe");
    expect.extend_from_slice(b"\x06\0\0\0\0\0\0\0\x02[]");
    assert_eq!(canonical(&parts), expect);
}

/// A part that owns what it shows.
#[derive(Clone, Debug, PartialEq)]
enum Owned {
    Absent,
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    Instant(i64),
    Json(String),
}

fn canonical_of(parts: &[Owned]) -> Vec<u8> {
    let show = |part| match part {
        &Owned::Absent => TuplePart::Absent,
        &Owned::Null => TuplePart::Null,
        &Owned::Bool(value) => TuplePart::Bool(value),
        Owned::Number(number) => TuplePart::Number(number),
        Owned::Text(text) => TuplePart::Text(text),
        &Owned::Instant(nanos) => TuplePart::Instant(nanos),
        Owned::Json(text) => TuplePart::Json(text.as_bytes()),
    };
    canonical(&parts.iter().map(show).collect::<Vec<_>>())
}

fn any_part() -> impl Strategy<Value = Owned> {
    prop_oneof![
        Just(Owned::Absent),
        Just(Owned::Null),
        any::<bool>().prop_map(Owned::Bool),
        "[0-2](\\.[05]{1,2})?(e[0-2])?".prop_map(|text| Owned::Number(Number::parse(&text).expect("a number"))),
        "[0-2\u{0}\u{1}\u{4}]{0,10}".prop_map(Owned::Text),
        (0_i64..3).prop_map(Owned::Instant),
        "\\[[0-2]?\\]".prop_map(Owned::Json),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn equal_bytes_mean_equal_tuples(
        left in prop::collection::vec(any_part(), 0..4),
        right in prop::collection::vec(any_part(), 0..4),
    ) {
        prop_assert_eq!(canonical_of(&left) == canonical_of(&right), left == right);
    }
}
