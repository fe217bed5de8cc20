//! Events out of files: NDJSON, CSV, JSON. Each event comes with the line that it began in.
//!
//! What holds: a document is passed on as it was written, wrong ones too, because a verdict about it is the server's.
//! Only what is no list of events at all is refused here. Not here: batches.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use anyhow::{Context as _, anyhow, bail};
use clap::ValueEnum;
use indicatif::ProgressBar;

mod csv;
mod json;

use self::csv::Rows;

/// An event, as it will be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// The line of the file in which it begins.
    pub(super) line: u64,
    /// The document, on one line.
    pub(super) text: Vec<u8>,
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// One JSON document a line.
    Ndjson,
    /// Comma-separated; the first row names the fields.
    Csv,
    /// One JSON document: an event, a list of events, or an object with the list `events`.
    Json,
}

impl Format {
    /// What the ending of a file's name says.
    pub(super) fn of(file: &Path) -> Format {
        match file.extension().and_then(|ending| ending.to_str()) {
            Some("csv") => Format::Csv,
            Some("json") => Format::Json,
            Some(_) | None => Format::Ndjson,
        }
    }
}

/// A line beyond this is no event: an event is at most 1 MiB.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// The events of a file, one after the other.
pub(super) struct Input {
    shown: String,
    events: Box<dyn Iterator<Item = anyhow::Result<Event>>>,
}

impl Input {
    /// Opens a file, or standard input if it is called `-`.
    pub(super) fn open(file: &Path, format: Format, texts: &[String], bar: &ProgressBar) -> anyhow::Result<Input> {
        if file.as_os_str() == "-" {
            super::watched(bar, None);
            let reader = bar.wrap_read(std::io::stdin());
            return Input::new("standard input", reader, format, texts);
        }
        let shown = file.display().to_string();
        let opened = File::open(file).map_err(|error| {
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            if missing {
                anyhow!("{shown}: there is no such file")
            } else {
                anyhow!("{shown}: cannot be read: {error}")
            }
        })?;
        let about = opened.metadata().with_context(|| shown.clone())?;
        if about.is_dir() {
            bail!("{shown}: is a directory; name the files in it");
        }
        super::watched(bar, about.is_file().then_some(about.len()));
        Input::new(&shown, bar.wrap_read(opened), format, texts)
    }

    /// The events of a text.
    pub(super) fn new(
        shown: &str,
        reader: impl Read + 'static,
        format: Format,
        texts: &[String],
    ) -> anyhow::Result<Input> {
        let events: Box<dyn Iterator<Item = anyhow::Result<Event>>> = match format {
            Format::Ndjson => Box::new(Lines { reader: BufReader::new(reader), line: 0 }),
            Format::Csv => Box::new(Rows::new(reader, texts).context(shown.to_owned())?),
            Format::Json => Box::new(json::events(reader).context(shown.to_owned())?.into_iter().map(Ok)),
        };
        Ok(Input { shown: shown.to_owned(), events })
    }
}

impl Iterator for Input {
    type Item = anyhow::Result<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.events.next()?.with_context(|| self.shown.clone()))
    }
}

/// One event a line; empty lines are none.
struct Lines<R> {
    reader: BufReader<R>,
    line: u64,
}

impl<R: Read> Iterator for Lines<R> {
    type Item = anyhow::Result<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut text = Vec::new();
            let read = self.reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut text);
            self.line += 1;
            match read {
                Ok(0) => return None,
                Ok(read) if read as u64 == LINE_BYTES_MAX => {
                    return Some(Err(anyhow!("line {} is longer than 16 MiB; is this NDJSON?", self.line)));
                }
                Ok(_) => {}
                Err(error) => return Some(Err(anyhow!("line {} cannot be read: {error}", self.line))),
            }
            if self.line == 1 && text.starts_with(BYTE_ORDER_MARK) {
                text.drain(..BYTE_ORDER_MARK.len());
            }
            let text = text.trim_ascii();
            if !text.is_empty() {
                return Some(Ok(Event { line: self.line, text: text.to_vec() }));
            }
        }
    }
}

/// Some editors write it; no JSON begins with it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

#[cfg(test)]
mod tests;
