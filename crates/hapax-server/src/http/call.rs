//! One request on its way: who asks, for what, with which parameters.

use std::sync::Arc;

use hapax_core::access::{Access, Deed, Rates};
use hapax_core::contract::{Version, is_name};
use hapax_core::entry::Caller;
use hapax_core::event::Digest;
use hapax_core::problem::{Problem, ProblemCode};
use hapax_core::time::Time;
use hapax_store::seam::{HandlerKey, StreamKey};
use percent_encoding::percent_decode_str;

use super::{App, Route, invalid, malformed, unread};
use crate::connection::head::Head;
use crate::connection::headers::text;
use crate::connection::incoming::Incoming;
use crate::keys;
use crate::rate::Account;
use crate::writer::DEFAULT_TENANT;

/// One request on its way.
pub struct Call {
    /// Its row.
    pub route: &'static Route,
    /// Line and headers.
    pub head: Box<Head>,
    /// The body, not yet read.
    pub body: Incoming,
    /// When it came. Read once.
    pub now: Time,
    /// Whose things it sees.
    pub tenant: Arc<str>,
    /// What it may do, and where.
    pub access: Access,
    /// The id of its key; none where no keys are needed.
    pub key: Option<Arc<str>>,
    /// What it is charged to, where there is a limit.
    pub account: Option<Account>,
    /// What its key was looked up by.
    hash: Option<Digest>,
    params: Vec<(&'static str, String)>,
    query: Vec<(String, String)>,
}

impl std::fmt::Debug for Call {
    /// Headers hold keys, so they stay out of every log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("route", &self.route).finish_non_exhaustive()
    }
}

impl Call {
    /// Lets a request in: may they, and are its parameters known?
    pub(super) fn open(
        app: &App,
        route: &'static Route,
        params: Vec<(&'static str, String)>,
        head: Box<Head>,
        body: Incoming,
        who: Who,
    ) -> Result<Self, Problem> {
        let now = app.clock.now();
        if let Some(deed) = route.deed
            && !who.access.role.may(deed)
        {
            return Err(forbidden(&format!("a key with the role {} does not allow this", who.access.role)));
        }
        let mut params = params;
        for (_, value) in &mut params {
            decode(value)?;
        }
        let query = parse_query(head.uri.query().unwrap_or_default(), route)?;
        let Who { tenant, access, key, hash, rates: _ } = who;
        let call = Self { route, head, body, now, tenant, access, key, account: None, hash, params, query };
        if let Some(stream) = call.params.iter().find(|(name, _)| *name == "stream")
            && !call.access.streams.cover(&stream.1)
        {
            return Err(forbidden("the key does not cover this stream"));
        }
        Ok(call)
    }

    /// Would the caller be let in again? Asked by whoever goes on answering.
    pub fn is_still_let_in(&self, app: &App) -> bool {
        match &self.hash {
            Some(hash) => app.reader.key(hash).is_ok_and(|key| key.is_some_and(|key| keys::opens(&key, hash))),
            None => app.reader.needs_keys().is_ok_and(|needs_keys| !needs_keys),
        }
    }

    /// What stands in a variable place of the path.
    pub fn param(&self, name: &str) -> &str {
        self.params.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str()).unwrap_or_default()
    }

    /// A parameter of the query.
    pub fn query(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// A parameter that is `true` or `false`.
    pub fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.query(name) {
            None | Some("false") => Ok(false),
            Some("true" | "") => Ok(true),
            Some(other) => Err(malformed(format!("{name} is true or false, not {other:?}"))),
        }
    }

    /// A parameter that is a number.
    pub fn number(&self, name: &str) -> Result<Option<u64>, Problem> {
        let parse = |text: &str| text.parse().map_err(|_| malformed(format!("{name} is a number, not {text:?}")));
        self.query(name).map(parse).transpose()
    }

    /// A parameter that is an instant.
    pub fn time(&self, name: &str) -> Result<Option<Time>, Problem> {
        let parse = |text: &str| {
            hapax_core::time::parse(text, false)
                .map_err(|fault| malformed(format!("{name} is an RFC 3339 time, not {text:?}: {}", fault.why())))
        };
        self.query(name).map(parse).transpose()
    }

    /// How long a list is asked for: 100 unless said otherwise, at most 1 000.
    pub fn limit(&self) -> Result<usize, Problem> {
        match self.number("limit")? {
            None => Ok(100),
            Some(limit @ 1..=1_000) => Ok(limit as usize),
            Some(other) => Err(malformed(format!("limit is a number from 1 to 1000, not {other}"))),
        }
    }

    /// The stream in the path.
    pub fn stream(&self) -> StreamKey {
        StreamKey { tenant: Arc::clone(&self.tenant), stream: Arc::from(self.param("stream")) }
    }

    /// The stream in the path, and every version of its contract, oldest first.
    pub fn versions(&self, app: &App) -> Result<(StreamKey, Vec<Version>), Problem> {
        let stream = self.stream();
        let versions = app.reader.versions(&stream).map_err(unread)?;
        if versions.is_empty() { Err(no_stream(&stream.stream)) } else { Ok((stream, versions)) }
    }

    /// The stream in the path, and the contract in force.
    pub fn version(&self, app: &App) -> Result<(StreamKey, Version), Problem> {
        let stream = self.stream();
        let version = app.reader.version(&stream).map_err(unread)?;
        version.map(|version| (stream, version)).ok_or_else(|| no_stream(self.param("stream")))
    }

    /// The handler in the path.
    pub fn handler(&self) -> HandlerKey {
        HandlerKey { tenant: Arc::clone(&self.tenant), handler: Arc::from(self.param("handler")) }
    }

    /// May the caller know of this lane?
    pub fn covers_lane(&self, lane: &str) -> bool {
        self.access.lanes.cover(lane)
    }

    /// Refuses what is not told apart by lanes to a caller that is confined to some.
    pub fn all_lanes(&self) -> Result<(), Problem> {
        if self.access.lanes.is_all() { Ok(()) } else { Err(forbidden("the key is confined to some lanes")) }
    }

    /// Who asks, as the audit remembers it.
    pub fn caller(&self) -> Caller {
        let request = self.header("x-request-id").filter(|id| id.len() <= 128).map(Arc::from);
        // A name of its own: each event of the request counts as a user of it, and so do those of all other requests with this key.
        let key = self.key.as_deref().map(Arc::from);
        Caller { key, request, forced: false }
    }

    /// A header that is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.text(name)
    }

    /// What the caller would rather read.
    pub fn accepts(&self, kind: &str) -> bool {
        self.header("accept").is_some_and(|accept| accept.split(',').any(|it| it.trim().starts_with(kind)))
    }
}

/// Who asks.
pub(super) struct Who {
    tenant: Arc<str>,
    access: Access,
    pub(super) key: Option<Arc<str>>,
    pub(super) rates: Rates,
    hash: Option<Digest>,
}

impl Who {
    /// Whoever the key says; everybody where none is needed.
    pub(super) fn of(app: &App, head: &Head, deed: Option<Deed>) -> Result<Self, Problem> {
        let header = head.headers.get("authorization");
        if deed.is_none() || !app.reader.needs_keys().map_err(unread)? {
            let (tenant, access, rates) = (Arc::from(DEFAULT_TENANT), Access::admin(), Rates::default());
            return Ok(Self { tenant, access, key: None, rates, hash: None });
        }
        let Some(header) = header else {
            return Err(Problem::new(ProblemCode::KeyRequired, "send the key as `Authorization: Bearer KEY`"));
        };
        let unknown = || Problem::new(ProblemCode::KeyInvalid, "the key is unknown or revoked");
        let (scheme, secret) = text(header).and_then(|text| text.split_once(' ')).ok_or_else(unknown)?;
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Err(Problem::new(ProblemCode::KeyRequired, "send the key as `Authorization: Bearer KEY`"));
        }
        let hash = keys::hash(secret.trim());
        let key = app.reader.key(&hash).map_err(unread)?.filter(|key| keys::opens(key, &hash)).ok_or_else(unknown)?;
        Ok(Self { tenant: key.tenant, access: key.access, key: Some(key.id), rates: key.rates, hash: Some(hash) })
    }
}

/// A key that does not reach so far.
pub(super) fn forbidden(detail: &str) -> Problem {
    Problem::new(ProblemCode::Forbidden, detail)
}

/// A stream that is not there, or not the caller's: nobody can tell which.
pub(super) fn no_stream(name: &str) -> Problem {
    let detail = if is_name(name) {
        format!("there is no stream {name}; PUT a contract to /v1/streams/{name} to make it")
    } else {
        "there is no such stream".to_owned()
    };
    Problem::new(ProblemCode::StreamNotFound, detail)
}

/// A name that something is made with.
pub(super) fn checked_name<'n>(name: &'n str, of: &str) -> Result<&'n str, Problem> {
    let rule = "1 to 128 letters, digits, `.`, `_` or `-`, the first a letter or a digit";
    if is_name(name) { Ok(name) } else { Err(invalid(format!("{name:?} is no name for a {of}: {rule}"))) }
}

/// Decodes a part of the address where it stands. Most have nothing to decode; what cannot be in one was refused with its head.
fn decode(text: &mut String) -> Result<(), Problem> {
    if !text.contains('%') {
        return Ok(());
    }
    if !is_percent_encoded(text.as_bytes()) {
        return Err(malformed("the address has a % without two digits behind it"));
    }
    let plain = percent_decode_str(text).decode_utf8().map_err(|_| malformed("the address is not UTF-8"))?;
    if plain.contains('\0') {
        return Err(malformed("the address contains U+0000"));
    }
    *text = plain.into_owned();
    Ok(())
}

/// Has every `%` its two digits?
pub(super) fn is_percent_encoded(text: &[u8]) -> bool {
    let mut pieces = text.split(|byte| *byte == b'%');
    pieces.next();
    pieces.all(|piece| piece.len() >= 2 && piece[..2].iter().all(u8::is_ascii_hexdigit))
}

fn parse_query(query: &str, route: &Route) -> Result<Vec<(String, String)>, Problem> {
    let mut found: Vec<(String, String)> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (mut name, mut value) = (name.replace('+', " "), value.replace('+', " "));
        decode(&mut name)?;
        decode(&mut value)?;
        if !route.takes.iter().any(|(known, _)| *known == name) {
            let known: Vec<_> = route.takes.iter().map(|(name, _)| *name).collect();
            let known =
                if known.is_empty() { "it takes none".to_owned() } else { format!("it takes {}", known.join(", ")) };
            return Err(malformed(format!("there is no parameter {name:?} here; {known}")));
        }
        if found.iter().any(|(known, _)| *known == name) {
            return Err(malformed(format!("the parameter {name:?} is there twice")));
        }
        found.push((name, value));
    }
    Ok(found)
}
