//! Redis with an append-only file that is synced before it answers, and a script that takes what is new into a stream.
//!
//! A batch is one call of the script: it is atomic, and it costs one sync.

use std::collections::HashMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use super::drive::drive;
use super::line::{Line, Listener};
use super::process::Process;
use super::{Measured, Task};
use crate::cluster::free_port;
use crate::workload::{Batch, Workload};

const SCRIPT: &[u8] = b"
local new = 0
for i = 1, #ARGV, 2 do
  if redis.call('SET', ARGV[i], '', 'NX') then
    redis.call('XADD', KEYS[1], '*', 'id', ARGV[i], 'document', ARGV[i + 1])
    new = new + 1
  end
end
return new";

const STREAM: &[u8] = b"events";
const WARM: &[u8] = b"warm";
const PAGE: &[u8] = b"1000";

/// A new server on new files.
pub(super) fn run(task: &Task<'_>, program: &Path) -> anyhow::Result<Measured> {
    let folder = task.folder()?;
    let port = free_port()?;
    let mut command = Command::new(program);
    command.args(["--bind", "127.0.0.1", "--port", &port.to_string(), "--dir"]).arg(folder.path());
    // Snapshots would be a second copy of what the append-only file holds.
    command.args(["--appendonly", "yes", "--appendfsync", "always", "--save", ""]);
    let server = task.runtime.block_on(Process::start(command, port, &folder.path().join("log")))?;
    let mut lines = Vec::new();
    let mut questions = Vec::new();
    for batches in &task.workload.clients {
        let mut line = Line::connect(server.address, Resp)?;
        let Reply::Text(digest) = ask(&mut line, &[b"SCRIPT", b"LOAD", SCRIPT])? else { bail!("no digest") };
        let call = |stream: &[u8], batch: &Batch| {
            let mut words: Vec<&[u8]> = vec![b"EVALSHA", &digest, b"1", stream];
            let pairs = batch.ids.iter().zip(&batch.documents);
            words.extend(pairs.flat_map(|(id, document)| [id.as_bytes(), document]));
            command_of(&words)
        };
        let answer = line.ask(&call(WARM, batches.first().context("a client without events")?), 1)?;
        line.make_ready(batches.len(), answer.len(), 1);
        questions.push(batches.iter().map(|batch| call(STREAM, batch)).collect());
        lines.push(line);
    }
    // What the warming left must not be taken for a repeat.
    ask(&mut Line::connect(server.address, Resp)?, &[b"FLUSHALL"])?;
    let spent = drive(&mut lines, &questions, task.threads, Some(server.pid()))?;
    for (line, batches) in lines.iter().zip(&task.workload.clients) {
        ensure!(line.answers().count() == batches.len(), "batches without an answer");
        for (answer, batch) in line.answers().zip(batches) {
            let new = Reply::Number(batch.fresh as i64);
            ensure!(Reply::whole(answer)? == new, "{} of {new:?} were new", String::from_utf8_lossy(answer));
        }
    }
    check(&mut Line::connect(server.address, Resp)?, task.workload)?;
    Ok(Measured::new(spent, &lines))
}

/// Is every event in the stream, exactly once and byte for byte, and nothing else?
fn check(line: &mut Line, workload: &Workload) -> anyhow::Result<()> {
    let mut missing: HashMap<&[u8], &Vec<u8>> = HashMap::new();
    for batch in workload.clients.iter().flatten() {
        missing.extend(batch.ids.iter().map(String::as_bytes).zip(&batch.documents));
    }
    let all = missing.len() as i64;
    ensure!(ask(line, &[b"XLEN", STREAM])? == Reply::Number(all), "the stream has not {all} entries");
    ensure!(ask(line, &[b"DBSIZE"])? == Reply::Number(all + 1), "there are not {all} ids and the stream");
    let mut after = b"-".to_vec();
    while !missing.is_empty() {
        let Reply::List(page) = ask(line, &[b"XRANGE", STREAM, &after, b"+", b"COUNT", PAGE])? else {
            bail!("no page of the stream");
        };
        ensure!(!page.is_empty(), "{} events are not there", missing.len());
        for entry in &page {
            let Some((place, [_, Reply::Text(id), _, Reply::Text(document)])) = entry.entry() else {
                bail!("an entry that is not one: {entry:?}");
            };
            let sent = missing.remove(id.as_slice()).context("an event was not sent or is there twice")?;
            ensure!(sent == document, "{} is not what was sent", String::from_utf8_lossy(id));
            after = [b"(", place].concat();
        }
    }
    Ok(())
}

fn ask(line: &mut Line, words: &[&[u8]]) -> anyhow::Result<Reply> {
    match Reply::whole(&line.ask(&command_of(words), 1)?)? {
        Reply::Error(why) => bail!("Redis says {why}"),
        reply @ (Reply::Nothing | Reply::Number(_) | Reply::Text(_) | Reply::List(_)) => Ok(reply),
    }
}

/// A command, as RESP writes it.
fn command_of(words: &[&[u8]]) -> Vec<u8> {
    let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
    for word in words {
        bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
        bytes.extend_from_slice(word);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes
}

/// What Redis answers.
#[derive(Debug, PartialEq, Eq)]
enum Reply {
    Nothing,
    Error(String),
    Number(i64),
    Text(Vec<u8>),
    List(Vec<Reply>),
}

impl Reply {
    fn whole(bytes: &[u8]) -> anyhow::Result<Reply> {
        match Reply::read(bytes)? {
            Some((reply, [])) => Ok(reply),
            Some(_) | None => bail!("{} bytes are not one reply", bytes.len()),
        }
    }

    /// The first reply and what comes after it; none if there is more to come.
    fn read(bytes: &[u8]) -> anyhow::Result<Option<(Reply, &[u8])>> {
        let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") else { return Ok(None) };
        let (line, mut rest) = (&bytes[1..end], &bytes[end + 2..]);
        let text = std::str::from_utf8(line)?;
        let reply = match bytes[0] {
            b'+' => Reply::Text(line.to_vec()),
            b'-' => Reply::Error(text.to_owned()),
            b':' => Reply::Number(text.parse()?),
            b'$' | b'*' if text == "-1" => Reply::Nothing,
            b'$' => {
                let length: usize = text.parse()?;
                if rest.len() < length + 2 {
                    return Ok(None);
                }
                let (text, after) = rest.split_at(length);
                rest = &after[2..];
                Reply::Text(text.to_vec())
            }
            b'*' => {
                let mut members = Vec::new();
                for _ in 0..text.parse::<usize>()? {
                    let Some((member, after)) = Reply::read(rest)? else { return Ok(None) };
                    members.push(member);
                    rest = after;
                }
                Reply::List(members)
            }
            other => bail!("no reply begins with {:?}", char::from(other)),
        };
        Ok(Some((reply, rest)))
    }

    /// The place of an entry in a stream, and its fields and values in turn.
    fn entry(&self) -> Option<(&[u8], &[Reply; 4])> {
        let Reply::List(entry) = self else { return None };
        let [Reply::Text(place), Reply::List(fields)] = entry.as_slice() else { return None };
        Some((place, fields.as_slice().try_into().ok()?))
    }
}

struct Resp;

impl Listener for Resp {
    fn expect(&mut self, _parts: usize) {}

    fn is_whole(&mut self, answer: &[u8]) -> anyhow::Result<bool> {
        Ok(Reply::read(answer)?.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::{Listener as _, Reply, Resp, command_of};

    fn text(text: &str) -> Reply {
        Reply::Text(text.as_bytes().to_vec())
    }

    #[test]
    fn a_command_is_a_list_of_texts() {
        assert_eq!(command_of(&[b"SET", b"a\r\n", b""]), b"*3\r\n$3\r\nSET\r\n$3\r\na\r\n\r\n$0\r\n\r\n");
    }

    #[test]
    fn every_kind_of_reply_is_read_and_no_beginning_of_one_is_taken_for_it() {
        let entry = Reply::List(vec![text("1-0"), Reply::List(vec![text("id"), text("a\r\nb")])]);
        for (bytes, expected) in [
            ("+OK\r\n", text("OK")),
            (":-12\r\n", Reply::Number(-12)),
            ("-NOSCRIPT no\r\n", Reply::Error("NOSCRIPT no".to_owned())),
            ("$-1\r\n", Reply::Nothing),
            ("$0\r\n\r\n", text("")),
            ("*2\r\n$3\r\n1-0\r\n*2\r\n$2\r\nid\r\n$4\r\na\r\nb\r\n", entry),
        ] {
            assert_eq!(Reply::whole(bytes.as_bytes()).expect("a reply"), expected);
            for end in 0..bytes.len() {
                assert!(!Resp.is_whole(&bytes.as_bytes()[..end]).expect("a beginning"), "{:?}", &bytes[..end]);
            }
            assert!(Reply::whole(format!("{bytes}:1\r\n").as_bytes()).is_err(), "two are not one");
        }
        assert!(Reply::whole(b"HTTP/1.1 200\r\n").is_err());
    }
}
