//! Where a ledger in Postgres is.

/// A parsed `postgres://…`, with what is ours taken out of it.
#[derive(Clone, Debug)]
pub struct Address {
    pub(super) config: tokio_postgres::Config,
    /// The schema that holds the tables.
    pub(super) schema: String,
}

impl Address {
    /// Is this meant to be one?
    pub fn is_one(text: &str) -> bool {
        text.starts_with("postgres://") || text.starts_with("postgresql://")
    }

    /// Reads one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let config = text.parse().map_err(|error: tokio_postgres::Error| error.to_string())?;
        Ok(Self { config, schema: "hapax".to_owned() })
    }

    /// The same database with another schema: a ledger of its own.
    #[must_use]
    pub fn with_schema(&self, schema: &str) -> Self {
        Self { schema: schema.to_owned(), ..self.clone() }
    }

    /// Without the password.
    pub fn shown(&self) -> String {
        String::new()
    }
}
