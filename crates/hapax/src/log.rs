//! The log on stderr.
//!
//! What holds: lines are whole and in the order in which they were said, and a process that ends by itself has written them all.
//! They are gathered for [`PAUSE`] and written together, because a line costs less than the call that writes it; a process that is
//! killed leaves out what it said in that time. Nothing is dropped: who speaks while [`BYTES_MAX`] wait for a stderr that does not
//! take them waits, too.

mod fields;

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use tracing_subscriber::EnvFilter;

use self::fields::Fields;

/// How long lines are gathered.
const PAUSE: Duration = Duration::from_millis(10);
/// How much of them.
const BYTES_MAX: usize = 1 << 20;

/// Starts the log of this process, of what the filter lets through. It is written out when what this returns is dropped.
pub(crate) fn start(filter: &str, json: bool) -> anyhow::Result<Gathering> {
    let filter = EnvFilter::try_new(filter).with_context(|| format!("{filter:?} is no log filter"))?;
    let gathering = Gathering::into(io::stderr()).context("cannot start the log")?;
    let lines = Arc::clone(&gathering.lines);
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || Speaker(Arc::clone(&lines)));
    if json { log.json().try_init() } else { log.with_ansi(false).fmt_fields(Fields).try_init() }
        .map_err(|error| anyhow!("{error}"))?;
    Ok(gathering)
}

/// The thread that writes what was gathered.
pub(crate) struct Gathering {
    lines: Arc<Lines>,
    thread: Option<JoinHandle<()>>,
}

impl Gathering {
    fn into(out: impl Write + Send + 'static) -> io::Result<Self> {
        let lines = Arc::new(Lines::default());
        let thread = std::thread::Builder::new().name("lines".to_owned()).spawn({
            let lines = Arc::clone(&lines);
            move || lines.write_to(out)
        })?;
        Ok(Self { lines, thread: Some(thread) })
    }
}

impl Drop for Gathering {
    fn drop(&mut self) {
        self.lines.gathered().is_ended = true;
        self.lines.some.notify_one();
        if let Some(thread) = self.thread.take() {
            // It ends when all is written; if it panicked, that was said already.
            let _ = thread.join();
        }
    }
}

#[derive(Default)]
struct Lines {
    gathered: Mutex<Gathered>,
    /// Told when there is a first line, when there is no room for more, and at the end.
    some: Condvar,
    /// Told when there is room again.
    room: Condvar,
}

#[derive(Default)]
struct Gathered {
    text: Vec<u8>,
    is_ended: bool,
}

impl Lines {
    fn gathered(&self) -> MutexGuard<'_, Gathered> {
        self.gathered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, line: &[u8]) {
        let gathered = self.gathered();
        let is_full = |it: &mut Gathered| it.text.len() >= BYTES_MAX && !it.is_ended;
        let mut gathered = self.room.wait_while(gathered, is_full).unwrap_or_else(PoisonError::into_inner);
        let is_first = gathered.text.is_empty();
        gathered.text.extend_from_slice(line);
        let is_due = is_first || gathered.text.len() >= BYTES_MAX;
        drop(gathered);
        if is_due {
            self.some.notify_one();
        }
    }

    /// Writes what is gathered until the end.
    fn write_to(&self, mut out: impl Write) {
        let mut text = Vec::new();
        loop {
            let is_waited_for = |it: &mut Gathered| it.text.is_empty() && !it.is_ended;
            let gathered = self.some.wait_while(self.gathered(), is_waited_for).unwrap_or_else(PoisonError::into_inner);
            let is_gathered = |it: &mut Gathered| it.text.len() < BYTES_MAX && !it.is_ended;
            let waited = self.some.wait_timeout_while(gathered, PAUSE, is_gathered);
            let (mut gathered, _) = waited.unwrap_or_else(PoisonError::into_inner);
            std::mem::swap(&mut gathered.text, &mut text);
            drop(gathered);
            if text.is_empty() {
                return;
            }
            self.room.notify_all();
            // A stderr that is closed takes nothing, and there is nowhere else to say so.
            let _ = out.write_all(&text).and_then(|()| out.flush());
            text.clear();
        }
    }
}

/// Takes the lines of an event of the log; each comes in one piece.
struct Speaker(Arc<Lines>);

impl Write for Speaker {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.add(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;
