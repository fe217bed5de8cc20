//! What a step does: each kind of action, read strictly.

use std::sync::Arc;

use hapax_core::claim::Handler;
use hapax_core::source::{Node, Reader, Table, Value};
use hapax_store::seam::AttemptFilter;
use hapax_store::turn::Call;

/// Every kind of action, as a step names it.
pub(super) const ACTIONS: &[&str] = &[
    "event",
    "raw",
    "batch",
    "lane",
    "counter",
    "adjust",
    "close",
    "acknowledge",
    "handler",
    "claim",
    "heartbeat",
    "done",
    "failed",
    "contract",
    "head",
    "verify",
    "recount",
    "attempts",
];

/// What a step does.
#[derive(Debug)]
pub(super) enum Action {
    Event(Arc<[u8]>),
    Batch(Vec<Arc<[u8]>>),
    Lane(String),
    Counter {
        name: String,
        key: String,
        period: String,
    },
    Adjust {
        counter: String,
        id: String,
        key: String,
        period: String,
        amount: String,
        reason: String,
    },
    Close {
        counter: String,
        key: Option<String>,
        period: String,
    },
    Acknowledge {
        lane: String,
        from: u64,
        to: u64,
        reason: String,
    },
    Handler(Declared),
    Claim {
        handler: String,
        event_id: String,
        lane: Option<String>,
        epoch: u64,
        seq: Option<u64>,
        owner: Option<String>,
    },
    Call {
        handler: String,
        event_id: String,
        lane: Option<String>,
        call: Call,
    },
    Contract(Node),
    Head,
    Verify,
    Recount,
    Attempts(AttemptFilter),
}

/// A handler as declared, and whose stream it reads.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) handler: Handler,
    /// `stream = false`: a bare registry.
    pub(super) bare: bool,
}

impl Action {
    /// Reads an action, or notes what is wrong with it.
    pub(super) fn read(kind: &str, node: &Node, path: &str, reader: &mut Reader) -> Option<Self> {
        match kind {
            "event" => Some(Self::Event(document(node))),
            "raw" => text(node, path, reader).map(|text| Self::Event(text.into_bytes().into())),
            "batch" => {
                let Value::List(items) = &node.value else {
                    reader.complain(path, node.at, format!("expected a list of documents, found {}", node.kind()));
                    return None;
                };
                Some(Self::Batch(items.iter().map(document).collect()))
            }
            "lane" => text(node, path, reader).map(Self::Lane),
            "contract" => Some(Self::Contract(node.clone())),
            "head" => yes(node, path, reader).then_some(Self::Head),
            "verify" => yes(node, path, reader).then_some(Self::Verify),
            "recount" => yes(node, path, reader).then_some(Self::Recount),
            _ => {
                let mut table = reader.table(node, path);
                let action = from_table(kind, &mut table, node, reader);
                table.finish(reader);
                action
            }
        }
    }
}

fn document(node: &Node) -> Arc<[u8]> {
    node.to_json().into_bytes().into()
}

fn text(node: &Node, path: &str, reader: &mut Reader) -> Option<String> {
    if let Value::Text(text) = &node.value {
        return Some(text.clone());
    }
    reader.complain(path, node.at, format!("expected a text, found {}", node.kind()));
    None
}

fn yes(node: &Node, path: &str, reader: &mut Reader) -> bool {
    let yes = matches!(node.value, Value::Bool(true));
    if !yes {
        reader.complain(path, node.at, format!("expected true, found {}", node.kind()));
    }
    yes
}

fn from_table(kind: &str, table: &mut Table<'_>, node: &Node, reader: &mut Reader) -> Option<Action> {
    match kind {
        "counter" => {
            let name = needed(table, "name", reader);
            let key = key(table, reader);
            let period = needed(table, "period", reader);
            Some(Action::Counter { name: name?, key: key?, period: period? })
        }
        "adjust" => {
            let counter = needed(table, "counter", reader);
            let id = needed(table, "id", reader);
            let key = key(table, reader);
            let period = needed(table, "period", reader);
            let amount = amount(table, reader);
            let reason = table.text("reason", reader).unwrap_or_default().to_owned();
            Some(Action::Adjust { counter: counter?, id: id?, key: key?, period: period?, amount: amount?, reason })
        }
        "close" => {
            let counter = needed(table, "counter", reader);
            let key = table.node("key").map(Node::to_json);
            let period = needed(table, "period", reader);
            Some(Action::Close { counter: counter?, key, period: period? })
        }
        "acknowledge" => {
            let lane = needed(table, "lane", reader);
            let from = number(table, "from", reader);
            let to = number(table, "to", reader);
            let reason = table.text("reason", reader).unwrap_or_default().to_owned();
            Some(Action::Acknowledge { lane: lane?, from: from?, to: to?, reason })
        }
        "handler" => handler(table, node, reader),
        "claim" => {
            let handler = needed(table, "handler", reader);
            let event_id = needed(table, "event_id", reader);
            let lane = table.text("lane", reader).map(str::to_owned);
            let epoch = table.count("epoch", reader).unwrap_or(0);
            let seq = table.count("seq", reader);
            let owner = table.text("owner", reader).map(str::to_owned);
            Some(Action::Claim { handler: handler?, event_id: event_id?, lane, epoch, seq, owner })
        }
        "heartbeat" | "done" | "failed" => call(kind, table, reader),
        _ => {
            let mut filter = |key| table.text(key, reader).map(str::to_owned);
            let (lane, id, verdict, code) = (filter("lane"), filter("id"), filter("verdict"), filter("code"));
            Some(Action::Attempts(AttemptFilter { lane, id, verdict, code }))
        }
    }
}

fn call(kind: &str, table: &mut Table<'_>, reader: &mut Reader) -> Option<Action> {
    let handler = needed(table, "handler", reader);
    let event_id = needed(table, "event_id", reader);
    let lane = table.text("lane", reader).map(str::to_owned);
    let fence = number(table, "fence", reader);
    let call = match kind {
        "heartbeat" => Call::Heartbeat { fence: fence? },
        "done" => {
            let result = table.node("result").map(Node::to_json);
            Call::Done { fence: fence?, result }
        }
        _ => {
            let error = table.text("error", reader).unwrap_or_default().to_owned();
            Call::Failed { fence: fence?, error }
        }
    };
    Some(Action::Call { handler: handler?, event_id: event_id?, lane, call })
}

fn handler(table: &mut Table<'_>, node: &Node, reader: &mut Reader) -> Option<Action> {
    needed(table, "name", reader)?;
    let bare = matches!(table.node("stream"), Some(Node { value: Value::Bool(false), .. }));
    // The declaration itself is read by the one reader that the API uses; here only its keys are known.
    for key in ["order", "effect", "lease", "heartbeat", "attempts_max", "backoff"] {
        table.node(key);
    }
    let mut declared = node.clone();
    if let (true, Value::Table(members)) = (bare, &mut declared.value) {
        members.retain(|(key, _)| key != "stream");
    }
    match serde_json::from_str(&declared.to_json()) {
        Ok(handler) => Some(Action::Handler(Declared { handler, bare })),
        Err(error) => {
            let why = error.to_string();
            let why = why.split(" at line ").next().unwrap_or_default();
            reader.complain(table.path.clone(), node.at, why);
            None
        }
    }
}

fn needed(table: &mut Table<'_>, key: &'static str, reader: &mut Reader) -> Option<String> {
    table.required(key, "a text", reader)?;
    table.text(key, reader).map(str::to_owned)
}

fn number(table: &mut Table<'_>, key: &'static str, reader: &mut Reader) -> Option<u64> {
    let node = table.required(key, "a whole number", reader)?;
    // A number beyond TOML's 64 bits is written as a text.
    if let Value::Text(text) = &node.value
        && let Ok(number) = text.parse()
    {
        return Some(number);
    }
    table.count(key, reader)
}

fn key(table: &mut Table<'_>, reader: &mut Reader) -> Option<String> {
    table.required("key", "a list such as [\"t1\", \"requests\"]", reader).map(Node::to_json)
}

fn amount(table: &mut Table<'_>, reader: &mut Reader) -> Option<String> {
    let node = table.required("amount", "a number", reader)?;
    match &node.value {
        Value::Text(text) | Value::Number(text) => Some(text.clone()),
        Value::Null | Value::Bool(_) | Value::List(_) | Value::Table(_) => {
            reader.complain(table.key("amount"), node.at, format!("expected a number, found {}", node.kind()));
            None
        }
    }
}
