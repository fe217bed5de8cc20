//! What happened, line by line: the same seed gives the same bytes.
//!
//! The lines are hashed as they come; the text is kept only for those who want to read it.

use std::fmt::{Arguments, Write as _};

use sha2::{Digest as _, Sha256};

/// The story of a world.
#[derive(Debug)]
pub(crate) struct Trace {
    hasher: Sha256,
    text: Option<String>,
    line: String,
    pub(crate) steps: u64,
}

impl Trace {
    pub(crate) fn new(keeps_text: bool) -> Self {
        Self { hasher: Sha256::new(), text: keeps_text.then(String::new), line: String::new(), steps: 0 }
    }

    /// One line: when, who, what.
    pub(crate) fn tell(&mut self, now: i64, who: &str, what: Arguments<'_>) {
        self.steps += 1;
        self.line.clear();
        // Seconds since the beginning of the simulated year are easier to compare by eye than dates.
        let (seconds, nanos) = (now.div_euclid(1_000_000_000), now.rem_euclid(1_000_000_000));
        // A text takes everything.
        _ = writeln!(self.line, "{}.{:03} {who}: {what}", seconds - EPOCH, nanos / 1_000_000);
        self.hasher.update(self.line.as_bytes());
        if let Some(text) = &mut self.text {
            text.push_str(&self.line);
        }
    }

    pub(crate) fn finish(self) -> ([u8; 32], String) {
        (self.hasher.finalize().into(), self.text.unwrap_or_default())
    }
}

/// 2026-01-01T00:00:00Z, in seconds.
const EPOCH: i64 = 1_767_225_600;
