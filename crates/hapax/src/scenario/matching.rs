//! Does an answer match what was expected?
//!
//! A table matches if each of its keys matches; other keys may be there. Lists match whole, element by element; `marks`
//! and `states` without regard to order. `"*"` matches anything that is there and not null. `absent` names keys that must
//! be missing or null. Numbers compare as exact decimals, also when they are written as texts.

use hapax_core::number::Number;
use hapax_core::source::{Node, Value};

/// Every difference, as a line.
pub(super) fn differences(expected: &Node, found: &Node) -> Vec<String> {
    let mut lines = Vec::new();
    compare("", expected, Some(found), &mut lines);
    lines
}

fn compare(path: &str, expected: &Node, found: Option<&Node>, lines: &mut Vec<String>) {
    let found = found.filter(|node| !matches!(node.value, Value::Null));
    let mut differs = |found: &str| {
        let place = if path.is_empty() { "the answer" } else { path };
        lines.push(format!("{place}: expected {}, found {found}", expected.to_json()));
    };
    let Some(found) = found else {
        return differs("nothing");
    };
    match (&expected.value, &found.value) {
        (Value::Text(any), _) if any == "*" => {}
        (Value::Table(members), Value::Table(_)) => {
            for (key, member) in members {
                let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match &member.value {
                    Value::List(names) if key == "absent" => absent(path, names, found, lines),
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::Text(_)
                    | Value::List(_)
                    | Value::Table(_) => {
                        compare(&inner, member, found.get(key), lines);
                    }
                }
            }
        }
        (Value::List(wanted), Value::List(there)) => {
            let any_order = matches!(path.rsplit('.').next(), Some("marks" | "states"));
            if wanted.len() != there.len() {
                return differs(&found.to_json());
            }
            if any_order {
                if sorted(wanted) != sorted(there) {
                    differs(&found.to_json());
                }
                return;
            }
            for (index, (wanted, there)) in wanted.iter().zip(there).enumerate() {
                compare(&format!("{path}[{index}]"), wanted, Some(there), lines);
            }
        }
        _ if same(expected, found) => {}
        _ => differs(&found.to_json()),
    }
}

fn absent(path: &str, names: &[Node], found: &Node, lines: &mut Vec<String>) {
    for name in names {
        let Value::Text(name) = &name.value else { continue };
        if let Some(there) = found.get(name).filter(|node| !matches!(node.value, Value::Null)) {
            let place = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            lines.push(format!("{place}: expected nothing, found {}", there.to_json()));
        }
    }
}

fn sorted(list: &[Node]) -> Vec<String> {
    let mut texts: Vec<String> = list.iter().map(Node::to_json).collect();
    texts.sort();
    texts
}

fn same(expected: &Node, found: &Node) -> bool {
    match (&expected.value, &found.value) {
        (Value::Text(one), Value::Text(other)) if one == other => true,
        (Value::Bool(one), Value::Bool(other)) => one == other,
        (Value::Text(one) | Value::Number(one), Value::Text(other) | Value::Number(other)) => {
            Number::parse(one).is_some_and(|one| Some(one) == Number::parse(other))
        }
        _ => false,
    }
}
