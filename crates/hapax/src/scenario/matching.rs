//! Does an answer match what was expected?
//!
//! A table matches if each of its keys matches; other keys may be there. Lists match whole, element by element; `marks`
//! and `states` without regard to order. `"*"` matches anything that is there and not null. `absent` names keys that must
//! be missing or null. Numbers compare as exact decimals, also when they are written as texts.

use hapax_core::number::Number;
use hapax_core::source::{Node, Value, nearest};

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
                        let before = lines.len();
                        compare(&inner, member, found.get(key), lines);
                        if let (Some(line), Some(near)) = (lines.get_mut(before), meant(key, found)) {
                            line.push_str(&format!("; did you mean `{near}`?"));
                        }
                    }
                }
            }
        }
        (Value::List(wanted), Value::List(there)) => {
            let any_order = matches!(path.rsplit('.').next(), Some("marks" | "states"));
            if any_order {
                if sorted(wanted) != sorted(there) {
                    differs(&found.to_json());
                }
                return;
            }
            if wanted.len() != there.len() {
                // Both lists whole would be long; how many there are, and where they differ, is what one looks for.
                lines.push(format!("{path}: expected {} in the list, found {}", wanted.len(), there.len()));
            }
            for (index, (wanted, there)) in wanted.iter().zip(there).enumerate() {
                compare(&format!("{path}[{index}]"), wanted, Some(there), lines);
            }
        }
        _ if same(expected, found) => {}
        _ => differs(&found.to_json()),
    }
}

/// The key of the answer that was probably meant by one that it does not have.
fn meant<'n>(key: &str, found: &'n Node) -> Option<&'n str> {
    match &found.value {
        Value::Table(members) if found.get(key).is_none() => {
            nearest(key, members.iter().map(|(name, _)| name.as_str()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Table(_) => None,
    }
}

/// An answer for people: a line for each member, and of a list of tables one for each item.
pub(super) fn in_lines(answer: &Node) -> Vec<String> {
    let Value::Table(members) = &answer.value else { return vec![answer.to_json()] };
    let mut rows = Vec::new();
    for (key, node) in members {
        match &node.value {
            Value::List(items) if items.iter().any(|item| matches!(item.value, Value::Table(_))) => {
                rows.extend(items.iter().enumerate().map(|(index, item)| (format!("{key}[{index}]"), item.to_json())));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) | Value::Table(_) => {
                rows.push((key.clone(), node.to_json()));
            }
        }
    }
    let width = rows.iter().map(|(key, _)| key.chars().count()).max().unwrap_or(0);
    rows.into_iter().map(|(key, value)| format!("{key:<width$}  {value}")).collect()
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
