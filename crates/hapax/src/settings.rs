//! The server's settings: flags, then `HAPAX_*`, then a TOML file, then the defaults. One row per setting.
//!
//! `hapax config` prints them all, each with where its value comes from; the output is itself such a file; only
//! the address of a database is shown without its password.

mod finding;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use hapax_core::access::Rates;
use hapax_core::source::{Node, Value};
use hapax_server::config::{Config, Limits};
use hapax_server::tls::TlsFiles;
use hapax_store::embedded::Options;
use hapax_store::postgres;

use crate::outcome::Outcome;
use crate::place::Place;
use crate::say;
use finding::{Finding, Row};

/// Settings as they may be given; each may also stand in the environment or in the file.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct Settings {
    /// A TOML file with settings, named as the flags are, with `_` for `-`.
    #[arg(long, value_name = "FILE", env = "HAPAX_CONFIG")]
    config: Option<PathBuf>,
    /// Where to listen.
    #[arg(long, value_name = "ADDR:PORT", env = "HAPAX_LISTEN")]
    listen: Option<String>,
    /// Where the ledger is kept: a directory, a database (postgres://user:password@host/database), or `memory:` to lose
    /// all with the process.
    #[arg(long, value_name = "DIR", env = "HAPAX_STORE", hide_env_values = true)]
    store: Option<String>,
    /// Bytes of one file of the log. A small disk wants small ones: a segment is made whole, ahead of need.
    #[arg(long, value_name = "BYTES", env = "HAPAX_SEGMENT_BYTES")]
    segment_bytes: Option<String>,
    /// Bytes that are set aside, and given back when the disk is nearly full.
    #[arg(long, value_name = "BYTES", env = "HAPAX_RESERVE_BYTES")]
    reserve_bytes: Option<String>,
    /// Free bytes below which nothing more is taken.
    #[arg(long, value_name = "BYTES", env = "HAPAX_LOW_WATER_BYTES")]
    low_water_bytes: Option<String>,
    /// Ids that are kept in memory before they are written to the index, at least 1000; each takes about 50 bytes.
    #[arg(long, value_name = "IDS", env = "HAPAX_INDEX_IDS")]
    index_ids: Option<String>,
    /// Bytes of the log that are kept in memory for those who read.
    #[arg(long, value_name = "BYTES", env = "HAPAX_READ_CACHE_BYTES")]
    read_cache_bytes: Option<String>,
    /// Turns that are taken at the same time, on a database.
    #[arg(long, value_name = "WRITERS", env = "HAPAX_DATABASE_WRITERS")]
    database_writers: Option<String>,
    /// The most connections to a database for reading; each writer has one more.
    #[arg(long, value_name = "CONNECTIONS", env = "HAPAX_DATABASE_CONNECTIONS")]
    database_connections: Option<String>,
    /// Seconds that one statement may take in a database.
    #[arg(long, value_name = "SECONDS", env = "HAPAX_DATABASE_TIMEOUT")]
    database_timeout: Option<String>,
    /// Use a database that may lose what it has confirmed.
    #[arg(long, env = "HAPAX_DATABASE_UNSAFE")]
    database_unsafe: bool,
    /// Listen beyond this machine although no keys are needed.
    #[arg(long, env = "HAPAX_INSECURE")]
    insecure: bool,
    /// The names that the server goes by, with commas between them; without keys it answers at no other but localhost.
    #[arg(long, value_name = "NAMES", env = "HAPAX_HOSTS")]
    hosts: Option<String>,
    /// Speak TLS: a PEM file with the certificate, and those that lead to its authority. Read again when it changes.
    #[arg(long, value_name = "FILE", env = "HAPAX_TLS_CERT")]
    tls_cert: Option<String>,
    /// Speak TLS: a PEM file with the certificate's key.
    #[arg(long, value_name = "FILE", env = "HAPAX_TLS_KEY")]
    tls_key: Option<String>,
    /// What is logged: `error`, `warn`, `info`, `debug`, or a filter such as `info,hapax::accepted=info`.
    #[arg(long, value_name = "FILTER", env = "HAPAX_LOG")]
    log: Option<String>,
    /// How it is logged: `text` or `json`.
    #[arg(long, value_name = "FORMAT", env = "HAPAX_LOG_FORMAT")]
    log_format: Option<String>,
    /// Leave it to the system which processor a thread runs on.
    #[arg(long, env = "HAPAX_UNBOUND_THREADS")]
    unbound_threads: bool,
    /// The largest body after unpacking, in bytes.
    #[arg(long, value_name = "BYTES", env = "HAPAX_BODY_BYTES_MAX")]
    body_bytes_max: Option<String>,
    /// The most events of one request.
    #[arg(long, value_name = "EVENTS", env = "HAPAX_BATCH_EVENTS_MAX")]
    batch_events_max: Option<String>,
    /// The largest event, in bytes.
    #[arg(long, value_name = "BYTES", env = "HAPAX_EVENT_BYTES_MAX")]
    event_bytes_max: Option<String>,
    /// The longest request line and headers, in bytes.
    #[arg(long, value_name = "BYTES", env = "HAPAX_HEADER_BYTES_MAX")]
    header_bytes_max: Option<String>,
    /// Memory for bodies that are being read or wait, in bytes; beyond it requests are answered BUSY.
    #[arg(long, value_name = "BYTES", env = "HAPAX_WAITING_BYTES_MAX")]
    waiting_bytes_max: Option<String>,
    /// The most requests that wait for the writer.
    #[arg(long, value_name = "REQUESTS", env = "HAPAX_WAITING_REQUESTS_MAX")]
    waiting_requests_max: Option<String>,
    /// The most events that are committed together.
    #[arg(long, value_name = "EVENTS", env = "HAPAX_TURN_EVENTS_MAX")]
    turn_events_max: Option<String>,
    /// The most connections.
    #[arg(long, value_name = "CONNECTIONS", env = "HAPAX_CONNECTIONS_MAX")]
    connections_max: Option<String>,
    /// The most connections of one address.
    #[arg(long, value_name = "CONNECTIONS", env = "HAPAX_CONNECTIONS_PER_ADDRESS_MAX")]
    connections_per_address_max: Option<String>,
    /// The most connections that follow a stream.
    #[arg(long, value_name = "CONNECTIONS", env = "HAPAX_FOLLOWERS_MAX")]
    followers_max: Option<String>,
    /// Requests that one caller may send in a second, unless its key says otherwise; 0 for no limit.
    #[arg(long, value_name = "REQUESTS", env = "HAPAX_RATE_REQUESTS")]
    rate_requests: Option<String>,
    /// Events that one caller may send in a second, unless its key says otherwise; 0 for no limit.
    #[arg(long, value_name = "EVENTS", env = "HAPAX_RATE_EVENTS")]
    rate_events: Option<String>,
    /// Seconds for the handshake of TLS.
    #[arg(long, value_name = "SECONDS", env = "HAPAX_HANDSHAKE_TIMEOUT")]
    handshake_timeout: Option<String>,
    /// Seconds for a request's line and headers.
    #[arg(long, value_name = "SECONDS", env = "HAPAX_HEADER_TIMEOUT")]
    header_timeout: Option<String>,
    /// Seconds for a request's body.
    #[arg(long, value_name = "SECONDS", env = "HAPAX_BODY_TIMEOUT")]
    body_timeout: Option<String>,
    /// Bytes that a body must bring, and a reader of an answer take, in a second.
    #[arg(long, value_name = "BYTES", env = "HAPAX_BODY_RATE_MIN")]
    body_rate_min: Option<String>,
    /// Seconds over which that is measured, for a body.
    #[arg(long, value_name = "SECONDS", env = "HAPAX_BODY_RATE_WINDOW")]
    body_rate_window: Option<String>,
    /// Seconds over which that is measured, for a reader of an answer.
    #[arg(long, value_name = "SECONDS", env = "HAPAX_WRITE_TIMEOUT")]
    write_timeout: Option<String>,
    /// Seconds that a connection may be idle between two requests.
    #[arg(long, value_name = "SECONDS", env = "HAPAX_IDLE_TIMEOUT")]
    idle_timeout: Option<String>,
    /// Seconds that running requests are given when the server stops.
    #[arg(long, value_name = "SECONDS", env = "HAPAX_STOP_TIMEOUT")]
    stop_timeout: Option<String>,
}

/// Settings with nothing left open.
pub(crate) struct Resolved {
    pub(crate) server: Config,
    pub(crate) store: Place,
    pub(crate) kept: Kept,
    pub(crate) log: String,
    pub(crate) json_log: bool,
    /// Has each thread a processor of its own?
    pub(crate) bound: bool,
    rows: Vec<Row>,
}

/// How a ledger is kept, wherever it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) directory: Options,
    pub(crate) database: Database,
}

/// With fewer ids in memory every commit would write a piece of the index.
const INDEX_IDS_MIN: usize = 1000;

/// Each has a connection of its own, and a database has not many.
const DATABASE_WRITERS_MAX: usize = 64;

/// How a ledger is kept in a database.
#[derive(Clone, Debug)]
pub(crate) struct Database {
    /// Turns at the same time.
    pub(crate) writers: usize,
    pub(crate) options: postgres::Options,
}

impl Default for Database {
    fn default() -> Self {
        // Two: while one commits, the other takes what has come meanwhile.
        Self { writers: 2, options: postgres::Options::default() }
    }
}

/// Accepted events are logged only on request: a line for each would cost more than the event.
const LOG: &str = "info,hapax::accepted=off,hapax::repeated=off";

impl Settings {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        for Row { name, value, from, is_text } in self.resolve()?.rows {
            let value = if is_text { format!("{value:?}") } else { value };
            say::line(format_args!("{:<48} # {from}", format!("{name} = {value}")));
        }
        Ok(Outcome::Fine)
    }

    pub(crate) fn resolve(self) -> anyhow::Result<Resolved> {
        let mut finding = Finding { file: self.read_file()?, rows: Vec::new() };
        let limits = Limits::default();
        let listen = finding.text("listen", self.listen, "127.0.0.1:4090");
        let store = finding.place("store", self.store, "./hapax-data")?;
        let mut options = Options::default();
        let kept = &mut options.log;
        kept.segment_bytes = finding.bytes("segment_bytes", self.segment_bytes, kept.segment_bytes)?;
        kept.reserve_bytes = finding.bytes("reserve_bytes", self.reserve_bytes, kept.reserve_bytes)?;
        kept.low_water_bytes = finding.bytes("low_water_bytes", self.low_water_bytes, kept.low_water_bytes)?;
        let ids = finding.number("index_ids", self.index_ids, options.index.ids_in_memory)?;
        options.index.ids_in_memory = ids.max(INDEX_IDS_MIN);
        let cache = finding.bytes("read_cache_bytes", self.read_cache_bytes, options.frames_bytes_max as u64)?;
        options.frames_bytes_max = usize::try_from(cache).unwrap_or(usize::MAX);
        let database = Database::default();
        let (writers, limits_of) = (database.writers, database.options);
        let database = Database {
            writers: finding.number("database_writers", self.database_writers, writers)?,
            options: postgres::Options {
                connections_max: finding.number(
                    "database_connections",
                    self.database_connections,
                    limits_of.connections_max,
                )?,
                statement_timeout: finding.seconds(
                    "database_timeout",
                    self.database_timeout,
                    limits_of.statement_timeout,
                )?,
                accept_unsafe: finding.flag("database_unsafe", self.database_unsafe)?,
                ..limits_of
            },
        };
        let insecure = finding.flag("insecure", self.insecure)?;
        let hosts = finding.text("hosts", self.hosts, "");
        let hosts = hosts.split(',').map(str::trim).filter(|host| !host.is_empty()).map(str::to_owned).collect();
        let tls = tls(&finding.text("tls_cert", self.tls_cert, ""), &finding.text("tls_key", self.tls_key, ""))?;
        let log = finding.text("log", self.log, LOG);
        let log_format = finding.text("log_format", self.log_format, "text");
        let unbound_threads = finding.flag("unbound_threads", self.unbound_threads)?;
        let limits = Limits {
            body_bytes_max: finding.number("body_bytes_max", self.body_bytes_max, limits.body_bytes_max)?,
            batch_events_max: finding.number("batch_events_max", self.batch_events_max, limits.batch_events_max)?,
            event_bytes_max: finding.number("event_bytes_max", self.event_bytes_max, limits.event_bytes_max)?,
            header_bytes_max: finding.number("header_bytes_max", self.header_bytes_max, limits.header_bytes_max)?,
            waiting_bytes_max: finding.number("waiting_bytes_max", self.waiting_bytes_max, limits.waiting_bytes_max)?,
            waiting_requests_max: finding.number(
                "waiting_requests_max",
                self.waiting_requests_max,
                limits.waiting_requests_max,
            )?,
            turn_events_max: finding.number("turn_events_max", self.turn_events_max, limits.turn_events_max)?,
            connections_max: finding.number("connections_max", self.connections_max, limits.connections_max)?,
            connections_per_address_max: finding.number(
                "connections_per_address_max",
                self.connections_per_address_max,
                limits.connections_per_address_max,
            )?,
            followers_max: finding.number("followers_max", self.followers_max, limits.followers_max)?,
            rates: Rates {
                requests: finding.rate("rate_requests", self.rate_requests, limits.rates.requests)?,
                events: finding.rate("rate_events", self.rate_events, limits.rates.events)?,
            },
            handshake_timeout: finding.seconds(
                "handshake_timeout",
                self.handshake_timeout,
                limits.handshake_timeout,
            )?,
            header_timeout: finding.seconds("header_timeout", self.header_timeout, limits.header_timeout)?,
            body_timeout: finding.seconds("body_timeout", self.body_timeout, limits.body_timeout)?,
            body_rate_min: finding.number("body_rate_min", self.body_rate_min, limits.body_rate_min)?,
            body_rate_window: finding.seconds("body_rate_window", self.body_rate_window, limits.body_rate_window)?,
            write_timeout: finding.seconds("write_timeout", self.write_timeout, limits.write_timeout)?,
            idle_timeout: finding.seconds("idle_timeout", self.idle_timeout, limits.idle_timeout)?,
            stop_timeout: finding.seconds("stop_timeout", self.stop_timeout, limits.stop_timeout)?,
        };
        if database.writers > DATABASE_WRITERS_MAX {
            bail!("database_writers is at most {DATABASE_WRITERS_MAX}, not {}", database.writers);
        }
        if let Some(unknown) = finding.file.keys().next() {
            bail!("the configuration file sets {unknown}, which is no setting; `hapax config` lists them");
        }
        let json_log = match log_format.as_str() {
            "json" => true,
            "text" => false,
            other => bail!("log_format is text or json, not {other:?}"),
        };
        let listen: SocketAddr = listen
            .parse()
            .map_err(|_| anyhow!("listen is an address and a port, such as 127.0.0.1:4090, not {listen:?}"))?;
        Ok(Resolved {
            server: Config { listen, insecure, hosts, tls, limits },
            store,
            kept: Kept { directory: options, database },
            log,
            json_log,
            bound: !unbound_threads,
            rows: finding.rows,
        })
    }

    fn read_file(&self) -> anyhow::Result<BTreeMap<String, String>> {
        let Some(path) = &self.config else { return Ok(BTreeMap::new()) };
        let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let root = Node::from_toml(&text).map_err(|problem| anyhow!("{}: {problem}", path.display()))?;
        let Value::Table(members) = root.value else { return Ok(BTreeMap::new()) };
        let plain = |(name, node): (String, Node)| match &node.value {
            Value::Text(text) => Ok((name, text.clone())),
            Value::Number(number) => Ok((name, number.to_string())),
            Value::Bool(flag) => Ok((name, flag.to_string())),
            Value::Null | Value::List(_) | Value::Table(_) => {
                Err(anyhow!("{name} in {} is {}", path.display(), node.kind()))
            }
        };
        members.into_iter().map(plain).collect()
    }
}

/// Both files or none.
fn tls(cert: &str, key: &str) -> anyhow::Result<Option<TlsFiles>> {
    match (cert, key) {
        ("", "") => Ok(None),
        ("", _) | (_, "") => bail!("TLS needs both: tls_cert and tls_key"),
        (cert, key) => Ok(Some(TlsFiles { cert: PathBuf::from(cert), key: PathBuf::from(key) })),
    }
}
