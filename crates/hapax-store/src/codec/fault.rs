//! What is wrong with bytes that should be a section, and where.

use std::fmt;

/// Which of the two sections of a commit, or neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What lasts.
    Lasting,
    /// What expires.
    Expiring,
    /// A record that stands alone.
    Alone,
}

/// Bytes that are no section of a commit, and no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecodable {
    /// Of which section.
    pub part: Part,
    /// The byte of the section at which it shows.
    pub at: usize,
    /// What is wrong.
    pub fault: Fault,
}

/// What is wrong with some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The section has a version that this program does not know.
    Version(u8),
    /// A tag or a set of presence bits that this version of the format does not have.
    Tag {
        /// Of what.
        of: &'static str,
        /// The tag.
        tag: u64,
    },
    /// The bytes end before the value does.
    Ended,
    /// An integer that is not written in the shortest way, or does not fit.
    Number,
    /// A text that is not UTF-8.
    NotText,
    /// A value that this thing cannot have.
    Value(&'static str),
    /// A reference to something that is not there.
    Reference(&'static str),
    /// So many bytes are left over.
    Left(usize),
    /// A contract that does not read, with the first reason.
    Contract(String),
}

impl fmt::Display for Undecodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = match self.part {
            Part::Lasting => "lasting section",
            Part::Expiring => "expiring section",
            Part::Alone => "record",
        };
        write!(f, "byte {} of the {part}: {}", self.at, self.fault)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "format {version} is not known to this program"),
            Self::Tag { of, tag } => write!(f, "{tag} is no {of} of this format"),
            Self::Ended => f.write_str("the bytes end before the value does"),
            Self::Number => f.write_str("an integer is too long"),
            Self::NotText => f.write_str("a text is not UTF-8"),
            Self::Value(of) => write!(f, "no {of} has this value"),
            Self::Reference(to) => write!(f, "a reference to no {to}"),
            Self::Left(count) => write!(f, "{count} bytes are left over"),
            Self::Contract(why) => write!(f, "a contract does not read: {why}"),
        }
    }
}

impl std::error::Error for Undecodable {}
