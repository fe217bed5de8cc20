//! How events are sent: over so many connections, so many in a request.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// `4x1000`: four connections, a thousand events in each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Column {
    pub(super) clients: usize,
    pub(super) batch: usize,
}

impl FromStr for Column {
    type Err = String;

    fn from_str(text: &str) -> Result<Column, String> {
        let wrong = || format!("{text} is not like 4x1000: up to 90 connections, up to 10000 events in a request");
        let (clients, batch) = text.split_once('x').ok_or_else(wrong)?;
        let (clients, batch) = (clients.parse().map_err(|_| wrong())?, batch.parse().map_err(|_| wrong())?);
        // A fresh Postgres takes a hundred connections; a request to Hapax, ten thousand events.
        if !(1..=90).contains(&clients) || !(1..=10_000).contains(&batch) {
            return Err(wrong());
        }
        Ok(Column { clients, batch })
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.clients, self.batch)
    }
}

#[cfg(test)]
mod tests {
    use super::Column;

    #[test]
    fn a_column_is_written_as_it_is_read() {
        for text in ["1x1000", "64x1"] {
            assert_eq!(text.parse::<Column>().expect("a column").to_string(), text);
        }
        for text in ["", "4", "0x10", "4x0", "x", "91x1", "1x10001"] {
            assert!(text.parse::<Column>().is_err(), "{text}");
        }
    }
}
