//! Server-sent events: bytes in, messages out. Nothing here knows where the bytes come from or what the messages mean.

use std::io::{BufRead, BufReader, Read};

/// A line longer than this is nobody's entry: an event is at most 1 MiB, and its escapes at most six times that.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// One message.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Message {
    /// Where to go on after it.
    pub(crate) id: Option<String>,
    /// What it is, if it says so.
    pub(crate) event: Option<String>,
    /// What it says.
    pub(crate) data: String,
}

/// The messages of one connection.
pub(crate) struct Messages<R> {
    lines: BufReader<R>,
}

impl<R: Read> Messages<R> {
    pub(crate) fn new(reader: R) -> Messages<R> {
        Messages { lines: BufReader::new(reader) }
    }

    /// The next message; nothing when the connection has ended. What came of a message without its end is dropped: it
    /// comes again, whole.
    pub(crate) fn next(&mut self) -> std::io::Result<Option<Message>> {
        let mut message = Message::default();
        let mut data: Option<String> = None;
        loop {
            let mut line = Vec::new();
            let read = self.lines.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
            if read == 0 || line.last() != Some(&b'\n') {
                return Ok(None);
            }
            let line = String::from_utf8_lossy(&line);
            let line = line.trim_end_matches(['\n', '\r']);
            if line.is_empty() {
                match data {
                    Some(data) => return Ok(Some(Message { data, ..message })),
                    // A message without data says nothing, and a lone comment keeps the connection alive.
                    None => message = Message::default(),
                }
                continue;
            }
            let (field, value) = line.split_once(':').unwrap_or((line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            match field {
                "id" => message.id = Some(value.to_owned()),
                "event" => message.event = Some(value.to_owned()),
                "data" => match &mut data {
                    Some(data) => data.extend(["\n", value]),
                    None => data = Some(value.to_owned()),
                },
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Message, Messages};

    fn check(bytes: &str, expect: &[(&str, &str, &str)]) {
        let mut messages = Messages::new(bytes.as_bytes());
        let mut found = Vec::new();
        while let Some(Message { id, event, data }) = messages.next().expect("bytes in memory") {
            found.push((id.unwrap_or_default(), event.unwrap_or_default(), data));
        }
        let expect: Vec<_> =
            expect.iter().map(|(a, b, c)| ((*a).to_owned(), (*b).to_owned(), (*c).to_owned())).collect();
        assert_eq!(found, expect, "{bytes:?}");
    }

    #[test]
    fn a_message_has_an_id_and_data() {
        check(
            "id: 1\ndata: {}\n\nid:2\nevent: entry\ndata:{\"a\":1}\n\n",
            &[("1", "", "{}"), ("2", "entry", "{\"a\":1}")],
        );
    }

    #[test]
    fn lines_may_end_as_on_windows_and_data_may_have_several() {
        check("data: a\r\ndata: b\r\n\r\n", &[("", "", "a\nb")]);
    }

    #[test]
    fn comments_and_unknown_fields_say_nothing() {
        check(": alive\n\nretry: 3\n\n: alive\nid: 7\ndata: x\n\n", &[("7", "", "x")]);
    }

    #[test]
    fn a_message_that_was_cut_off_is_none() {
        check("id: 1\ndata: whole\n\nid: 2\ndata: ha", &[("1", "", "whole")]);
        check("id: 1\ndata: whole\n\nid: 2\ndata: almost\n", &[("1", "", "whole")]);
    }
}
