//! Where a call goes: a path of names and a query, both encoded here and nowhere else.

use std::fmt::{self, Display, Write as _};

/// A path and a query. A name is one segment, whatever it contains: the lane `a/b?c` stays one lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    path: String,
    query: String,
}

impl Route {
    /// A path of these names.
    pub fn to(names: &[&str]) -> Route {
        let path = names.iter().fold(String::new(), |path, name| path + "/" + &encoded(name));
        Route { path, query: String::new() }
    }

    /// What belongs to a stream: `stream("s", &["lanes", "l"])` is `/v1/streams/s/lanes/l`.
    pub fn stream(stream: &str, rest: &[&str]) -> Route {
        Route::to(&[&["v1", "streams", stream], rest].concat())
    }

    /// What belongs to a handler.
    pub fn handler(handler: &str, rest: &[&str]) -> Route {
        Route::to(&[&["v1", "handlers", handler], rest].concat())
    }

    /// With a member of the query.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Display) -> Route {
        let join = if self.query.is_empty() { '?' } else { '&' };
        self.query.push(join);
        self.query.push_str(&encoded(name));
        self.query.push('=');
        self.query.push_str(&encoded(&value.to_string()));
        self
    }

    /// With a member of the query, if there is a value.
    #[must_use]
    pub fn with_some(self, name: &str, value: Option<impl Display>) -> Route {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

impl Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.path, self.query)
    }
}

/// Percent-encoded, but for what RFC 3986 calls unreserved. The segments `.` and `..` would be taken for steps in a
/// tree, and no name on the wire is one of them.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::Route;

    #[test]
    fn a_name_is_one_segment_whatever_it_contains() {
        let route = Route::stream("s", &["lanes", "[\"a/b\",\"c d\"]"]).with("gaps", "open");
        assert_eq!(route.to_string(), "/v1/streams/s/lanes/%5B%22a%2Fb%22%2C%22c%20d%22%5D?gaps=open");
    }

    #[test]
    fn a_value_that_is_not_there_leaves_no_trace() {
        let route = Route::stream("s", &["events"]).with_some("lane", None::<&str>).with_some("after", Some(3));
        assert_eq!(route.to_string(), "/v1/streams/s/events?after=3");
    }
}
