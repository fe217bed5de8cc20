//! Where the value of a setting comes from: the flag or the environment, then the file, then the default.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use anyhow::anyhow;

use crate::place::Place;

/// A setting, its value, and where that comes from.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) from: &'static str,
    pub(super) is_text: bool,
}

/// Finds the values, one by one.
pub(super) struct Finding {
    /// What the file says and nobody has asked for yet.
    pub(super) file: BTreeMap<String, String>,
    /// What was found.
    pub(super) rows: Vec<Row>,
}

impl Finding {
    fn note(&mut self, name: &'static str, value: String, from: &'static str, is_text: bool) -> String {
        self.rows.push(Row { name, value: value.clone(), from, is_text });
        value
    }

    fn find(&mut self, name: &'static str, given: Option<String>, default: String, is_text: bool) -> String {
        let written = self.file.remove(name);
        match (given, written) {
            (Some(given), _) => self.note(name, given, "flag or environment", is_text),
            (None, Some(written)) => self.note(name, written, "file", is_text),
            (None, None) => self.note(name, default, "default", is_text),
        }
    }

    pub(super) fn text(&mut self, name: &'static str, given: Option<String>, default: &str) -> String {
        self.find(name, given, default.to_owned(), true)
    }

    /// A place, which is shown without its secrets.
    pub(super) fn place(&mut self, name: &'static str, given: Option<String>, default: &str) -> anyhow::Result<Place> {
        let written = self.find(name, given, default.to_owned(), true);
        let place = Place::of(Path::new(&written))?;
        if let Some(row) = self.rows.last_mut() {
            row.value = place.to_string();
        }
        Ok(place)
    }

    pub(super) fn flag(&mut self, name: &'static str, given: bool) -> anyhow::Result<bool> {
        let value = self.find(name, given.then(|| "true".to_owned()), "false".to_owned(), false);
        value.parse().map_err(|_| anyhow!("{name} is true or false, not {value:?}"))
    }

    pub(super) fn number(
        &mut self,
        name: &'static str,
        given: Option<String>,
        default: usize,
    ) -> anyhow::Result<usize> {
        let value = self.find(name, given, default.to_string(), false);
        let number = value.parse().ok().filter(|number| *number > 0);
        number.ok_or_else(|| anyhow!("{name} is a whole number above 0, not {value:?}"))
    }

    pub(super) fn rate(
        &mut self,
        name: &'static str,
        given: Option<String>,
        default: Option<u32>,
    ) -> anyhow::Result<Option<u32>> {
        let value = self.find(name, given, default.unwrap_or(0).to_string(), false);
        value
            .parse()
            .map(Some)
            .map_err(|_| anyhow!("{name} is a whole number below 2^32, 0 for no limit, not {value:?}"))
    }

    pub(super) fn bytes(&mut self, name: &'static str, given: Option<String>, default: u64) -> anyhow::Result<u64> {
        Ok(self.number(name, given, usize::try_from(default).unwrap_or(usize::MAX))? as u64)
    }

    pub(super) fn seconds(
        &mut self,
        name: &'static str,
        given: Option<String>,
        default: Duration,
    ) -> anyhow::Result<Duration> {
        let seconds = self.number(name, given, usize::try_from(default.as_secs()).unwrap_or(usize::MAX))?;
        Ok(Duration::from_secs(seconds as u64))
    }
}
