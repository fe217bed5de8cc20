//! Lists that come in pages, as one list.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Display;

use serde_json::value::RawValue;

use crate::{Client, Error, Route};

/// The most that a server gives at once.
const PAGE: u64 = 1_000;

/// The members of a list, page after page, each as it came.
pub struct Pages<'c> {
    client: &'c Client,
    route: Route,
    plural: &'static str,
    ready: VecDeque<Box<RawValue>>,
    left: u64,
    cursor: Option<String>,
    ended: bool,
}

impl Client {
    /// A list whose members stand under `plural`; at most `limit` of them.
    pub fn pages(&self, route: Route, plural: &'static str, limit: u64) -> Pages<'_> {
        Pages { client: self, route, plural, ready: VecDeque::new(), left: limit, cursor: None, ended: limit == 0 }
    }
}

impl Pages<'_> {
    /// Beginning after this cursor: an offset, a number or a name, as the list has it.
    #[must_use]
    pub fn after(self, cursor: impl Display) -> Self {
        Pages { cursor: Some(cursor.to_string()), ..self }
    }

    /// Where the list goes on, if it does: what was not asked for yet.
    pub fn cursor(&self) -> Option<&str> {
        self.cursor.as_deref()
    }

    fn turn(&mut self) -> Result<(), Error> {
        let route = self.route.clone().with("limit", self.left.min(PAGE)).with_some("after", self.cursor.as_ref());
        let answer = self.client.get(route)?;
        let mut members: BTreeMap<String, Box<RawValue>> = answer.json()?;
        let strange = |why: String| Error::Strange { url: self.client.url().to_owned(), why };
        let list = members.remove(self.plural).ok_or_else(|| strange(format!("the list has no `{}`", self.plural)))?;
        let list: Vec<Box<RawValue>> =
            serde_json::from_str(list.get()).map_err(|error| strange(format!("`{}`: {error}", self.plural)))?;
        self.left = self.left.saturating_sub(list.len() as u64);
        self.ready.extend(list);
        // A cursor is a text, or an offset as it stands.
        let next = members.remove("next").map(|next| next.get().trim_matches('"').to_owned());
        self.cursor = next.filter(|next| next != "null");
        self.ended = self.cursor.is_none() || self.left == 0;
        Ok(())
    }
}

impl Iterator for Pages<'_> {
    type Item = Result<Box<RawValue>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        // A filter may leave a page empty although the list goes on.
        while self.ready.is_empty() && !self.ended {
            if let Err(error) = self.turn() {
                self.ended = true;
                return Some(Err(error));
            }
        }
        self.ready.pop_front().map(Ok)
    }
}
