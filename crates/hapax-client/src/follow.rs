//! Following a stream: every entry after an offset, and then every new one as it comes.
//!
//! What holds: entries come in the order of their offsets, none twice, none left out, however often the connection
//! breaks: each connection begins after the last entry that was given. Not here: filters that the server does not have.

use serde_json::value::RawValue;

use crate::sse::Messages;
use crate::{Call, Client, Entry, Error, Incoming, Route, Stop};

/// The entries of a stream, without an end.
pub struct Follow {
    client: Client,
    route: Route,
    after: u64,
    stop: Stop,
    open: Option<Messages<Incoming>>,
}

impl Client {
    /// Follows a stream from an offset, one lane of it or all.
    pub fn follow(&self, stream: &str, lane: Option<&str>, after: u64, stop: Stop) -> Follow {
        let route = Route::stream(stream, &["events"]).with("follow", true).with_some("lane", lane);
        Follow { client: self.clone().with_stop(stop.clone()), route, after, stop, open: None }
    }
}

impl Follow {
    fn connect(&self) -> Result<Messages<Incoming>, Error> {
        let call = Call::get(self.route.clone().with("after", self.after))
            .header("accept", "text/event-stream")
            .header("last-event-id", self.after.to_string());
        self.client.open(&call).map(Messages::new)
    }

    fn read(&mut self, data: String) -> Result<Option<Entry>, Error> {
        let entry = RawValue::from_string(data).and_then(Entry::read);
        let strange = |error| Error::Strange {
            url: self.client.url().to_owned(),
            why: format!("what it streams is no entry: {error}"),
        };
        let entry = entry.map_err(strange)?;
        if entry.offset <= self.after {
            return Ok(None);
        }
        self.after = entry.offset;
        Ok(Some(entry))
    }
}

impl Iterator for Follow {
    type Item = Result<Entry, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.stop.is_set() {
            let messages = match &mut self.open {
                Some(messages) => messages,
                None => match self.connect() {
                    Ok(messages) => self.open.insert(messages),
                    Err(error) => return Some(Err(error)),
                },
            };
            let message = match messages.next() {
                Ok(Some(message)) => message,
                Ok(None) | Err(_) => {
                    self.open = None;
                    // A server that hangs up on everyone at once must not be asked without a pause.
                    self.stop.wait(PAUSE);
                    continue;
                }
            };
            if message.event.as_deref().is_none_or(|event| event == "entry" || event == "message") {
                match self.read(message.data) {
                    Ok(Some(entry)) => return Some(Ok(entry)),
                    Ok(None) => {}
                    Err(error) => return Some(Err(error)),
                }
            }
        }
        None
    }
}

/// Between two connections.
const PAUSE: std::time::Duration = std::time::Duration::from_millis(100);

#[cfg(test)]
mod tests;
