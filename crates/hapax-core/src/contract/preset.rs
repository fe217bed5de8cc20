//! The presets: whole designs as contracts. They are the TOML files under `contracts/`, and nothing else.

use crate::source::{Node, Value, nearest};

/// A contract to start from.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// What `preset = "…"` says.
    pub name: &'static str,
    /// The file, comments and all.
    pub toml: &'static str,
}

/// Every preset.
pub const PRESETS: &[Preset] = &[
    Preset { name: "telemetry-strict", toml: include_str!("../../../../contracts/telemetry-strict.toml") },
    Preset { name: "telemetry-tolerant", toml: include_str!("../../../../contracts/telemetry-tolerant.toml") },
    Preset { name: "event-sourcing", toml: include_str!("../../../../contracts/event-sourcing.toml") },
    Preset { name: "metering", toml: include_str!("../../../../contracts/metering.toml") },
    Preset { name: "measurements", toml: include_str!("../../../../contracts/measurements.toml") },
    Preset { name: "cloudevents", toml: include_str!("../../../../contracts/cloudevents.toml") },
];

impl Preset {
    /// The preset with this name, or a sentence about those that there are.
    pub fn named(name: &str) -> Result<&'static Self, String> {
        let known = || PRESETS.iter().map(|preset| preset.name);
        PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
            let written = Node::implied(Value::Text(name.to_owned())).found();
            match nearest(name, known()) {
                Some(near) => format!("there is no preset {written}; did you mean \"{near}\"?"),
                None => format!("there is no preset {written}; there are {}", known().collect::<Vec<_>>().join(", ")),
            }
        })
    }

    /// Its tree. Places are dropped: a problem is never in a preset, and a line of it would mislead.
    pub(super) fn node(&self) -> Node {
        let mut node = Node::from_toml(self.toml).unwrap_or_else(|_| Node::implied(Value::Table(Vec::new())));
        forget_places(&mut node);
        node
    }
}

fn forget_places(node: &mut Node) {
    node.at = crate::source::Place::default();
    match &mut node.value {
        Value::List(items) => items.iter_mut().for_each(forget_places),
        Value::Table(members) => members.iter_mut().for_each(|(_, member)| forget_places(member)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
    }
}
