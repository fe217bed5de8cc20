//! What can go wrong with a call, sorted by what the caller does about it.

use std::fmt;

use serde::Deserialize;

/// Why there is no answer to a call.
#[derive(Debug, Clone)]
pub enum Error {
    /// The server was not reached, or broke off, as often as it was tried. Whether anything was written is unknown;
    /// sending it again is safe.
    Unreachable {
        /// Where it should be.
        url: String,
        /// What happened, in a few words.
        why: String,
    },
    /// The server answered that it will not.
    Problem(Box<Problem>),
    /// Something answered, but not as a Hapax server does.
    Strange {
        /// Who.
        url: String,
        /// What.
        why: String,
    },
    /// The call itself is wrong, so it was not sent.
    Wrong(String),
}

/// RFC 9457, as Hapax writes it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Problem {
    /// The HTTP status.
    #[serde(default)]
    pub status: u16,
    /// One of a closed list, for programs.
    #[serde(default)]
    pub code: String,
    /// A sentence for people.
    #[serde(default)]
    pub detail: String,
    /// What may have been written.
    #[serde(default)]
    pub effect: Effect,
    /// What is wrong key by key, where a contract or a handler was put.
    #[serde(default)]
    pub problems: Vec<KeyProblem>,
}

/// What a refused request may have written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing.
    None,
    /// Perhaps all of it: send it again. Also where the server did not say.
    #[default]
    #[serde(other)]
    Unknown,
}

/// One key that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct KeyProblem {
    /// Which.
    #[serde(default)]
    pub key: String,
    /// Why.
    #[serde(default)]
    pub why: String,
}

impl Error {
    /// The code of a problem.
    pub fn code(&self) -> Option<&str> {
        match self {
            Error::Problem(problem) => Some(&problem.code),
            Error::Unreachable { .. } | Error::Strange { .. } | Error::Wrong(_) => None,
        }
    }

    /// The status of a problem.
    pub fn status(&self) -> Option<u16> {
        match self {
            Error::Problem(problem) => Some(problem.status),
            Error::Unreachable { .. } | Error::Strange { .. } | Error::Wrong(_) => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unreachable { url, why } => write!(f, "cannot reach {url}: {why}"),
            Error::Problem(problem) => problem.fmt(f),
            Error::Strange { url, why } => write!(f, "{url} does not answer like a Hapax server: {why}"),
            Error::Wrong(why) => f.write_str(why),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code.as_str(), self.detail.as_str()) {
            ("", "") => write!(f, "refused with status {}", self.status)?,
            ("", detail) => f.write_str(detail)?,
            (code, "") => f.write_str(code)?,
            (code, detail) => write!(f, "{detail} ({code})")?,
        }
        match self.problems.as_slice() {
            // One problem is what the sentence already says.
            [] | [_] => Ok(()),
            many => many.iter().try_for_each(|problem| write!(f, "\n  {}: {}", problem.key, problem.why)),
        }
    }
}

impl std::error::Error for Error {}
