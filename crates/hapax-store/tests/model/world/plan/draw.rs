//! How the fields of a plan are drawn: mostly what fits, often what collides, sometimes what is wrong.

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::super::super::model::{Rules, Source};
use super::{Epoch, Expected, HOUR, Name, Near, S, Seq, Shape, When};

pub(super) fn name(prefix: &'static str, absent: u32) -> impl Strategy<Value = Name> {
    let wrong =
        vec![json!(5), json!(""), json!(true), json!(["e1"]), json!("\u{0}"), json!("x".repeat(257)), json!(0.5)];
    prop_oneof![
        90 => Just(Name::New),
        25 => (0_u64..4).prop_map(move |n| Name::Is(json!(format!("{prefix}{n}")))),
        absent => Just(Name::Absent),
        4 => select(vec![json!("x".repeat(256)), json!("E1"), json!("e1 "), json!("b:e1"), json!("b:n1")]).prop_map(Name::Is),
        2 => Just(Name::Is(Value::Null)),
        2 => select(wrong).prop_map(Name::Is),
    ]
}

pub(super) fn lane() -> impl Strategy<Value = Option<Value>> {
    let wrong = vec![json!(true), json!(1.5), json!(""), json!({}), json!("a\u{0}")];
    prop_oneof![
        110 => Just(Some(json!("a"))),
        55 => Just(Some(json!("b"))),
        6 => select(vec![json!("A"), json!(1), json!("[1]"), json!("default"), json!(-1), json!("a:b")]).prop_map(Some),
        4 => Just(None),
        1 => Just(Some(Value::Null)),
        2 => select(wrong).prop_map(Some),
    ]
}

fn wrong_number() -> impl Strategy<Value = Value> {
    select(vec![json!(1.0), json!(2.5), json!(-1), json!("3"), json!(1.8446744073709552e19), json!([1]), json!(false)])
}

pub(super) fn seq(rules: &Rules, near_top: bool) -> impl Strategy<Value = Seq> + use<> {
    let (absent, some) = if rules.sequence.source == Source::Producer { (2, 90) } else { (80, 10) };
    let top = u32::from(near_top);
    prop_oneof![
        absent => Just(Seq::Absent),
        some => prop_oneof![
            40 => Just(Seq::Next(0)),
            25 => (-6_i64..=4).prop_map(Seq::Next),
            30 => (0_u64..=12).prop_map(|n| Seq::Is(json!(n))),
            4 * top => (0_u64..=3).prop_map(|n| Seq::Is(json!(u64::MAX - n))),
            1 => Just(Seq::Is(json!(2000))),
        ],
        2 => wrong_number().prop_map(Seq::Is),
        1 => Just(Seq::Is(Value::Null)),
    ]
}

pub(super) fn epoch(rules: &Rules, epochs: bool) -> impl Strategy<Value = Epoch> + use<> {
    if !epochs || rules.sequence.source != Source::Producer {
        return prop_oneof![
            97 => Just(Epoch::Absent),
            1 => wrong_number().prop_map(Epoch::Is),
            1 => Just(Epoch::Is(Value::Null)),
            1 => Just(Epoch::Is(json!(0)))
        ]
        .boxed();
    }
    prop_oneof![
        75 => Just(Epoch::Current(0)),
        4 => Just(Epoch::Current(1)),
        8 => (0_u64..=2).prop_map(|n| Epoch::Is(json!(n))),
        8 => Just(Epoch::Absent),
        2 => wrong_number().prop_map(Epoch::Is),
        1 => Just(Epoch::Is(Value::Null)),
    ]
    .boxed()
}

pub(super) fn expected(rules: &Rules) -> impl Strategy<Value = Expected> + use<> {
    let absent = if rules.sequence.source == Source::Server { 40 } else { 400 };
    prop_oneof![
        absent => Just(Expected::Absent),
        30 => Just(Expected::Current(0)),
        8 => (-1_i64..=1).prop_map(Expected::Current),
        4 => (0_u64..=4).prop_map(|n| Expected::Is(json!(n))),
        2 => wrong_number().prop_map(Expected::Is),
        1 => Just(Expected::Is(Value::Null)),
    ]
}

pub(super) fn when() -> impl Strategy<Value = Option<When>> {
    let texts = [
        "",
        "yesterday",
        "2026-01-31",
        "2026-02-30T12:00:00Z",
        "2026-01-31 23:59:50Z",
        "2026-01-31T23:59:60Z",
        "2026-01-31T24:00:00Z",
        "2026-01-31T23:59:50.1234567890Z",
        "1677-12-31T23:59:59Z",
        "2262-01-01T00:00:00Z",
        "2026-01-31T23:59:50+0000",
        "2026-01-31T23:59:50+00",
        "2026-01-31T23:59:50Z ",
        "2026-1-31T23:59:50Z",
        "2026-01-31T23:59:50,5Z",
        "2026-02-30T12:00:00+02:00",
        "2026-01-31T23:59:50+24:00",
    ];
    let mut wrong: Vec<Value> = texts.iter().map(|text| json!(text)).collect();
    wrong.extend([json!(1_769_903_990), json!(true), Value::Null]);
    let near = prop_oneof![
        50 => Just(Near::Now),
        6 => Just(Near::Future),
        6 => Just(Near::Past),
        6 => Just(Near::LateBound),
        3 => Just(Near::Horizon),
        10 => Just(Near::Regression),
        10 => Just(Near::LastTime),
        8 => Just(Near::Watermark),
        4 => select(wrong).prop_map(Near::Is),
    ];
    let off = prop_oneof![
        30 => Just(0_i64),
        30 => select(vec![-1_i64, 1]),
        15 => (-8_i64..=3).prop_map(|seconds| seconds * S),
        2 => select(vec![-HOUR, HOUR, -24 * HOUR, -31 * 24 * HOUR]),
    ];
    let shape = prop_oneof![
        30 => Just(Shape::Z),
        2 => Just(Shape::LowerCase),
        2 => Just(Shape::NineDigits),
        3 => Just(Shape::PlusZero),
        2 => Just(Shape::PlusTwoHours),
        1 => Just(Shape::MinusZero),
        1 => Just(Shape::Local),
    ];
    let when = (near, off, shape).prop_map(|(near, off_ns, shape)| When { near, off_ns, shape });
    prop_oneof![1 => Just(None), 12 => when.prop_map(Some)]
}

pub(super) fn amount(rules: &Rules) -> impl Strategy<Value = Option<Value>> + use<> {
    let good = vec![
        json!(1),
        json!(2),
        json!(-3),
        json!(0),
        json!(1.0),
        json!(0.1),
        json!(0.2),
        json!("1.5"),
        json!("-2"),
        json!("1e2"),
        json!("0.000000001"),
        json!(9_999_999_999_999_999_999_u64),
        json!("-9999999999999999999.999999999"),
        json!(1e18),
        json!("5E-9"),
        json!("-0"),
    ];
    let bad = vec![
        json!("99999999999999999999"),
        json!("1e-10"),
        json!("1e19"),
        json!(1e300),
        json!("abc"),
        json!(""),
        json!(" 1"),
        json!("+1"),
        json!("01"),
        json!(".5"),
        json!("1."),
        json!("NaN"),
        json!(true),
        json!([1]),
        Value::Null,
        json!("1e999999999999"),
        json!("0x10"),
        json!("1_000"),
    ];
    let (absent, odd) = if rules.usage.is_some() { (1, 3) } else { (20, 1) };
    prop_oneof![absent => Just(None), 40 => select(good).prop_map(Some), odd => select(bad).prop_map(Some)]
}
