//! NATS JetStream with a stream in files. It knows an event again by its `Nats-Msg-Id`, for as long as its window is.
//!
//! A batch is so many messages, sent together; it is answered when each has its acknowledgement. As it comes, JetStream
//! acknowledges before it syncs and syncs every two minutes; `sync_interval: always` is the other way round.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use serde_json::json;

use super::drive::drive;
use super::line::{Line, Listener};
use super::process::Process;
use super::{Measured, Task};
use crate::cluster::free_port;
use crate::workload::{Batch, Workload};

/// A stream takes what is sent to the subject of its name.
const STREAM: &str = "events";
const WARM: &str = "warm";
/// The reader of the check; others are called by their number.
const READER: usize = usize::MAX;
/// Longer than any run: a repeat that is not known any more would be taken for new.
const WINDOW_NANOS: u64 = 3_600_000_000_000;
/// More than all events of a run.
const PENDING_MAX: u64 = 4 << 30;

/// A new server on new files.
pub(super) fn run(task: &Task<'_>, program: &Path, synced: bool) -> anyhow::Result<Measured> {
    let folder = task.folder()?;
    let port = free_port()?;
    let settings = folder.path().join("nats.conf");
    let sync = if synced { "sync_interval: always" } else { "" };
    let store = folder.path().join("store").display().to_string();
    // It would ask us whether we are still there, and somebody would have to answer. And the check is sent everything as fast as it can be
    // read from the disk: with no more than 64 MB on the way, as it comes, the connection would be cut.
    let text = format!(
        "listen: \"127.0.0.1:{port}\"\nping_interval: \"30m\"\nmax_pending: {PENDING_MAX}\n\
         jetstream {{\n  store_dir: {store:?}\n  {sync}\n}}\n"
    );
    fs::write(&settings, text)?;
    let mut command = Command::new(program);
    command.arg("--config").arg(&settings);
    let server = task.runtime.block_on(Process::start(command, port, &folder.path().join("log")))?;
    let mut reader = connect(&server, READER)?;
    for stream in [STREAM, WARM] {
        let config = json!({
            "name": stream, "subjects": [stream], "storage": "file", "retention": "limits", "num_replicas": 1,
            "duplicate_window": WINDOW_NANOS,
        });
        ask(&mut reader, &format!("$JS.API.STREAM.CREATE.{stream}"), &config)?;
    }
    let mut lines = Vec::new();
    let mut questions = Vec::new();
    for (client, batches) in task.workload.clients.iter().enumerate() {
        let mut line = connect(&server, client)?;
        let first = batches.first().context("a client without events")?;
        let parts = first.ids.len();
        let answer = line.ask(&publish(WARM, client, first), parts)?;
        line.make_ready(batches.len(), answer.len(), parts);
        questions.push(batches.iter().map(|batch| publish(STREAM, client, batch)).collect());
        lines.push(line);
    }
    let spent = drive(&mut lines, &questions, task.threads, Some(server.pid()))?;
    for (line, batches) in lines.iter().zip(&task.workload.clients) {
        ensure!(line.answers().count() == batches.len(), "batches without an answer");
        for (answer, batch) in line.answers().zip(batches) {
            let new = acknowledged(answer)?;
            ensure!(new == batch.fresh, "{new} of {} events were new", batch.fresh);
        }
    }
    check(&mut reader, task.workload)?;
    Ok(Measured::new(spent, &lines))
}

fn inbox(client: usize) -> String {
    format!("_INBOX.{client}")
}

fn connect(server: &Process, client: usize) -> anyhow::Result<Line> {
    let mut line = Line::connect(server.address, Frames::default())?;
    let options = json!({ "verbose": false, "pedantic": false, "headers": true, "no_responders": true, "protocol": 1 });
    line.ask(format!("CONNECT {options}\r\nSUB {} 1\r\nPING\r\n", inbox(client)).as_bytes(), 1)?;
    Ok(line)
}

/// Asks JetStream itself; what it answers, if that is no error.
fn ask(line: &mut Line, subject: &str, question: &serde_json::Value) -> anyhow::Result<serde_json::Value> {
    let question = question.to_string();
    let request = format!("PUB {subject} {} {}\r\n{question}\r\n", inbox(READER), question.len());
    let answer = line.ask(request.as_bytes(), 1)?;
    let frame = frames(&answer).find(|frame| frame.kind == Kind::Message).context("no answer of JetStream")?;
    let answer: serde_json::Value = serde_json::from_slice(frame.payload)?;
    ensure!(answer.get("error").is_none(), "JetStream says {answer}");
    Ok(answer)
}

fn publish(subject: &str, client: usize, batch: &Batch) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (id, document) in batch.ids.iter().zip(&batch.documents) {
        let headers = format!("NATS/1.0\r\nNats-Msg-Id: {id}\r\n\r\n");
        let (headers_length, length) = (headers.len(), headers.len() + document.len());
        let head = format!("HPUB {subject} {} {headers_length} {length}\r\n{headers}", inbox(client));
        bytes.extend_from_slice(head.as_bytes());
        bytes.extend_from_slice(document);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

#[derive(Deserialize)]
struct Acknowledgement {
    #[serde(default)]
    error: Option<serde_json::Value>,
    #[serde(default)]
    duplicate: bool,
}

/// How many of the acknowledged messages were new.
fn acknowledged(answer: &[u8]) -> anyhow::Result<usize> {
    let mut new = 0;
    for frame in frames(answer) {
        ensure!(frame.kind != Kind::Headed, "NATS says {}", String::from_utf8_lossy(frame.payload));
        if frame.kind == Kind::Message {
            let it: Acknowledgement = serde_json::from_slice(frame.payload)?;
            ensure!(it.error.is_none(), "JetStream says {}", String::from_utf8_lossy(frame.payload));
            new += usize::from(!it.duplicate);
        }
    }
    Ok(new)
}

/// Is every event in the stream, exactly once and byte for byte, and nothing else?
fn check(line: &mut Line, workload: &Workload) -> anyhow::Result<()> {
    let mut missing: HashMap<&str, &Vec<u8>> = HashMap::new();
    for batch in workload.clients.iter().flatten() {
        missing.extend(batch.ids.iter().map(String::as_str).zip(&batch.documents));
    }
    let about = ask(line, &format!("$JS.API.STREAM.INFO.{STREAM}"), &json!({}))?;
    let messages = about.pointer("/state/messages").and_then(serde_json::Value::as_u64);
    ensure!(messages == Some(missing.len() as u64), "{messages:?} messages for {} events", missing.len());
    // A consumer that is sent everything, at the same address at which it is told that it was made.
    let config = json!({ "deliver_subject": inbox(READER), "deliver_policy": "all", "ack_policy": "none" });
    let question = json!({ "stream_name": STREAM, "config": config }).to_string();
    let subject = format!("$JS.API.CONSUMER.CREATE.{STREAM}");
    let request = format!("PUB {subject} {} {}\r\n{question}\r\n", inbox(READER), question.len());
    let answer = line.ask(request.as_bytes(), missing.len() + 1)?;
    for frame in frames(&answer).filter(|frame| frame.kind == Kind::Headed) {
        let headers = std::str::from_utf8(frame.headers)?;
        let id = headers.lines().find_map(|line| line.strip_prefix("Nats-Msg-Id: ")).context("no id")?;
        let sent = missing.remove(id).with_context(|| format!("{id} was not sent or is there twice"))?;
        ensure!(frame.payload == sent, "{id} is not what was sent");
    }
    ensure!(missing.is_empty(), "{} events are not there", missing.len());
    Ok(())
}

/// What NATS sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Message,
    /// A message with headers.
    Headed,
    Pong,
    /// `INFO`, `+OK`, `PING`.
    Aside,
    Error,
}

#[derive(Debug, PartialEq, Eq)]
struct Frame<'a> {
    kind: Kind,
    headers: &'a [u8],
    payload: &'a [u8],
    length: usize,
}

/// The frames that are whole.
fn frames(mut bytes: &[u8]) -> impl Iterator<Item = Frame<'_>> {
    std::iter::from_fn(move || {
        let frame = frame(bytes)?;
        bytes = &bytes[frame.length..];
        Some(frame)
    })
}

/// The first frame; none if there is more to come. A frame that nobody can read is an error of NATS.
fn frame(bytes: &[u8]) -> Option<Frame<'_>> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let (line, rest) = (bytes[..end].trim_ascii_end(), &bytes[end + 1..]);
    let bare = |kind| Some(Frame { kind, headers: b"", payload: line, length: end + 1 });
    let mut words = line.split(|byte| *byte == b' ');
    let kind = match words.next()? {
        b"MSG" => Kind::Message,
        b"HMSG" => Kind::Headed,
        b"PONG" => return bare(Kind::Pong),
        b"INFO" | b"+OK" | b"PING" => return bare(Kind::Aside),
        _ => return bare(Kind::Error),
    };
    let number = |word: Option<&[u8]>| std::str::from_utf8(word?).ok()?.parse::<usize>().ok();
    let Some(length) = number(words.next_back()) else { return bare(Kind::Error) };
    let headers = if kind == Kind::Headed { number(words.next_back()) } else { Some(0) };
    let Some(headers) = headers.filter(|headers| *headers <= length) else { return bare(Kind::Error) };
    if rest.len() < length + 2 {
        return None;
    }
    let (headers, payload) = rest[..length].split_at(headers);
    Some(Frame { kind, headers, payload, length: end + 1 + length + 2 })
}

/// The end of an answer: so many messages, or that NATS is still there.
#[derive(Default)]
struct Frames {
    wanted: usize,
    seen: usize,
    /// As far as the frames are whole.
    behind: usize,
}

impl Listener for Frames {
    fn expect(&mut self, parts: usize) {
        self.wanted = parts;
    }

    fn is_whole(&mut self, answer: &[u8]) -> anyhow::Result<bool> {
        for frame in frames(&answer[self.behind..]) {
            self.behind += frame.length;
            match frame.kind {
                Kind::Message | Kind::Headed | Kind::Pong => self.seen += 1,
                Kind::Aside => {}
                Kind::Error => bail!("NATS says {}", String::from_utf8_lossy(frame.payload)),
            }
        }
        let whole = self.seen >= self.wanted;
        if whole {
            (self.seen, self.behind) = (0, 0);
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str =
        "PING\r\nMSG _INBOX.0 1 9\r\n{\"seq\":1}\r\nHMSG s 1 reply 23 25\r\nNATS/1.0\r\nA: bcdefg\r\n\r\nxy\r\n";

    #[test]
    fn messages_are_counted_however_they_come() {
        for step in [1, 7, SAID.len()] {
            let mut listener = Frames::default();
            listener.expect(2);
            let ends: Vec<usize> = (step..SAID.len()).step_by(step).collect();
            assert!(ends.iter().all(|end| !listener.is_whole(&SAID.as_bytes()[..*end]).expect("no error")));
            assert!(listener.is_whole(SAID.as_bytes()).expect("no error"), "in steps of {step}");
        }
        let found: Vec<_> = frames(SAID.as_bytes()).map(|frame| (frame.kind, frame.payload)).collect();
        let expected: [(Kind, &[u8]); 3] =
            [(Kind::Aside, b"PING"), (Kind::Message, b"{\"seq\":1}"), (Kind::Headed, b"xy")];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_repeat_is_not_new_and_an_error_is_none() {
        let answer = |payload: &str| format!("MSG i 1 {}\r\n{payload}\r\n", payload.len());
        let both = answer("{\"seq\":1}") + &answer("{\"seq\":1,\"duplicate\":true}");
        assert_eq!(acknowledged(both.as_bytes()).expect("acknowledgements"), 1);
        assert!(acknowledged(answer("{\"error\":{\"code\":503}}").as_bytes()).is_err());
        assert!(Frames::default().is_whole(b"-ERR 'Unknown Protocol Operation'\r\n").is_err());
    }
}
