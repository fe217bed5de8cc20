//! Connections: how one is made, what it is told first, and which servers are refused.
//!
//! What holds: a connection that is handed out speaks to a server that keeps what it has confirmed (`fsync`,
//! `full_page_writes`, `synchronous_commit`), is no replica, and ends a transaction that its server has forgotten, so that a
//! process that hangs holds no lock for long.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Config, Error, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::Options;
use super::address::{Address, Tls};
use crate::seam::StoreError;

/// Whoever does not answer by then is away.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// A transaction whose server says nothing for so long is ended by the database, and its locks are free.
const IDLE_IN_TRANSACTION: Duration = Duration::from_secs(2);
/// Longer than the idle time, so that whoever waits for a server that hangs still gets its turn.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// What TLS is spoken with; none if it is off.
pub(super) fn tls(address: &Address) -> Result<Option<MakeRustlsConnect>, StoreError> {
    let unusable = |what: String| StoreError::Unreachable(what);
    // The provider is named, because a process may have several.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let versions = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = versions.map_err(|error| unusable(format!("TLS cannot be spoken: {error}")))?;
    let config = match &address.tls {
        Tls::Off => return Ok(None),
        Tls::Prefer => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody(provider))).with_no_client_auth()
        }
        Tls::Verify(file) => builder.with_root_certificates(roots(file.as_deref())?).with_no_client_auth(),
    };
    Ok(Some(MakeRustlsConnect::new(config)))
}

fn roots(file: Option<&std::path::Path>) -> Result<RootCertStore, StoreError> {
    let mut store = RootCertStore::empty();
    match file {
        Some(file) => {
            let cannot = |what: String| StoreError::Unreachable(format!("sslrootcert {}: {what}", file.display()));
            let found = CertificateDer::pem_file_iter(file).map_err(|error| cannot(error.to_string()))?;
            for certificate in found {
                let certificate = certificate.map_err(|error| cannot(error.to_string()))?;
                store.add(certificate).map_err(|error| cannot(error.to_string()))?;
            }
            if store.is_empty() {
                return Err(cannot("there is no certificate in it".to_owned()));
            }
        }
        None => _ = store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs),
    }
    Ok(store)
}

/// Takes any certificate: what `prefer` means. It keeps listeners out, not those who pretend to be the database.
#[derive(Debug)]
struct Anybody(Arc<rustls::crypto::CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// What every connection is made with.
pub(super) fn config(address: &Address) -> Config {
    let mut config = address.config.clone();
    config.connect_timeout(CONNECT_TIMEOUT);
    config.keepalives_idle(Duration::from_secs(10));
    config.tcp_user_timeout(Duration::from_secs(10));
    if config.get_application_name().is_none() {
        config.application_name("hapax");
    }
    config
}

/// A pool of at most so many connections, each of which was told and asked what it must be.
pub(super) fn pool(address: &Address, options: &Options, max: usize) -> Result<Pool, StoreError> {
    let kept = ManagerConfig { recycling_method: RecyclingMethod::Fast };
    let manager = match tls(address)? {
        Some(tls) => Manager::from_config(config(address), tls, kept),
        None => Manager::from_config(config(address), NoTls, kept),
    };
    let (address, options) = (address.clone(), options.clone());
    let (wait, statement) = (Some(CONNECT_TIMEOUT * 2), Some(CONNECT_TIMEOUT));
    let first = Hook::async_fn(move |client, _| {
        let (address, options) = (address.clone(), options.clone());
        Box::pin(async move {
            let begun = tokio::time::timeout(CONNECT_TIMEOUT, begin(client, &address, &options)).await;
            begun.unwrap_or_else(|_| Err("no answer in time".to_owned())).map_err(HookError::message)
        })
    });
    let built = Pool::builder(manager)
        .max_size(max)
        .runtime(Runtime::Tokio1)
        .wait_timeout(wait)
        .create_timeout(statement)
        .post_create(first)
        .build();
    built.map_err(|error| StoreError::Unreachable(error.to_string()))
}

/// What a connection is told first, and whether its server will do. Every statement of ours finds few rows by an index, so it is
/// planned once, and never as if the table had to be read.
pub(super) async fn begin(client: &Client, address: &Address, options: &Options) -> Result<(), String> {
    let millis = |time: Duration| time.as_millis();
    let settings = format!(
        "SET search_path TO {}; SET statement_timeout = {}; SET lock_timeout = {}; \
         SET idle_in_transaction_session_timeout = {}; SET jit = off; SET plan_cache_mode = force_generic_plan; \
         SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; \
         SET enable_bitmapscan = off; SET max_parallel_workers_per_gather = 0; \
         SET default_transaction_isolation = 'read committed'; SET client_min_messages = warning",
        address.quoted_schema(),
        millis(options.statement_timeout),
        millis(LOCK_TIMEOUT.min(options.statement_timeout)),
        millis(IDLE_IN_TRANSACTION),
    );
    client.batch_execute(&settings).await.map_err(|error| said(&error))?;
    let asked = "SELECT current_setting('fsync'), current_setting('full_page_writes'), \
                 current_setting('synchronous_commit'), current_setting('server_encoding'), \
                 pg_is_in_recovery()::text";
    let row = client.query_one(asked, &[]).await.map_err(|error| said(&error))?;
    let value = |place: usize| row.try_get::<_, &str>(place).unwrap_or_default();
    if value(4) == "true" {
        return Err("it is a replica, and takes no writes".to_owned());
    }
    if value(3) != "UTF8" {
        return Err(format!("its encoding is {}, and the ledger needs UTF8", value(3)));
    }
    let names = ["fsync", "full_page_writes", "synchronous_commit"];
    let off: Vec<_> = (0..names.len()).filter(|place| value(*place) == "off").map(|place| names[place]).collect();
    match (off.is_empty(), options.accept_unsafe) {
        (true, _) => Ok(()),
        (false, true) => {
            tracing::warn!(off = off.join(", "), "the database may lose what it has confirmed, and so may this ledger");
            Ok(())
        }
        (false, false) => Err(format!(
            "{} is off there, so it may lose what it has confirmed; turn it on, or accept that with --database-unsafe",
            off.join(" and ")
        )),
    }
}

/// What a database says, in one line.
pub(super) fn said(error: &Error) -> String {
    match (error.as_db_error(), std::error::Error::source(error)) {
        (Some(said), _) => said.message().to_owned(),
        (None, Some(cause)) => format!("{error}: {cause}"),
        (None, None) => error.to_string(),
    }
}

/// Is the connection gone, so that nobody knows what became of what was sent last?
pub(super) fn is_gone(error: &Error) -> bool {
    let ended = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ];
    match error.code() {
        None => true,
        Some(code) => ended.contains(code) || code.code().starts_with("08"),
    }
}

/// What an error of a statement means to a turn: nothing of it was written.
pub(super) fn meant(error: &Error) -> StoreError {
    let again = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::UNIQUE_VIOLATION,
        SqlState::LOCK_NOT_AVAILABLE,
        // How a turn is told that the row that it rests on is another by now; see `write::CHECK`.
        SqlState::DIVISION_BY_ZERO,
    ];
    match error.code() {
        Some(code) if again.contains(code) => StoreError::Conflict,
        Some(code) if *code == SqlState::DISK_FULL => StoreError::Full,
        Some(_) | None => StoreError::Unreachable(said(error)),
    }
}
