//! A call, before it is sent: what it does, where it goes, what it says.

use crate::{Route, token};

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Asks.
    Get,
    /// Does something, once per key.
    Post,
    /// Sets something to what it says.
    Put,
    /// Takes something away.
    Delete,
}

/// A call, before it is sent.
#[derive(Clone, Debug)]
pub struct Call {
    pub(crate) method: Method,
    pub(crate) route: Route,
    pub(crate) body: Vec<u8>,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Call {
    /// A question.
    pub fn get(route: Route) -> Call {
        Call { method: Method::Get, route, body: Vec::new(), headers: Vec::new() }
    }

    /// Something to do, under a key of its own.
    pub fn post(route: Route) -> Call {
        Call { method: Method::Post, ..Call::get(route) }.keyed(token::random())
    }

    /// Something to set.
    pub fn put(route: Route) -> Call {
        Call { method: Method::Put, ..Call::get(route) }
    }

    /// Something to take away.
    pub fn delete(route: Route) -> Call {
        Call { method: Method::Delete, ..Call::get(route) }
    }

    /// With these bytes.
    #[must_use]
    pub fn with(mut self, content_type: &'static str, body: impl Into<Vec<u8>>) -> Call {
        self.body = body.into();
        self.header("content-type", content_type)
    }

    /// With a JSON document.
    #[must_use]
    pub fn json(self, value: &serde_json::Value) -> Call {
        self.with("application/json", value.to_string())
    }

    /// Under this key instead of a random one: 1 to 255 of `A-Z a-z 0-9 . _ : ~ -`.
    #[must_use]
    pub fn keyed(self, key: impl Into<String>) -> Call {
        self.header("idempotency-key", key)
    }

    /// With a header; a second one of the same name replaces the first.
    #[must_use]
    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Call {
        self.headers.retain(|(it, _)| *it != name);
        self.headers.push((name, value.into()));
        self
    }
}
