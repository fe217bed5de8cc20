//! Where a ledger in Postgres is: `postgres://user:password@host:port/database?schema=…&sslmode=…`.
//!
//! What libpq calls `require` only encrypts; here it also proves who answers, because an encrypted way to the wrong place is no
//! better than none. Not here: connecting.

use std::path::PathBuf;

use percent_encoding::percent_decode_str;
use tokio_postgres::config::{Host, SslMode};

/// A parsed address, with what is ours taken out of it.
#[derive(Clone, Debug)]
pub struct Address {
    pub(super) config: tokio_postgres::Config,
    pub(super) tls: Tls,
    /// The schema that holds the tables.
    pub(super) schema: String,
}

/// How the way there is protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Tls {
    /// Not at all.
    Off,
    /// Encrypted if the other side can, whoever that is.
    Prefer,
    /// Encrypted, and the other side has a certificate of this authority, or of one that the system trusts.
    Verify(Option<PathBuf>),
}

/// Names in the catalogue are cut off after this, silently.
const SCHEMA_BYTES_MAX: usize = 63;

impl Address {
    /// Is this meant to be one?
    pub fn is_one(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Reads one.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !Self::is_one(text) {
            return Err("an address begins with postgres://".to_owned());
        }
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let (mut schema, mut mode, mut root) = ("hapax".to_owned(), "prefer".to_owned(), None);
        let mut theirs = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = || percent_decode_str(value).decode_utf8().map_err(|_| format!("{name} is not UTF-8"));
            match name {
                "schema" => schema = value()?.into_owned(),
                "sslmode" => mode = value()?.into_owned(),
                "sslrootcert" => root = Some(PathBuf::from(&*value()?)),
                _ => theirs.push(pair),
            }
        }
        if schema.is_empty() || schema.len() > SCHEMA_BYTES_MAX || schema.contains(['\0', '"']) {
            return Err(format!("a schema has 1 to {SCHEMA_BYTES_MAX} bytes and no quotation marks"));
        }
        let tls = match (mode.as_str(), root) {
            ("disable", None) => Tls::Off,
            ("prefer", None) => Tls::Prefer,
            ("prefer" | "require" | "verify-full", root) => Tls::Verify(root),
            ("disable", Some(_)) => return Err("sslrootcert makes no sense with sslmode=disable".to_owned()),
            (other, _) => return Err(format!("sslmode is disable, prefer, require or verify-full, not {other}")),
        };
        let rest = if theirs.is_empty() { base.to_owned() } else { format!("{base}?{}", theirs.join("&")) };
        // What the parser says may quote the text, and the text holds a password.
        let parsed = rest.parse::<tokio_postgres::Config>();
        let mut config = parsed.map_err(|_| "it is not postgres://user:password@host:port/database".to_owned())?;
        if config.get_hosts().is_empty() {
            return Err("it names no host".to_owned());
        }
        config.ssl_mode(match tls {
            Tls::Off => SslMode::Disable,
            Tls::Prefer => SslMode::Prefer,
            Tls::Verify(_) => SslMode::Require,
        });
        Ok(Self { config, tls, schema })
    }

    /// The same database with another schema: a ledger of its own.
    #[must_use]
    pub fn with_schema(&self, schema: &str) -> Self {
        Self { schema: schema.to_owned(), ..self.clone() }
    }

    /// For people: without the password.
    pub fn shown(&self) -> String {
        let ports = self.config.get_ports();
        let hosts = self.config.get_hosts().iter().enumerate().map(|(place, host)| {
            let port = ports.get(place).or(ports.first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(name) => format!("{name}:{port}"),
                Host::Unix(path) => format!("{}:{port}", path.display()),
            }
        });
        let hosts: Vec<String> = hosts.collect();
        let user = self.config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
        let database = self.config.get_dbname().or(self.config.get_user()).unwrap_or_default();
        let schema = if self.schema == "hapax" { String::new() } else { format!("?schema={}", self.schema) };
        format!("postgres://{user}{}/{database}{schema}", hosts.join(","))
    }

    /// The schema as an identifier in a statement.
    pub(super) fn quoted_schema(&self) -> String {
        format!("\"{}\"", self.schema)
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, Tls};

    #[test]
    fn what_is_ours_is_taken_out_and_the_rest_is_the_databases() {
        let url = "postgres://me:secret@db.example:6432/ledger?schema=a%20b&sslmode=verify-full&sslrootcert=/ca.pem&\
                   application_name=x";
        let address = Address::parse(url).expect("an address");
        assert_eq!(address.schema, "a b");
        assert_eq!(address.tls, Tls::Verify(Some("/ca.pem".into())));
        assert_eq!(address.config.get_application_name(), Some("x"));
        assert_eq!(address.shown(), "postgres://me@db.example:6432/ledger?schema=a b");
        assert!(!format!("{address:?}").contains("secret"));
    }

    #[test]
    fn mistakes_are_named_and_the_password_is_not() {
        let wrong = |url: &str| Address::parse(url).expect_err("a mistake");
        assert_eq!(wrong("mysql://h/d"), "an address begins with postgres://");
        assert_eq!(
            wrong("postgres://h/d?sslmode=allow"),
            "sslmode is disable, prefer, require or verify-full, not allow"
        );
        assert_eq!(wrong("postgres://h/d?schema="), "a schema has 1 to 63 bytes and no quotation marks");
        assert_eq!(wrong("postgres://u:secret@h:x/d"), "it is not postgres://user:password@host:port/database");
        assert_eq!(wrong("postgres:///d"), "it names no host");
        let port = wrong("postgres://u:secret@h/d?sslmode=disable&sslrootcert=x");
        assert_eq!(port, "sslrootcert makes no sense with sslmode=disable");
    }
}
