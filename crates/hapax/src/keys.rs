//! `hapax keys`: who may do what.
//!
//! Where the keys are kept is the one thing that differs between asking a server and opening a store that no server has
//! open; [`Keeper`] is that difference.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use hapax_client::{Call, Retry, Route};
use serde_json::{Value, json};

use crate::field::{self, text};
use crate::key_store::KeyStore;
use crate::outcome::Outcome;
use crate::remote::{Remote, Server, told};
use crate::say;
use crate::table::Table;

/// Make, list and revoke keys.
#[derive(Subcommand)]
pub(crate) enum Keys {
    /// Make a key. It is shown once and kept nowhere.
    ///
    /// Example: hapax keys create --role ingest --stream 'orders*' --lane 'shop-7' --name "shop 7"
    Create {
        /// What it may do.
        #[arg(long, value_enum)]
        role: Role,
        /// In streams whose names fit; `*` stands for anything. Repeat it for several. All streams if not given.
        #[arg(long, value_name = "GLOB")]
        stream: Vec<String>,
        /// In lanes whose names fit. All lanes if not given.
        #[arg(long, value_name = "GLOB")]
        lane: Vec<String>,
        /// Whose streams; the default tenant's if not given.
        #[arg(long, value_name = "TENANT")]
        tenant: Option<String>,
        /// Requests that it may send in a second, whatever the server's settings say; 0 for no limit.
        #[arg(long, value_name = "N")]
        rate_requests: Option<u32>,
        /// Events that it may send in a second; a batch costs as many as it has.
        #[arg(long, value_name = "N")]
        rate_events: Option<u32>,
        /// A note for people: whose key it is.
        #[arg(long, value_name = "TEXT")]
        name: Option<String>,
        #[command(flatten)]
        kept: Kept,
    },
    /// List the keys, without the keys themselves.
    List {
        #[command(flatten)]
        kept: Kept,
    },
    /// Revoke a key, at once and for ever.
    Revoke {
        /// The key's id, as `hapax keys list` shows it.
        id: String,
        #[command(flatten)]
        kept: Kept,
    },
}

/// What a key may do.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Role {
    /// Send events.
    Ingest,
    /// Look.
    Read,
    /// Look and act on events: claims, dead letters.
    Consume,
    /// Everything.
    Admin,
}

/// Where the keys are kept.
#[derive(Args)]
pub(crate) struct Kept {
    /// A store instead of a server: for the first key, and for those of other tenants. A directory that no server has
    /// open, or the address of a database, also beside its servers.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Use a database that may lose what it has confirmed.
    #[arg(long, env = "HAPAX_DATABASE_UNSAFE")]
    database_unsafe: bool,
    #[command(flatten)]
    remote: Remote,
}

/// Whoever keeps the keys.
enum Keeper {
    Server(Server),
    Store(KeyStore),
}

impl Kept {
    fn keeper(&self) -> anyhow::Result<Keeper> {
        Ok(match &self.store {
            Some(place) => Keeper::Store(KeyStore::open(place, self.database_unsafe)?),
            None => Keeper::Server(self.remote.server()?),
        })
    }
}

impl Keys {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        match self {
            Self::Create { role, stream, lane, tenant, rate_requests, rate_events, name, kept } => {
                let mut wish = wish(role, stream, lane, tenant, name);
                for (name, rate) in [("rate_requests", rate_requests), ("rate_events", rate_events)] {
                    if let Some(rate) = rate {
                        wish[name] = json!(rate);
                    }
                }
                match kept.keeper()? {
                    Keeper::Server(server) => create(&server, &wish)?,
                    Keeper::Store(store) => store.create(&wish)?,
                }
            }
            Self::List { kept } => match kept.keeper()? {
                Keeper::Server(server) => list(&server)?,
                Keeper::Store(store) => store.list()?,
            },
            Self::Revoke { id, kept } => match kept.keeper()? {
                Keeper::Server(server) => {
                    server.call(&Call::delete(Route::to(&["v1", "keys", &id])))?;
                    say::line(format_args!("{id} is revoked"));
                }
                Keeper::Store(store) => {
                    store.revoke(&id)?;
                    say::line(format_args!("{id} is revoked"));
                }
            },
        }
        Ok(Outcome::Fine)
    }
}

/// A key as it is asked for.
fn wish(role: Role, streams: Vec<String>, lanes: Vec<String>, tenant: Option<String>, note: Option<String>) -> Value {
    let role = match role {
        Role::Ingest => "ingest",
        Role::Read => "read",
        Role::Consume => "consume",
        Role::Admin => "admin",
    };
    let mut wish = json!({ "role": role });
    for (name, globs) in [("streams", streams), ("lanes", lanes)] {
        if !globs.is_empty() {
            wish[name] = json!(globs);
        }
    }
    for (name, value) in [("tenant", tenant), ("note", note)] {
        if let Some(value) = value {
            wish[name] = json!(value);
        }
    }
    wish
}

fn create(server: &Server, wish: &Value) -> anyhow::Result<()> {
    // The answer is kept nowhere, so a second try would make a second key.
    let client = server.client.clone().with_retry(Retry::NEVER);
    let answer = client.call(&Call::post(Route::to(&["v1", "keys"])).json(wish)).map_err(told)?;
    server.show(&answer, |key| {
        say::line(text(key, "/key"));
        eprintln!("This is key {}. It is shown once: keep it, and use it as HAPAX_KEY.", text(key, "/id"));
    })
}

fn list(server: &Server) -> anyhow::Result<()> {
    // This list comes whole: nobody has so many keys.
    let answer = server.get(Route::to(&["v1", "keys"]))?;
    server.show(&answer, |answer| print(field::list(answer, "/keys")))
}

/// Keys as a table.
pub(crate) fn print(keys: &[Value]) {
    let mut table = Table::new([
        "ID",
        "ROLE",
        "STREAMS",
        "LANES",
        "REQUESTS/S",
        "EVENTS/S",
        "TENANT",
        "NAME",
        "CREATED",
        "REVOKED",
    ]);
    let pointers = [
        "/id",
        "/role",
        "/streams",
        "/lanes",
        "/rate_requests",
        "/rate_events",
        "/tenant",
        "/note",
        "/created_at",
        "/revoked_at",
    ];
    for key in keys {
        table.row(pointers.map(|pointer| text(key, pointer)));
    }
    table.print("There are no keys: whoever reaches the server may do everything.");
}
