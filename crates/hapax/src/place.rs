//! Where a ledger is: in memory, in a directory, or in Postgres.
//!
//! What holds: the password in an address is never shown. So an address is parsed here and not by the reader of the
//! command line, which repeats what it cannot read.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use hapax_store::postgres::{Address, Options, Postgres};

/// Where a ledger is.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// Gone with the process.
    Memory,
    /// Here.
    Directory(PathBuf),
    /// There.
    Database(Box<Address>),
}

impl Place {
    /// Reads a place as it is written.
    pub(crate) fn of(written: &Path) -> anyhow::Result<Self> {
        match written.to_str() {
            Some("memory:") => Ok(Self::Memory),
            Some(address) if Address::is_one(address) => {
                let address = Address::parse(address).map_err(|why| anyhow!("{why}"));
                Ok(Self::Database(Box::new(address.context("the address of the database cannot be read")?)))
            }
            _ => Ok(Self::Directory(written.to_owned())),
        }
    }

    /// The directory. Whatever else it is, is told why it cannot be that.
    pub(crate) fn directory(self, not_in_a_database: &str) -> anyhow::Result<PathBuf> {
        match self {
            Self::Memory => bail!("what is kept in memory: is gone with its process"),
            Self::Directory(directory) => Ok(directory),
            Self::Database(address) => bail!("{}: {not_in_a_database}", address.shown()),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory:"),
            Self::Directory(directory) => write!(f, "{}", directory.display()),
            Self::Database(address) => f.write_str(&address.shown()),
        }
    }
}

/// Opens the ledger at an address, to do one thing with it.
pub(crate) fn open(address: &Address, accept_unsafe: bool) -> anyhow::Result<Postgres> {
    open_with(address, Options { accept_unsafe, ..Options::default() })
}

/// Opens the ledger at an address to look at it: whatever it is like, and only if it is there.
pub(crate) fn look(address: &Address) -> anyhow::Result<Postgres> {
    open_with(address, Options { accept_unsafe: true, makes_tables: false, ..Options::default() })
}

fn open_with(address: &Address, options: Options) -> anyhow::Result<Postgres> {
    // One thing at a time needs no more.
    let options = Options { connections_max: 2, ..options };
    Postgres::open(address, options).map_err(|error| anyhow!("{}: {error}", address.shown()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_what_it_looks_like_and_a_password_is_not_shown() {
        let shown = |written: &str| Place::of(Path::new(written)).map(|place| place.to_string());
        assert!(matches!(Place::of(Path::new("memory:")), Ok(Place::Memory)));
        assert!(matches!(Place::of(Path::new("./postgres")), Ok(Place::Directory(_))));
        assert!(matches!(Place::of(Path::new("postgresql://h/d")), Ok(Place::Database(_))));
        assert!(!shown("postgres://me:secret@h/d").expect("an address").contains("secret"));
        let wrong = shown("postgres://me:secret@h:port/d").expect_err("no port");
        assert!(!format!("{wrong:#} {wrong:?}").contains("secret"), "{wrong:#}");
    }
}
