//! What a step does: each kind of action, read strictly.

use std::sync::Arc;

use hapax_core::claim::Handler;
use hapax_core::source::{Node, Reader, Table, Value, nearest};
use hapax_core::words::{Code, Verdict};
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
        reader.complain(path, node.at, format!("expected true, found {}", node.found()));
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
            let epoch = optional_number(table, "epoch", reader).unwrap_or(0);
            let seq = optional_number(table, "seq", reader);
            let owner = table.text("owner", reader).map(str::to_owned);
            Some(Action::Claim { handler: handler?, event_id: event_id?, lane, epoch, seq, owner })
        }
        "heartbeat" | "done" | "failed" => call(kind, table, reader),
        _ => {
            let lane = table.text("lane", reader).map(str::to_owned);
            let id = table.text("id", reader).map(str::to_owned);
            // A word that nobody uses would find nothing, and a story about nothing always holds.
            let verdict = known_word(table, "verdict", &names(Verdict::ALL, Verdict::name), reader);
            let code = known_word(table, "code", &names(Code::ALL, Code::name), reader);
            Some(Action::Attempts(AttemptFilter { lane, id, verdict, code, from: None, to: None }))
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
    const KEYS: &[&str] = &["name", "stream", "order", "effect", "lease", "heartbeat", "attempts_max", "backoff"];
    let name = needed(table, "name", reader);
    let bare = matches!(table.node("stream"), Some(Node { value: Value::Bool(false), .. }));
    // The declaration itself is read by the one reader that the API uses; here only its keys are known. Alone, each key
    // is a declaration too, so that a fault can be told with its key and line.
    let mut declared = Vec::new();
    for key in KEYS.iter().filter(|key| !(bare && **key == "stream")) {
        let Some(value) = table.node(key) else { continue };
        let alone = Node::implied(Value::Table(vec![((*key).to_owned(), value.clone())]));
        match serde_json::from_str::<Handler>(&alone.to_json()) {
            Ok(_) => declared.push(((*key).to_owned(), value.clone())),
            // That it must be a text was said above.
            Err(_) if *key == "name" => {}
            Err(error) => reader.complain(table.key(key), value.at, plainly(&error, value)),
        }
    }
    name?;
    match serde_json::from_str(&Node::implied(Value::Table(declared)).to_json()) {
        Ok(handler) => Some(Action::Handler(Declared { handler, bare })),
        Err(error) => {
            reader.complain(table.path.clone(), node.at, plainly(&error, node));
            None
        }
    }
}

/// The sentence of a JSON reader in the words of ours, without its line.
fn plainly(error: &serde_json::Error, found: &Node) -> String {
    let said = error.to_string();
    let said = said.split(" at line ").next().unwrap_or_default();
    let expected = said.split_once(", expected ").map_or(said, |(_, expected)| expected).replace('`', "\"");
    let found = found.found();
    if expected == said { format!("{found}: {said}") } else { format!("expected {expected}, found {found}") }
}

fn names<T: Copy>(words: &[T], name: impl Fn(T) -> &'static str) -> Vec<&'static str> {
    words.iter().map(|word| name(*word)).collect()
}

fn known_word(table: &mut Table<'_>, key: &'static str, known: &[&str], reader: &mut Reader) -> Option<String> {
    let text = table.text(key, reader)?;
    if !known.contains(&text) {
        let at = table.node(key).map_or(table.at, |node| node.at);
        let why = match nearest(text, known.iter().copied()) {
            Some(near) => format!("there is no {key} \"{text}\"; did you mean \"{near}\"?"),
            None => format!("there is no {key} \"{text}\"; there are {}", known.join(", ")),
        };
        reader.complain(table.key(key), at, why);
    }
    Some(text.to_owned())
}

fn needed(table: &mut Table<'_>, key: &'static str, reader: &mut Reader) -> Option<String> {
    table.required(key, "a text", reader)?;
    table.text(key, reader).map(str::to_owned)
}

fn number(table: &mut Table<'_>, key: &'static str, reader: &mut Reader) -> Option<u64> {
    table.required(key, "a whole number", reader)?;
    optional_number(table, key, reader)
}

fn optional_number(table: &mut Table<'_>, key: &'static str, reader: &mut Reader) -> Option<u64> {
    let node = table.node(key)?;
    if let Value::Text(text) = &node.value {
        // A number may be written as a text, as in the answers that it is compared with.
        if let Ok(number) = text.parse() {
            return Some(number);
        }
        if text.starts_with('$') {
            let why = format!("expected a whole number, found \"{text}\", which no earlier step has saved");
            reader.complain(table.key(key), node.at, why);
            return None;
        }
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
