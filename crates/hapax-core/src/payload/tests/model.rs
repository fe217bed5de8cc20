//! A slow second opinion on payloads, and the documents to have it about.
//!
//! A model is a `serde_json::Value` in which every leaf but null is a tagged string: `n:` a number in billionths, `s:`
//! text, `t:` an instant, `x:` excluded. Excluded places stay as tombstones until the end, places are found by
//! serde_json's own pointers, numbers are integers: nothing is shared with what is tested.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value as Model, json};

use crate::number::Number;
use crate::payload::{Decimals, PayloadRules, Units};
use crate::pointer::Pointer;

const BILLION: i128 = 1_000_000_000;

/// The parts that are compared, by pointer.
pub(crate) fn slow_payload(rules: &PayloadRules, document: &Model) -> BTreeMap<String, Option<Model>> {
    let mut whole = document.clone();
    // A part that is excluded as a whole is no part at all; below it, tombstones.
    let is_under = |below: &str, above: &str| below == above || below.starts_with(&format!("{above}/"));
    let include: Vec<String> = if rules.include.is_empty() {
        vec![String::new()]
    } else {
        rules.include.iter().map(Pointer::to_string).collect()
    };
    let exclude: Vec<String> = rules.exclude.iter().map(Pointer::to_string).collect();
    let chosen: Vec<&String> = include
        .iter()
        .filter(|pointer| !include.iter().any(|other| other != *pointer && is_under(pointer, other)))
        .filter(|pointer| !exclude.iter().any(|other| is_under(pointer, other)))
        .collect();
    let in_parts = |pointer: &Pointer| chosen.iter().any(|part| is_under(&pointer.to_string(), part));
    for pointer in &exclude {
        if let Some(place) = whole.pointer_mut(pointer) {
            *place = json!("x:");
        }
    }
    for rule in rules.units.iter().filter(|rule| in_parts(&rule.field) && in_parts(&rule.unit)) {
        let unit = tagged(&whole, &rule.unit, "s:");
        let number = tagged(&whole, &rule.field, "n:").and_then(|text| text.parse::<i128>().ok());
        if let (Some(unit), Some(number)) = (unit, number)
            && unit != rule.to
            && let Some(factor) = rules_factor(rule, &unit)
        {
            put(&mut whole, &rule.field, format!("n:{}", number * factor / 1000));
            put(&mut whole, &rule.unit, format!("s:{}", rule.to));
        }
    }
    for rule in &rules.decimals {
        if let Some(text) = tagged(&whole, &rule.field, "n:").filter(|_| in_parts(&rule.field)) {
            let number = text.parse::<i128>().expect("a model number");
            put(&mut whole, &rule.field, format!("n:{}", rounded(number, rule.places)));
        }
    }
    for pointer in rules.utc.iter().filter(|pointer| in_parts(pointer)) {
        if let Some(hour) = tagged(&whole, pointer, "s:").and_then(|text| instant(&text)) {
            put(&mut whole, pointer, format!("t:{hour}"));
        }
    }
    for pointer in rules.lowercase.iter().filter(|pointer| in_parts(pointer)) {
        if let Some(text) = tagged(&whole, pointer, "s:") {
            put(&mut whole, pointer, format!("s:{}", text.to_ascii_lowercase()));
        }
    }
    chosen.into_iter().map(|pointer| (pointer.clone(), whole.pointer(pointer).map(swept))).collect()
}

fn tagged(model: &Model, pointer: &Pointer, tag: &str) -> Option<String> {
    model.pointer(&pointer.to_string())?.as_str()?.strip_prefix(tag).map(str::to_owned)
}

fn put(model: &mut Model, pointer: &Pointer, text: String) {
    if let Some(place) = model.pointer_mut(&pointer.to_string()) {
        *place = Model::String(text);
    }
}

/// The factor in thousandths; the models use no finer ones.
fn rules_factor(rule: &Units, unit: &str) -> Option<i128> {
    rule.factors.get(unit)?.times(&Number::from(1000)).to_string().parse().ok()
}

fn rounded(number: i128, places: u32) -> i128 {
    let unit = BILLION / 10_i128.pow(places);
    let (floor, rest) = (number.div_euclid(unit), number.rem_euclid(unit));
    let is_up = rest * 2 > unit || (rest * 2 == unit && floor % 2 != 0);
    (floor + i128::from(is_up)) * unit
}

const TIMES: [(&str, u32); 4] = [
    ("2026-01-01T00:00:00Z", 0),
    ("2026-01-01T01:00:00+01:00", 0),
    ("2026-01-01T00:00:00.000z", 0),
    ("2026-01-01T01:00:00Z", 1),
];

fn instant(text: &str) -> Option<u32> {
    TIMES.iter().find(|time| time.0 == text).map(|time| time.1)
}

fn swept(model: &Model) -> Model {
    let is_kept = |value: &Model| value != &json!("x:");
    match model {
        Model::Array(items) => items.iter().filter(|item| is_kept(item)).map(swept).collect(),
        Model::Object(members) => {
            members.iter().filter(|(_, value)| is_kept(value)).map(|(key, value)| (key.clone(), swept(value))).collect()
        }
        Model::Null | Model::Bool(_) | Model::Number(_) | Model::String(_) => model.clone(),
    }
}

/// Writes a model as JSON in one of many ways; `style` decides which.
pub(crate) fn written(model: &Model, style: &mut u64) -> String {
    *style = style.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let choice = *style >> 60;
    let space = if choice.is_multiple_of(3) { " " } else { "" };
    match model {
        Model::String(text) if text.starts_with("n:") => {
            let number: i128 = text[2..].parse().expect("a model number");
            let (sign, whole) = (if number < 0 { "-" } else { "" }, number.abs());
            match choice % 3 {
                0 => format!("{sign}{}.{:09}", whole / BILLION, whole % BILLION),
                1 => format!("{number}e-9"),
                _ => Number::parse(&format!("{number}e-9")).expect("a number").to_string(),
            }
        }
        Model::String(text) => {
            let text = &text[2..];
            let escaped: String = text.chars().map(|char| format!("\\u{:04x}", u32::from(char))).collect();
            if choice.is_multiple_of(2) { format!("\"{text}\"") } else { format!("\"{escaped}\"") }
        }
        Model::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| written(item, style)).collect();
            format!("[{space}{}]", items.join(","))
        }
        Model::Object(members) => {
            let mut pairs: Vec<String> =
                members.iter().map(|(key, value)| format!("\"{key}\"{space}:{}", written(value, style))).collect();
            if choice.is_multiple_of(2) {
                pairs.reverse();
            }
            format!("{{{}}}", pairs.join(","))
        }
        Model::Null | Model::Bool(_) | Model::Number(_) => model.to_string(),
    }
}

fn any_model() -> impl Strategy<Value = Model> {
    let thousandths = prop::sample::select(vec![0_i64, 1, 4, 5, 6, 1000, 1500, 2500, 1_000_000, -1500, -5]);
    let text =
        prop::sample::select(vec!["kg", "g", "t", "KG", "x", "X", TIMES[0].0, TIMES[1].0, TIMES[2].0, TIMES[3].0]);
    let leaf = prop_oneof![
        1 => Just(Model::Null),
        1 => any::<bool>().prop_map(Model::Bool),
        4 => thousandths.prop_map(|number| json!(format!("n:{}", i128::from(number) * 1_000_000))),
        5 => text.prop_map(|text| json!(format!("s:{text}"))),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![prop::collection::vec(inner.clone(), 0..5).prop_map(Model::Array), any_object(inner),]
    })
}

/// Mostly containers, because pointers of two tokens need something to go into.
fn any_container() -> impl Strategy<Value = Model> {
    prop_oneof![2 => prop::collection::vec(any_model(), 0..4).prop_map(Model::Array), 1 => any_object(any_model()), 1 => any_model()]
}

fn any_object(inner: impl Strategy<Value = Model>) -> impl Strategy<Value = Model> {
    let key = prop::sample::select(vec!["a", "b", "0", "2"]).prop_map(str::to_owned);
    prop::collection::btree_map(key, inner, 1..4).prop_map(|members| members.into_iter().collect())
}

fn any_pointer() -> impl Strategy<Value = Pointer> {
    let token = prop::sample::select(vec!["a", "b", "0", "1", "2"]).prop_map(str::to_owned);
    prop_oneof![
        1 => Just(Pointer::default()),
        30 => prop::collection::vec(token.clone(), 1..3).prop_map(Pointer::from),
        5 => prop::collection::vec(token, 3).prop_map(Pointer::from),
    ]
}

pub(crate) fn any_rules() -> impl Strategy<Value = PayloadRules> {
    let some = |most: usize| prop::collection::vec(any_pointer(), 0..most);
    let decimals = (any_pointer(), 0_u32..4).prop_map(|(field, places)| Decimals { field, places });
    let units = (any_pointer(), any_pointer(), any::<bool>()).prop_map(|(field, unit, heavy)| {
        let (to, factors) =
            if heavy { ("t", [("kg", "0.001"), ("t", "7")]) } else { ("kg", [("g", "0.001"), ("t", "1e3")]) };
        let factors = factors
            .iter()
            .map(|(unit, factor)| ((*unit).to_owned(), Number::parse(factor).expect("a factor")))
            .collect();
        Units { field, unit, to: to.to_owned(), factors }
    });
    let (decimals, units) = (prop::collection::vec(decimals, 0..3), prop::collection::vec(units, 0..3));
    (some(4), some(4), some(4), some(4), decimals, units).prop_map(
        |(include, exclude, lowercase, utc, decimals, units)| PayloadRules {
            include,
            exclude,
            lowercase,
            utc,
            decimals,
            units,
        },
    )
}

/// Two documents that are often nearly the same.
pub(crate) fn any_pair() -> impl Strategy<Value = (Model, Model)> {
    let edits = prop::collection::vec((any_pointer(), any_model()), 0..3);
    let document = || prop_oneof![8 => any_object(any_container()), 1 => any_model()];
    let edited = (document(), edits).prop_map(|(original, edits)| {
        let mut submitted = original.clone();
        for (pointer, value) in edits {
            // Arrays grow or shrink rather than vanish, so that what stands behind what is tried often.
            match submitted.pointer_mut(&pointer.to_string()) {
                Some(Model::Array(items)) if value.is_string() => items.push(value),
                Some(Model::Array(items)) if !items.is_empty() => drop(items.pop()),
                Some(place) => *place = value,
                None => {}
            }
        }
        (original, submitted)
    });
    prop_oneof![3 => edited, 1 => (document(), document())]
}

/// Rules with a pair of units that the documents are sure to have, because chance alone seldom hits both.
pub(crate) fn any_case() -> impl Strategy<Value = (PayloadRules, Model, Model)> {
    let weight = || prop::sample::select(vec!["1000000000", "1000000000000"]);
    let unit = || prop::sample::select(vec!["kg", "kg", "g", "g", "x"]);
    let side = move || (weight(), weight(), unit(), unit());
    (any_rules(), any_pair(), any::<bool>(), side(), side()).prop_map(|(rules, pair, is_weighed, left, right)| {
        let (mut original, mut submitted) = pair;
        let mut rules = rules;
        if is_weighed {
            for (model, side) in [(&mut original, left), (&mut submitted, right)] {
                if let Some(members) = model.as_object_mut() {
                    members.insert("w".to_owned(), json!(format!("n:{}", side.0)));
                    members.insert("v".to_owned(), json!([format!("n:{}", side.1)]));
                    members.insert("u".to_owned(), json!({ "u": format!("s:{}", side.2) }));
                    members.insert("t".to_owned(), json!(format!("s:{}", side.3)));
                }
            }
            let factors: BTreeMap<String, Number> = [("g", "0.001"), ("t", "1000")]
                .map(|(unit, by)| (unit.to_owned(), Number::parse(by).expect("a factor")))
                .into();
            let pointer = |text: &str| Pointer::parse(text).expect("a pointer");
            for (field, unit) in
                [("/w", "/u/u"), ("/v/0", "/u/u"), ("/v/0", "/t")].into_iter().take(1 + rules.units.len())
            {
                let rule =
                    Units { field: pointer(field), unit: pointer(unit), to: "kg".to_owned(), factors: factors.clone() };
                rules.units.push(rule);
            }
            if !rules.include.is_empty() {
                rules.include.extend(["/w", "/v/0", "/u", "/t"].map(pointer));
            }
        }
        (rules, original, submitted)
    })
}
