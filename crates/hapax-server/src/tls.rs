//! TLS: the certificate and the key from two PEM files, read again when they change.
//!
//! What holds: TLS 1.2 and 1.3, HTTP/1.1; files that do not read, or do not belong together, never replace those that do;
//! connections that are open stay as they are. Not here: certificates of clients, and whom the server would trust.

use std::fmt;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, version};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How often the files are looked at. A look is two questions to the file system.
const PAUSE: Duration = Duration::from_secs(1);

/// Where the certificate and its key are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsFiles {
    /// PEM: the server's certificate, then those that lead to an authority.
    pub cert: PathBuf,
    /// PEM: its key.
    pub key: PathBuf,
}

/// Why files cannot be used.
#[derive(Debug)]
pub struct TlsError(String);

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for TlsError {}

/// What became of a connection that should begin with a handshake.
#[derive(Debug)]
pub enum Handshake {
    /// It did.
    Done(Box<TlsStream<TcpStream>>),
    /// It speaks HTTP without TLS, which can be answered.
    Plain(TcpStream),
    /// It took too long.
    Late,
    /// It failed; the other side was told why.
    Failed(std::io::Error),
}

/// The certificate in force.
pub struct Tls {
    files: TlsFiles,
    timeout: Duration,
    held: Mutex<Held>,
}

struct Held {
    /// Of the files that were looked at last, whether or not they are in force.
    stamps: [Option<Stamp>; 2],
    config: Arc<ServerConfig>,
}

/// What changes when a file is written or replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
}

impl fmt::Debug for Tls {
    /// The key stays out of every log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("files", &self.files).finish_non_exhaustive()
    }
}

impl Tls {
    /// Reads the files. `timeout` is for a handshake.
    pub fn open(files: &TlsFiles, timeout: Duration) -> Result<Self, TlsError> {
        let stamps = stamps(files);
        let config = Arc::new(read(files)?);
        Ok(Self { files: files.clone(), timeout, held: Mutex::new(Held { stamps, config }) })
    }

    /// Takes a connection through its handshake.
    pub async fn accept(&self, socket: TcpStream) -> Handshake {
        let acceptor = TlsAcceptor::from(Arc::clone(&self.held().config));
        let greeting = async {
            let mut first = [0];
            // A handshake begins with the byte 22, a request with a letter.
            if socket.peek(&mut first).await? == 1 && first[0].is_ascii_uppercase() {
                return Ok(Handshake::Plain(socket));
            }
            Ok(Handshake::Done(Box::new(acceptor.accept(socket).await?)))
        };
        match tokio::time::timeout(self.timeout, greeting).await {
            Ok(Ok(handshake)) => handshake,
            Ok(Err(error)) => Handshake::Failed(error),
            Err(_) => Handshake::Late,
        }
    }

    /// Looks at the files again and again, for as long as it is polled.
    pub async fn keep_fresh(self: &Arc<Self>) {
        loop {
            tokio::time::sleep(PAUSE).await;
            let tls = Arc::clone(self);
            // Files may lie on a disk that takes its time. What panics there leaves the certificate as it was.
            match tokio::task::spawn_blocking(move || tls.refresh()).await {
                Ok(Ok(true)) => tracing::info!(cert = ?self.files.cert, "the certificate was replaced"),
                Ok(Err(error)) => tracing::error!(%error, "the certificate is not replaced; the one before holds"),
                Ok(Ok(false)) | Err(_) => {}
            }
        }
    }

    /// Reads the files if they changed. Says whether they are in force now.
    fn refresh(&self) -> Result<bool, TlsError> {
        // Before the reading: what is written meanwhile shows in the next look.
        let stamps = stamps(&self.files);
        if self.held().stamps == stamps {
            return Ok(false);
        }
        let read = read(&self.files);
        let mut held = self.held();
        held.stamps = stamps;
        held.config = Arc::new(read?);
        Ok(true)
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stamps(files: &TlsFiles) -> [Option<Stamp>; 2] {
    [&files.cert, &files.key].map(|path| {
        let meta = std::fs::metadata(path).ok()?;
        Some(Stamp { inode: meta.ino(), size: meta.size(), modified: (meta.mtime(), meta.mtime_nsec()) })
    })
}

fn read(files: &TlsFiles) -> Result<ServerConfig, TlsError> {
    let unread = |path: &Path, why: &dyn fmt::Display| TlsError(format!("{}: {why}", path.display()));
    let text = |path: &Path| std::fs::read(path).map_err(|error| unread(path, &error));
    let chain = CertificateDer::pem_slice_iter(&text(&files.cert)?).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| unread(&files.cert, &error))?;
    if chain.is_empty() {
        return Err(unread(&files.cert, &"there is no certificate in it"));
    }
    let key = PrivateKeyDer::from_pem_slice(&text(&files.key)?).map_err(|error| unread(&files.key, &error))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&version::TLS13, &version::TLS12])
        .map_err(|error| TlsError(error.to_string()))?;
    let mut config = builder
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| TlsError(format!("{} and {}: {error}", files.cert.display(), files.key.display())))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(config)
}
