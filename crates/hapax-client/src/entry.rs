//! An accepted event as it stands in the ledger.

use serde::Deserialize;
use serde_json::value::RawValue;

/// An entry. Its document is kept as it was written: a number with twenty digits stays that number.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Its place in the stream.
    pub offset: u64,
    /// Its id.
    pub id: String,
    /// Its lane.
    pub lane: String,
    /// What it is, where it is no event: an adjustment or a closing, made by hand.
    pub kind: Option<String>,
    /// Its number in the lane.
    pub seq: Option<u64>,
    /// Which numbering of the lane that is.
    pub epoch: Option<u64>,
    /// When the source saw it.
    pub observed_at: Option<String>,
    /// When the server received it.
    pub ingested_at: String,
    /// Remarks that travel with it.
    pub marks: Vec<String>,
    /// The document.
    pub document: Box<RawValue>,
    /// The whole entry, as it came.
    pub raw: Box<RawValue>,
}

#[derive(Deserialize)]
struct Fields {
    offset: u64,
    #[serde(default)]
    id: String,
    #[serde(default)]
    lane: String,
    kind: Option<String>,
    seq: Option<u64>,
    epoch: Option<u64>,
    observed_at: Option<String>,
    #[serde(default)]
    ingested_at: String,
    #[serde(default)]
    marks: Vec<String>,
    document: Option<Box<RawValue>>,
}

impl Entry {
    /// Reads one as it stands on the wire.
    pub fn read(raw: Box<RawValue>) -> Result<Entry, serde_json::Error> {
        let fields: Fields = serde_json::from_str(raw.get())?;
        let Fields { offset, id, lane, kind, seq, epoch, observed_at, ingested_at, marks, document } = fields;
        let document = document.unwrap_or_default();
        Ok(Entry { offset, id, lane, kind, seq, epoch, observed_at, ingested_at, marks, document, raw })
    }

    /// Whether somebody sent it, and not a person made it by hand.
    pub fn is_event(&self) -> bool {
        self.kind.as_deref().is_none_or(|kind| kind == "event")
    }
}
