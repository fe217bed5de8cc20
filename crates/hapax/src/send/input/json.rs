//! A JSON document: an event, a list of events, or an object whose only member is the list `events`.

use std::io::Read;

use anyhow::anyhow;
use serde_json::value::RawValue;

use super::{BYTE_ORDER_MARK, Event};

/// Reads all of it.
pub(super) fn events(mut reader: impl Read) -> anyhow::Result<Vec<Event>> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(|error| anyhow!("cannot be read: {error}"))?;
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    let text = std::str::from_utf8(bytes).map_err(|_| anyhow!("is not UTF-8"))?;
    let whole: &RawValue = serde_json::from_str(text).map_err(|error| {
        let several = error.to_string().starts_with("trailing characters");
        let todo = if several { "; one document a line is --format ndjson" } else { "" };
        anyhow!("is not JSON: {error}{todo}")
    })?;
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Batch<'t> {
        #[serde(borrow)]
        events: Vec<&'t RawValue>,
    }
    let list: Vec<&RawValue> = match serde_json::from_str::<Vec<&RawValue>>(whole.get()) {
        Ok(list) => list,
        Err(_) => serde_json::from_str::<Batch<'_>>(whole.get()).map_or_else(|_| vec![whole], |batch| batch.events),
    };
    let mut line = 1;
    let mut counted = 0;
    let mut events = Vec::with_capacity(list.len());
    for raw in list {
        let begin = raw.get().as_ptr() as usize - text.as_ptr() as usize;
        line += text[counted..begin].bytes().filter(|byte| *byte == b'\n').count() as u64;
        counted = begin;
        // Between its tokens a document may be laid out over many lines; inside a string a line cannot end.
        let one_line = raw.get().bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte });
        events.push(Event { line, text: one_line.collect() });
    }
    Ok(events)
}
