//! CSV: the first row names the fields, every other row is an event.
//!
//! A cell that is a JSON number, `true`, `false` or `null` is that, as it is written; an empty cell is left out; all else
//! is a text. A column can be declared as text, because an id such as `0815` or `1001` is none of these.

use std::collections::BTreeSet;
use std::io::Read;

use anyhow::{anyhow, bail};
use serde_json::Value;

use super::{BYTE_ORDER_MARK, Event};

/// The rows of a CSV file, as events.
#[derive(Debug)]
pub(super) struct Rows<R> {
    reader: csv::Reader<R>,
    /// Each as a JSON string, and whether its cells are texts.
    columns: Vec<(String, bool)>,
}

impl<R: Read> Rows<R> {
    /// Reads the first row.
    pub(super) fn new(reader: R, texts: &[String]) -> anyhow::Result<Rows<R>> {
        let mut reader = csv::ReaderBuilder::new().has_headers(true).from_reader(reader);
        let header = reader.headers().map_err(|error| wrong(&error))?;
        let mut names = BTreeSet::new();
        let mut columns = Vec::new();
        for (index, name) in header.iter().enumerate() {
            let mark = std::str::from_utf8(BYTE_ORDER_MARK).unwrap_or_default();
            let name = if index == 0 { name.trim_start_matches(mark) } else { name };
            if name.is_empty() {
                bail!("line 1: column {} has no name; the first row names the fields", index + 1);
            }
            if !names.insert(name.to_owned()) {
                bail!("line 1: the column {name} is there twice");
            }
            columns.push((Value::from(name).to_string(), texts.iter().any(|it| it == name)));
        }
        if let Some(missing) = texts.iter().find(|text| !names.contains(*text)) {
            bail!(
                "--text {missing}: there is no such column; there are {}",
                names.into_iter().collect::<Vec<_>>().join(", ")
            );
        }
        Ok(Rows { reader, columns })
    }
}

impl<R: Read> Iterator for Rows<R> {
    type Item = anyhow::Result<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut record = csv::StringRecord::new();
        match self.reader.read_record(&mut record) {
            Ok(false) => return None,
            Ok(true) => {}
            Err(error) => return Some(Err(wrong(&error))),
        }
        let line = record.position().map_or(0, csv::Position::line);
        let cells = self.columns.iter().zip(&record).filter(|(_, cell)| !cell.is_empty());
        let members = cells.map(|((name, is_text), cell)| format!("{name}:{}", value(cell, *is_text)));
        let text = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
        Some(Ok(Event { line, text: text.into_bytes() }))
    }
}

fn value(cell: &str, is_text: bool) -> String {
    let begins = cell.bytes().next().unwrap_or(b' ');
    let word = matches!(cell, "true" | "false" | "null");
    // Whatever JSON reads as a number is one, and keeps all its digits.
    let number = (begins == b'-' || begins.is_ascii_digit())
        && cell.bytes().all(|byte| byte.is_ascii_graphic())
        && serde_json::from_str::<&serde_json::value::RawValue>(cell).is_ok();
    if !is_text && (word || number) { cell.to_owned() } else { Value::from(cell).to_string() }
}

fn wrong(error: &csv::Error) -> anyhow::Error {
    let line = error.position().map_or(0, csv::Position::line);
    let kind = error.kind();
    if let csv::ErrorKind::UnequalLengths { expected_len, len, .. } = kind {
        anyhow!("line {line} has {len} cells and the first row has {expected_len}")
    } else if let csv::ErrorKind::Utf8 { .. } = kind {
        anyhow!("line {line} is not UTF-8")
    } else {
        anyhow!("{error}")
    }
}
