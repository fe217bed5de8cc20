//! Sending events: a batch out, a receipt for each event back, in the order sent.

use serde::Deserialize;

use crate::{Answer, Call, Client, Error, Route, token};

/// A batch of events for one stream.
///
/// Its key is made with it, so whoever keeps a batch and sends it again (after a crash, say) sends the same request.
#[derive(Debug, Clone)]
pub struct Batch {
    stream: String,
    body: Vec<u8>,
    events: usize,
    key: String,
    atomic: bool,
    dry_run: bool,
}

/// What became of one event.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Receipt {
    /// `accepted`, `duplicate`, `conflict`, `stale`, `rejected` or `not_evaluated`.
    pub verdict: String,
    /// The event's id, if one could be read.
    pub id: Option<String>,
    /// Its lane, if one could be read.
    pub lane: Option<String>,
    /// Its place in the ledger, if it is there.
    pub offset: Option<u64>,
    /// Why it was not accepted, for programs.
    pub code: Option<String>,
    /// Why it was not accepted, for people.
    pub message: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Remarks on what was accepted.
    #[serde(default)]
    pub marks: Vec<String>,
}

/// The answer to a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipts {
    /// One for each event, in the order sent.
    pub receipts: Vec<Receipt>,
    /// Whether this is the answer that the same request got before.
    pub replayed: bool,
}

impl Batch {
    /// A batch of these documents, each as it is written; a line break between two tokens counts as a space.
    pub fn new<D: AsRef<[u8]>>(stream: &str, documents: impl IntoIterator<Item = D>) -> Batch {
        let mut body = Vec::new();
        let mut events = 0;
        for document in documents {
            // Inside a string a line cannot end, so nothing is changed that means something.
            body.extend(document.as_ref().iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte }));
            body.push(b'\n');
            events += 1;
        }
        Batch { stream: stream.to_owned(), body, events, key: token::random(), atomic: false, dry_run: false }
    }

    /// Under this key instead of a random one.
    #[must_use]
    pub fn keyed(self, key: String) -> Batch {
        Batch { key, ..self }
    }

    /// All of it or nothing.
    #[must_use]
    pub fn atomic(self, atomic: bool) -> Batch {
        Batch { atomic, ..self }
    }

    /// Only asking what would become of it.
    #[must_use]
    pub fn dry_run(self, dry_run: bool) -> Batch {
        Batch { dry_run, ..self }
    }

    fn call(&self) -> Call {
        let mut route = Route::stream(&self.stream, &["events"]);
        for (name, wanted) in [("atomic", self.atomic), ("dry_run", self.dry_run)] {
            if wanted {
                route = route.with(name, true);
            }
        }
        Call::post(route).keyed(self.key.clone()).with("application/x-ndjson", self.body.clone())
    }
}

impl Client {
    /// Sends a batch until it is answered. An event that was refused is an answer, not an error.
    pub fn send(&self, batch: &Batch) -> Result<Receipts, Error> {
        #[derive(Deserialize)]
        struct Body {
            results: Vec<Receipt>,
        }
        let answer: Answer = self.call(&batch.call())?;
        let Body { results } = answer.json()?;
        if results.len() != batch.events {
            let why = format!("{} events were sent and {} were answered", batch.events, results.len());
            return Err(Error::Strange { url: self.url().to_owned(), why });
        }
        Ok(Receipts { receipts: results, replayed: answer.replayed })
    }
}

#[cfg(test)]
mod tests {
    use super::Batch;
    use crate::Error;
    use crate::fake::{Fake, Line, say};

    #[test]
    fn a_batch_that_is_sent_again_is_the_same_request() {
        let receipts = "{\"results\":[{\"verdict\":\"accepted\",\"offset\":1,\"marks\":[\"HAS_GAPS\"]},{\"verdict\":\"rejected\",\"code\":\"X\"}]}";
        let server = Fake::new(vec![Line::HangUp, say(200, receipts), say(422, receipts)]);
        let batch = Batch::new("s", ["{\"a\":\r\n1.0}", "{}"]).atomic(true);
        let client = server.client();
        let first = client.send(&batch).expect("receipts");
        assert_eq!(client.send(&batch).expect("receipts"), first);
        assert_eq!((first.receipts[0].offset, first.receipts[1].code.as_deref()), (Some(1), Some("X")));
        let heard = server.heard();
        assert_eq!(
            (heard[0].line.as_str(), heard[0].body.as_str()),
            ("POST /v1/streams/s/events?atomic=true", "{\"a\":  1.0}\n{}\n")
        );
        assert!(heard.iter().all(|it| it == &heard[0]) && heard.len() == 3);
    }

    #[test]
    fn an_answer_about_other_events_is_none() {
        let server = Fake::new(vec![say(200, "{\"results\":[]}")]);
        let error = server.client().send(&Batch::new("s", ["{}"])).expect_err("too few receipts");
        assert!(matches!(error, Error::Strange { .. }));
    }
}
