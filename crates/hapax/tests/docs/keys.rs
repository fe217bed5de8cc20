//! Every key of a contract has its row with its true default and stands in an example; the presets' table is what the
//! presets are; every example is taken, and every unsafe one refused.

use std::collections::{BTreeMap, BTreeSet};

use hapax_core::contract::{Contract, PRESETS};
use hapax_core::source::Node;
use serde_json::Value;

use crate::markdown::{code, page, pages};

/// The keys of a written or shown contract, dotted. Names that the author chooses are `NAME`, items of a list `[]`.
fn keys(value: &Value, path: &str, out: &mut BTreeSet<String>) {
    match value {
        // The names in it are the author's own.
        Value::Object(_) if path.ends_with(".factors") => _ = out.insert(path.to_owned()),
        Value::Object(members) => {
            if is_condition(path) {
                out.insert(path.to_owned());
            }
            for (name, member) in members {
                let name = if path == "counters" { "NAME" } else { name };
                let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                keys(member, &path, out);
            }
        }
        Value::Array(items) => {
            out.insert(path.to_owned());
            for item in items.iter().filter(|item| item.is_object()) {
                keys(item, &format!("{path}[]"), out);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => _ = out.insert(path.to_owned()),
    }
}

/// A table that may be empty, which is then a value of its own.
fn is_condition(path: &str) -> bool {
    path == "sequence.expected_required_for" || path.ends_with(".when")
}

pub(crate) fn contract(toml: &str) -> Contract {
    let read = Contract::from_toml(toml);
    read.unwrap_or_else(|problems| panic!("{}\nin\n{toml}", problems[0])).contract
}

/// Every key that a contract shows, in any preset or example.
pub(crate) fn known() -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    let presets = PRESETS.iter().map(|preset| format!("preset = \"{}\"", preset.name));
    for text in presets.chain([String::new()]).chain(examples("toml contract")) {
        keys(&shown(&text), "", &mut known);
    }
    known
}

fn shown(toml: &str) -> Value {
    let text = serde_json::to_string(&contract(toml)).expect("a contract as JSON");
    serde_json::from_str(&text).expect("JSON")
}

fn examples(info: &str) -> Vec<String> {
    let blocks = pages().into_iter().flat_map(|page| page.blocks());
    blocks.filter(|block| block.info == info).map(|block| block.body).collect()
}

/// The rows of keys: each with the text of its default.
fn rows() -> BTreeMap<String, String> {
    let mut rows = BTreeMap::new();
    for cells in page("docs/contract.md").rows("key").into_iter().filter(|cells| cells.len() == 3) {
        let key = code(&cells[0])[0].to_owned();
        assert!(rows.insert(key.clone(), cells[1].clone()).is_none(), "{key} has two rows in docs/contract.md");
    }
    rows
}

#[test]
fn every_key_has_its_row() {
    let rows: BTreeSet<_> = rows().into_keys().collect();
    assert_eq!(rows, known(), "the keys in docs/contract.md, and those that a contract shows");
}

#[test]
fn every_default_is_the_one_in_the_table() {
    for (key, default) in rows() {
        let Some(default) = code(&default).first().copied() else {
            let is_known = default == "required" || key == "preset" && default == "absent";
            assert!(is_known, "the default of {key} is {default}");
            continue;
        };
        // An item of a list cannot be written by its key alone.
        if key.contains("[]") {
            continue;
        }
        let base = if key.starts_with("counters.") { "counters.NAME.amount = \"/n\"\n" } else { "" };
        assert_eq!(contract(&format!("{base}{key} = {default}")), contract(base), "the default of {key}");
    }
}

#[test]
fn every_key_stands_in_an_example() {
    let mut written = BTreeSet::new();
    for text in examples("toml contract") {
        let node = Node::from_toml(&text).unwrap_or_else(|problem| panic!("{problem}\nin\n{text}"));
        keys(&serde_json::from_str(&node.to_json()).expect("a tree as JSON"), "", &mut written);
    }
    let without: Vec<_> = rows().into_keys().filter(|key| !written.contains(key)).collect();
    assert!(without.is_empty(), "keys without an example: {without:?}");
}

#[test]
fn an_unsafe_example_is_refused() {
    let examples = examples("toml unsafe");
    assert!(!examples.is_empty());
    for text in examples {
        assert!(Contract::from_toml(&text).is_err(), "this is taken:\n{text}");
    }
}

#[test]
fn a_block_of_toml_in_the_reference_says_what_it_is() {
    for block in page("docs/contract.md").blocks().into_iter().filter(|block| block.info.starts_with("toml")) {
        assert!(["toml contract", "toml unsafe"].contains(&block.info.as_str()), "{}:\n{}", block.info, block.body);
    }
}

/// Every key with its value; lists and conditions are values.
fn values(value: &Value, path: &str, out: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(members) if !is_condition(path) => {
            for (name, member) in members {
                let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                values(member, &path, out);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            out.insert(path.to_owned(), value.clone());
        }
    }
}

#[test]
fn the_table_of_presets_is_what_they_are() {
    let page = page("docs/contract.md");
    let header: Vec<_> = page.header("key");
    let columns: Vec<_> = header[1..].iter().map(|cell| code(cell)[0]).collect();
    assert_eq!(columns, PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>());

    let mut defaults = BTreeMap::new();
    values(&shown(""), "", &mut defaults);
    let rows = page.rows("key").into_iter().filter(|cells| cells.len() == header.len());
    let rows: BTreeMap<_, _> = rows.map(|cells| (code(&cells[0])[0].to_owned(), cells[1..].to_vec())).collect();
    for (column, name) in columns.iter().enumerate() {
        let mut found = BTreeMap::new();
        values(&shown(&format!("preset = \"{name}\"")), "", &mut found);
        found.remove("preset");
        found.retain(|key, value| defaults.get(key) != Some(value));
        let cells = rows.iter().filter_map(|(key, cells)| Some((key, code(&cells[column]).first().copied()?)));
        let written: BTreeMap<_, _> = cells
            .map(|(key, text)| {
                (key.clone(), serde_json::from_str(text).unwrap_or_else(|error| panic!("{key}: {error}")))
            })
            .collect();
        assert_eq!(written, found, "the column of {name} in docs/contract.md");
    }
}
