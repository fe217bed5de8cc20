//! Reading a scenario file.

use hapax_core::contract::Checked;
use hapax_core::contract::Contract;
use hapax_core::source::{Node, Place, Problem, Reader, Table, Value};
use hapax_core::time::{self, Time};

use super::action::{ACTIONS, Action};

/// A scenario file, read.
#[derive(Debug)]
pub(crate) struct Scenario {
    /// What it shows.
    pub(crate) name: String,
    /// The contract that it begins with.
    pub(crate) contract: Checked,
    /// What happens.
    pub(crate) steps: Vec<Step>,
}

/// One step.
#[derive(Debug)]
pub(crate) struct Step {
    /// Where it stands.
    pub(super) at: Place,
    /// The clock, from this step on.
    pub(super) clock: Option<Time>,
    /// What is done, before saved values are put in.
    pub(super) kind: &'static str,
    /// What the action says.
    pub(super) node: Node,
    pub(super) dry_run: bool,
    pub(super) atomic: bool,
    pub(super) force: bool,
    pub(super) key: Option<String>,
    pub(super) save: Option<String>,
    pub(super) expect: Option<Node>,
}

impl Scenario {
    /// Reads a file, or says everything that is wrong with it.
    pub(crate) fn read(text: &str) -> Result<Self, Vec<Problem>> {
        let node = Node::from_toml(text).map_err(|problem| vec![problem])?;
        let mut reader = Reader::default();
        let mut top = reader.table(&node, "");
        top.required("name", "a short sentence", &mut reader);
        let name = top.text("name", &mut reader).unwrap_or_default().to_owned();
        let contract = contract(&mut top, &mut reader);
        let steps = steps(&mut top, &mut reader);
        top.finish(&mut reader);
        match contract {
            Some(contract) if reader.problems.is_empty() => Ok(Self { name, contract, steps }),
            _ => Err(reader.problems),
        }
    }
}

fn contract(top: &mut Table<'_>, reader: &mut Reader) -> Option<Checked> {
    let node = top.required("contract", "the contract that the story begins with", reader)?;
    let prefixed = |mut problem: Problem| {
        problem.key = if problem.key.is_empty() { "contract".into() } else { format!("contract.{}", problem.key) };
        problem
    };
    match Contract::from_node(node.clone()) {
        Ok(checked) => Some(checked),
        Err(problems) => {
            reader.problems.extend(problems.into_iter().map(prefixed));
            None
        }
    }
}

fn steps(top: &mut Table<'_>, reader: &mut Reader) -> Vec<Step> {
    let Some(node) = top.required("step", "at least one [[step]]", reader) else { return Vec::new() };
    if !matches!(&node.value, Value::List(items) if !items.is_empty()) {
        let found = if let Value::List(_) = node.value { "an empty list" } else { node.kind() };
        reader.complain("step", node.at, format!("expected at least one [[step]], with two brackets, found {found}"));
        return Vec::new();
    }
    let nodes = top.list("step", reader).unwrap_or_default();
    let mut saved = Vec::new();
    let mut steps = Vec::new();
    for (index, (_, node)) in nodes.into_iter().enumerate() {
        let path = format!("step {}", index + 1);
        let mut table = reader.table(node, &path);
        let step = step(&mut table, &saved, reader);
        table.finish(reader);
        if let Some(step) = step {
            if index == 0 && node.get("at").is_none() {
                reader.complain(
                    format!("{path}.at"),
                    node.at,
                    "is missing: the first step needs the clock, such as \"2026-01-01T10:00:00Z\"",
                );
            }
            saved.extend(step.save.clone());
            steps.push(step);
        }
    }
    steps
}

fn step(table: &mut Table<'_>, saved: &[String], reader: &mut Reader) -> Option<Step> {
    let clock = clock(table, reader);
    let actions: Vec<(&'static str, &Node)> =
        ACTIONS.iter().filter_map(|kind| table.node(kind).map(|node| (*kind, node))).collect();
    let dry_run = table.bool("dry_run", false, reader);
    let atomic = table.bool("atomic", false, reader);
    let force = table.bool("override", false, reader);
    let key = table.text("key", reader).map(str::to_owned);
    let save = table.text("save", reader).map(str::to_owned);
    if let Some(name) = save.as_ref().filter(|name| name.is_empty() || name.contains('.')) {
        let at = table.node("save").map_or(table.at, |node| node.at);
        reader.complain(table.key("save"), at, format!("expected a name without a dot, found \"{name}\""));
    }
    let expect = expectation(table, reader);
    let (kind, node) = match actions.as_slice() {
        [(kind, node)] => (*kind, *node),
        [] => {
            reader.complain(
                table.path.clone(),
                table.at,
                format!("has no action; expected one of {}", ACTIONS.join(", ")),
            );
            return None;
        }
        [_, (second, node), ..] => {
            let found: Vec<_> = actions.iter().map(|(kind, _)| *kind).collect();
            reader.complain(
                table.key(second),
                node.at,
                format!("a step has one action, found {}", found.join(" and ")),
            );
            return None;
        }
    };
    beside(kind, table, reader);
    // Saved values are not known yet, so nothing can be wrong where one will stand.
    let mut references = Vec::new();
    places_of_saved(node, saved, &mut references);
    let before = reader.problems.split_off(0);
    Action::read(kind, node, &table.key(kind), reader);
    reader.problems.retain(|problem| !references.contains(&problem.at));
    reader.problems.splice(0..0, before);
    Some(Step { at: table.at, clock, kind, node: node.clone(), dry_run, atomic, force, key, save, expect })
}

/// What may stand beside an action, and beside which: anything else would be ignored in silence.
fn beside(kind: &str, table: &mut Table<'_>, reader: &mut Reader) {
    const SUBMITS: &[&str] = &["event", "raw", "batch"];
    const WRITES: &[&str] =
        &["event", "raw", "batch", "adjust", "close", "acknowledge", "handler", "claim", "heartbeat", "done", "failed"];
    for (key, kinds) in [("dry_run", SUBMITS), ("atomic", SUBMITS), ("override", SUBMITS), ("key", WRITES)] {
        if let Some(node) = table.node(key).filter(|_| !kinds.contains(&kind)) {
            let why = format!("means nothing beside {kind}; it goes with {}", kinds.join(", "));
            reader.complain(table.key(key), node.at, why);
        }
    }
}

fn places_of_saved(node: &Node, saved: &[String], places: &mut Vec<Place>) {
    match &node.value {
        Value::Text(text) => {
            let name = text.strip_prefix('$').map(|reference| reference.split('.').next().unwrap_or_default());
            if name.is_some_and(|name| saved.iter().any(|known| known == name)) {
                places.push(node.at);
            }
        }
        Value::List(items) => items.iter().for_each(|item| places_of_saved(item, saved, places)),
        Value::Table(members) => members.iter().for_each(|(_, member)| places_of_saved(member, saved, places)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn clock(table: &mut Table<'_>, reader: &mut Reader) -> Option<Time> {
    let node = table.node("at")?;
    let why = match &node.value {
        Value::Text(text) => match time::parse(text, true) {
            Ok(time) => return Some(time),
            Err(fault) => format!(": {}", fault.why()),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Table(_) => String::new(),
    };
    let why = format!("expected a time such as \"2026-01-01T10:00:00Z\", found {}{why}", node.found());
    reader.complain(table.key("at"), node.at, why);
    None
}

fn expectation(table: &mut Table<'_>, reader: &mut Reader) -> Option<Node> {
    let node = table.node("expect")?;
    if !matches!(node.value, Value::Table(_)) {
        reader.complain(table.key("expect"), node.at, format!("expected a table, found {}", node.kind()));
    }
    Some(node.clone())
}

/// A tree with each text `"$name.path"` replaced by what `find` has for it.
pub(super) fn with_saved(node: &Node, find: &impl Fn(&str, &[&str]) -> Option<Value>) -> Node {
    let value = match &node.value {
        Value::Text(text) => {
            let reference = text.strip_prefix('$').map(|reference| reference.split('.').collect::<Vec<_>>());
            let found =
                reference.as_deref().and_then(|parts| parts.split_first()).and_then(|(name, path)| find(name, path));
            found.unwrap_or_else(|| node.value.clone())
        }
        Value::List(items) => Value::List(items.iter().map(|item| with_saved(item, find)).collect()),
        Value::Table(members) => {
            Value::Table(members.iter().map(|(key, member)| (key.clone(), with_saved(member, find))).collect())
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => node.value.clone(),
    };
    Node { value, at: node.at }
}
