//! From TOML or JSON text to the tree.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Node, Place, Problem, Value};
use crate::json::{self, Kind};

impl Node {
    /// Reads TOML. The problem says the line and what the parser wanted there.
    pub fn from_toml(text: &str) -> Result<Self, Problem> {
        let lines = Lines::of(text.as_bytes());
        match DeTable::parse(text) {
            Ok(table) => {
                let at = lines.place(table.span().start);
                Ok(Self { value: from_table(table.into_inner(), &lines)?, at })
            }
            Err(error) => {
                let span = error.span();
                let at = span.as_ref().map_or(Place::default(), |span| lines.place(span.start));
                let why = match span.and_then(|span| lines.written(span)) {
                    Some(key) if error.message() == "duplicate key" => format!("the key `{key}` is there twice"),
                    _ => error.message().trim().replace('\n', ", "),
                };
                Err(Problem { key: String::new(), why: format!("not TOML: {why}"), at })
            }
        }
    }

    /// Reads JSON, as strictly as an event is read.
    pub fn from_json(text: &[u8]) -> Result<Self, Problem> {
        let lines = Lines::of(text);
        match json::parse(text) {
            Ok(document) => Ok(from_json_node(document.root(), text, &lines)),
            Err(fault) => {
                Err(Problem { key: String::new(), why: format!("not JSON: {fault}"), at: lines.place(fault.at) })
            }
        }
    }
}

/// A text, and where each of its lines begins, so that a place is a binary search and not a count.
struct Lines<'t> {
    text: &'t [u8],
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn of(text: &'t [u8]) -> Self {
        let after_newline = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1);
        Self { text, starts: std::iter::once(0).chain(after_newline).collect() }
    }

    fn place(&self, offset: usize) -> Place {
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let before = self.text.get(start..offset).unwrap_or_default();
        let letters = before.iter().filter(|byte| (**byte & 0b1100_0000) != 0b1000_0000).count();
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Place { line: number(line), column: number(letters + 1) }
    }

    /// What was written there.
    fn written(&self, span: std::ops::Range<usize>) -> Option<String> {
        self.text.get(span).and_then(|text| std::str::from_utf8(text).ok()).map(str::to_owned)
    }
}

fn from_table(table: DeTable<'_>, lines: &Lines<'_>) -> Result<Value, Problem> {
    let members = table.into_iter().map(|(key, value)| Ok((key.into_inner().into_owned(), from_value(value, lines)?)));
    Ok(Value::Table(members.collect::<Result<_, Problem>>()?))
}

fn from_value(value: Spanned<DeValue<'_>>, lines: &Lines<'_>) -> Result<Node, Problem> {
    let span = value.span();
    let at = lines.place(span.start);
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Boolean(yes) => Value::Bool(yes),
        DeValue::Integer(number) => Value::Number(integer(number.as_str(), number.radix(), at)?),
        DeValue::Float(number) => Value::Number(float(number.as_str(), at)?),
        // An unquoted date stands for the text it was written with.
        DeValue::Datetime(time) => Value::Text(lines.written(span).unwrap_or_else(|| time.to_string())),
        DeValue::Array(items) => {
            Value::List(items.into_iter().map(|item| from_value(item, lines)).collect::<Result<_, _>>()?)
        }
        DeValue::Table(table) => from_table(table, lines)?,
    };
    Ok(Node { value, at })
}

fn integer(text: &str, radix: u32, at: Place) -> Result<String, Problem> {
    let number = i128::from_str_radix(text, radix).map_err(|_| Problem {
        key: String::new(),
        why: format!("the number {text} is too large"),
        at,
    })?;
    Ok(number.to_string())
}

fn float(text: &str, at: Place) -> Result<String, Problem> {
    // TOML writes a plus sign where JSON has none, and infinities that JSON cannot say.
    let text = text.strip_prefix('+').unwrap_or(text);
    if text.contains("inf") || text.contains("nan") {
        return Err(Problem { key: String::new(), why: format!("{text} is not a number that JSON can write"), at });
    }
    Ok(text.to_owned())
}

fn from_json_node(node: json::Node<'_>, text: &[u8], lines: &Lines<'_>) -> Node {
    let start = node.raw().as_ptr() as usize - text.as_ptr() as usize;
    let value = match node.kind() {
        Kind::Null => Value::Null,
        Kind::Bool => Value::Bool(node.as_bool() == Some(true)),
        Kind::Number => Value::Number(node.number_text().unwrap_or_default().to_owned()),
        Kind::String => Value::Text(node.as_str().unwrap_or_default().into_owned()),
        Kind::Array => Value::List(node.items().map(|item| from_json_node(item, text, lines)).collect()),
        Kind::Object => Value::Table(
            node.members().map(|(key, value)| (key.into_owned(), from_json_node(value, text, lines))).collect(),
        ),
    };
    Node { value, at: lines.place(start) }
}
