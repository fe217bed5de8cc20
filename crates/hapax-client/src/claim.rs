//! The registry of a handler, call by call: claim, say that one lives, say how it ended.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::{Call, Client, Entry, Error, Route, Stop};

/// What the registry says to whoever wants to act on an event.
#[derive(Debug, Clone, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum Decision {
    /// It was done, or a person let it go.
    Done {},
    /// Given up; needs a person.
    Dead {},
    /// A later one of the lane is done.
    Stale {},
    /// Another holds it.
    InProgress {
        /// When it may be free, if nothing happens.
        retry_after_ms: Option<u64>,
    },
    /// Something must come first.
    Waiting {
        /// When that may be, if anyone knows.
        retry_after_ms: Option<u64>,
    },
    /// Do it.
    Claimed(Grant),
}

/// The right to act on an event, until the lease ends or another has it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Grant {
    /// To be shown with every call, and to the target.
    pub fence: u64,
    /// Which attempt it is, from 1.
    #[serde(default = "one")]
    pub attempt: u32,
    /// Until when, on the server's clock.
    pub lease_until: Option<String>,
}

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(tag = "status", rename_all = "snake_case")]
pub enum Status {
    /// It goes on.
    Claimed {},
    /// Final.
    Done {},
    /// It may be tried again.
    Failed {},
    /// That was the last attempt.
    Dead {},
}

fn one() -> u32 {
    1
}

/// A handler's registry.
#[derive(Clone)]
pub struct Claims {
    client: Client,
    handler: String,
    stream: Option<String>,
    owner: String,
}

impl Claims {
    /// The registry of a handler, for its stream if it has one, in the name of `owner`.
    pub fn new(client: Client, handler: &str, stream: Option<&str>, owner: &str) -> Claims {
        Claims { client, handler: handler.to_owned(), stream: stream.map(str::to_owned), owner: owner.to_owned() }
    }

    /// May I?
    pub fn claim(&self, entry: &Entry) -> Result<Decision, Error> {
        let mut body = self.about(entry, json!({ "event_id": entry.id, "owner": self.owner }));
        // A registry without a stream of its own takes the caller's word for them.
        for (name, value) in [("seq", entry.seq), ("epoch", entry.epoch)] {
            if let Some(value) = value {
                body[name] = json!(value);
            }
        }
        self.client.call(&Call::post(Route::handler(&self.handler, &["claims"])).json(&body))?.json()
    }

    /// I live.
    ///
    /// Given up when `finished` is set: nobody waits for the answer then.
    pub fn heartbeat(&self, entry: &Entry, fence: u64, finished: &Stop) -> Result<Status, Error> {
        let claims = Claims { client: self.client.clone().with_stop(finished.clone()), ..self.clone() };
        claims.say(entry, "heartbeat", json!({ "fence": fence }))
    }

    /// It is done.
    pub fn done(&self, entry: &Entry, fence: u64, result: Option<&RawValue>) -> Result<Status, Error> {
        // Written by hand: a result is kept as the worker wrote it.
        let mut body = self.about(entry, json!({ "fence": fence })).to_string();
        if let Some(result) = result {
            body.truncate(body.len() - 1);
            body.push_str(",\"result\":");
            body.push_str(result.get());
            body.push('}');
        }
        self.call(entry, "done", body)
    }

    /// It failed.
    pub fn failed(&self, entry: &Entry, fence: u64, error: &str) -> Result<Status, Error> {
        self.say(entry, "failed", json!({ "fence": fence, "error": error }))
    }

    fn say(&self, entry: &Entry, what: &str, body: Value) -> Result<Status, Error> {
        self.call(entry, what, self.about(entry, body).to_string())
    }

    fn call(&self, entry: &Entry, what: &str, body: String) -> Result<Status, Error> {
        let route = Route::handler(&self.handler, &["claims", &entry.id, what]);
        self.client.call(&Call::post(route).with("application/json", body))?.json()
    }

    /// With the stream and the lane, because an id may belong to a lane alone.
    fn about(&self, entry: &Entry, mut body: Value) -> Value {
        if let Some(stream) = &self.stream {
            body["stream"] = json!(stream);
        }
        body["lane"] = json!(entry.lane);
        body
    }
}
