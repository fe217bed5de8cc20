//! What came back: a whole answer, or one that is still coming.

use std::io::Read;

use serde::de::DeserializeOwned;

use crate::Error;

/// A whole answer that is not a problem.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// Whether it was given before, to the same request.
    pub replayed: bool,
    /// The bytes, as they came.
    pub body: Vec<u8>,
    pub(crate) url: String,
}

impl Answer {
    /// Reads it as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| Error::Strange {
            url: self.url.clone(),
            why: format!("its answer is not as it should be: {error}"),
        })
    }

    /// As text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// An answer that is still coming, for what may be long: exports, and what is followed.
pub struct Incoming {
    pub(crate) reader: Box<dyn Read + Send>,
}

impl Read for Incoming {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.reader.read(buffer)
    }
}
