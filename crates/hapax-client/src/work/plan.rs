//! What a worker must know before it begins: which handler, which stream, from where, in which order.

use std::time::Duration;

use serde::Deserialize;

use crate::{Client, Error, Route};

/// The handler's own default, where an older server does not say.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// What a worker works by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The handler.
    pub handler: String,
    /// The stream.
    pub stream: String,
    /// Who the worker is, for people who look at claims.
    pub owner: String,
    /// Whether a lane's events are handled one after the other.
    pub in_order: bool,
    /// Whether that is the order of their numbers, not of the ledger: a registry without a stream knows no other.
    pub by_number: bool,
    /// How often a claim is kept alive.
    pub heartbeat: Duration,
    /// Entries up to here need nothing more.
    pub after: u64,
    /// Whether to end when all that is in the stream now is handled.
    pub once: bool,
}

#[derive(Deserialize)]
struct Handler {
    stream: Option<String>,
    order: Option<String>,
    heartbeat: Option<String>,
    // How many events still need something.
    lag: Option<u64>,
    // The offset below which everything is done, if the server says it.
    low_water: Option<u64>,
}

#[derive(Deserialize)]
struct Head {
    offset: u64,
}

impl Plan {
    /// The plan that the handler's declaration gives for this stream.
    pub fn of(client: &Client, handler: &str, stream: &str, owner: &str) -> Result<Plan, Error> {
        // Asked first: what needs nothing a moment later needed nothing before it either.
        let head: Head = client.get(Route::stream(stream, &["head"]))?.json()?;
        let declared: Handler = client.get(Route::handler(handler, &[]))?.json()?;
        if let Some(other) = declared.stream.as_deref().filter(|it| *it != stream) {
            return Err(Error::Wrong(format!("handler {handler} reads stream {other}, not {stream}")));
        }
        let in_order = declared.order.as_deref() == Some("in_order");
        let idle = declared.stream.is_some() && declared.lag == Some(0);
        Ok(Plan {
            handler: handler.to_owned(),
            stream: stream.to_owned(),
            owner: owner.to_owned(),
            in_order,
            by_number: in_order && declared.stream.is_none(),
            heartbeat: declared.heartbeat.as_deref().and_then(duration).unwrap_or(HEARTBEAT),
            after: if idle { head.offset } else { declared.low_water.unwrap_or(0) },
            once: false,
        })
    }
}

/// An integer and `ms`, `s`, `m`, `h` or `d`, as everywhere on the wire.
fn duration(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit())?);
    let many: u64 = digits.parse().ok()?;
    let seconds = |each: u64| many.checked_mul(each).map(Duration::from_secs);
    match unit {
        "ms" => Some(Duration::from_millis(many)),
        "s" => seconds(1),
        "m" => seconds(60),
        "h" => seconds(3_600),
        "d" => seconds(86_400),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Plan, duration};
    use crate::fake::{Fake, say};

    /// Where a worker begins, if this is what the server says about its handler.
    fn after(handler: &str) -> u64 {
        let server = Fake::new(vec![say(200, "{\"offset\":9,\"hash\":\"00\"}"), say(200, handler)]);
        Plan::of(&server.client(), "h", "s", "me").expect("a plan").after
    }

    #[test]
    fn a_worker_begins_where_something_is_left_to_do() {
        assert_eq!(after("{\"stream\":\"s\",\"lag\":0}"), 9, "everything is done");
        assert_eq!(after("{\"stream\":\"s\",\"lag\":2}"), 0, "nobody says where");
        assert_eq!(after("{\"stream\":\"s\",\"lag\":2,\"low_water\":5}"), 5);
        assert_eq!(after("{\"lag\":0}"), 0, "a registry without a stream counts nothing");
    }

    #[test]
    fn a_duration_is_an_integer_and_its_unit() {
        let millis = |text| duration(text).map(|it: Duration| it.as_millis());
        assert_eq!([millis("30s"), millis("250ms"), millis("2m")], [Some(30_000), Some(250), Some(120_000)]);
        assert_eq!([millis("1h"), millis("1d")], [Some(3_600_000), Some(86_400_000)]);
        assert_eq!([millis(""), millis("s"), millis("5"), millis("5 s"), millis("-1s")], [None; 5]);
    }
}
