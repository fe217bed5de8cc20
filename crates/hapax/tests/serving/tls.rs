//! TLS with the real program: whom it convinces, what it does with those who speak otherwise, and a certificate that is
//! replaced while it runs.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::authority::{Authority, Certificate};
use crate::process::{Server, folder, run};
use crate::rights::key;

/// Whatever is waited for comes within this, or never.
const PATIENCE: Duration = Duration::from_secs(30);

/// The files of a server.
struct Files {
    cert: PathBuf,
    key: PathBuf,
    ca: PathBuf,
}

impl Files {
    fn new(test: &str, authority: &Authority, certificate: &Certificate) -> Self {
        let folder = folder(test);
        let files = Self { cert: folder.join("cert.pem"), key: folder.join("key.pem"), ca: folder.join("ca.pem") };
        fs::write(&files.ca, &authority.pem).expect("a file");
        fs::write(&files.cert, &certificate.pem).expect("a file");
        fs::write(&files.key, &certificate.key).expect("a file");
        files
    }

    fn serve(&self, filter: &str, more: &[&str]) -> Server {
        let given = ["--tls-cert", text(&self.cert), "--tls-key", text(&self.key)];
        Server::loud(&self.cert.with_file_name("store"), filter, &[&given[..], more].concat())
    }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path")
}

/// A connection with TLS that stays open.
struct Secure(StreamOwned<ClientConnection, TcpStream>);

impl Secure {
    fn open(address: SocketAddr, authority: &Authority) -> io::Result<Self> {
        let mut roots = RootCertStore::empty();
        roots.add(authority.der.clone()).expect("an authority");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let mut config = config.expect("versions").with_root_certificates(roots).with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let name = ServerName::try_from("localhost").expect("a name");
        let connection = ClientConnection::new(Arc::new(config), name).expect("a client");
        let mut stream = StreamOwned::new(connection, connect(address));
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        Ok(Self(stream))
    }

    /// Asks, and reads the answer's status; the connection stays open.
    fn get(&mut self, path: &str) -> u16 {
        write!(self.0, "GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("a request");
        let mut answer = Vec::new();
        let ended = |answer: &[u8]| answer.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
        while ended(&answer).is_none() {
            let mut byte = [0];
            self.0.read_exact(&mut byte).expect("an answer");
            answer.push(byte[0]);
        }
        let head = String::from_utf8(answer).expect("a head").to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).expect("a length");
        self.0.read_exact(&mut vec![0; length.parse().expect("a number")]).expect("a body");
        head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status")
    }

    fn certificate(&self) -> &[u8] {
        self.0.conn.peer_certificates().expect("a certificate")[0].as_ref()
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let socket = TcpStream::connect(address).expect("a connection");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    socket
}

fn curl(arguments: &[&str]) -> (Option<i32>, String) {
    let output = Command::new("curl").args(["-sS", "--max-time", "30"]).args(arguments).output();
    let output = output.expect("curl runs; scripts/test installs it");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Waits until something holds.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let since = now();
    while !holds() {
        assert!(since.elapsed() < PATIENCE, "not within {PATIENCE:?}: {what}");
        std::thread::yield_now();
    }
}

#[allow(clippy::disallowed_methods, reason = "waiting has an end")]
fn now() -> Instant {
    Instant::now()
}

#[test]
fn curl_and_our_own_client_trust_the_authority_that_they_are_told_and_no_other() {
    let (authority, stranger) = (Authority::new(), Authority::named("a stranger"));
    let files = Files::new("tls-trust", &authority, &authority.certify());
    let store = files.cert.with_file_name("store");
    let admin = key(text(&store), &["--role", "admin"]);
    let other = files.cert.with_file_name("other.pem");
    fs::write(&other, &stranger.pem).expect("a file");
    let server = files.serve("off", &[]);
    let url = format!("https://127.0.0.1:{}", server.address.port());

    let told =
        curl(&["--cacert", text(&files.ca), "-w", " %{http_version} %{ssl_verify_result}", &format!("{url}/livez")]);
    assert!(told.0 == Some(0) && told.1.ends_with(" 1.1 0"), "{told:?}");
    assert_eq!(
        curl(&["--cacert", text(&other), &format!("{url}/livez")]).0,
        Some(60),
        "an authority of somebody else's"
    );
    let old = curl(&["--cacert", text(&files.ca), "--tls-max", "1.1", "--ciphers", "ALL:@SECLEVEL=0", &url]);
    assert_eq!(old.0, Some(35), "TLS 1.1 is not spoken");
    let two = curl(&["--cacert", text(&files.ca), "--tls-max", "1.2", &format!("{url}/livez")]);
    assert_eq!(two.0, Some(0), "TLS 1.2 is");

    let contract = files.cert.with_file_name("contract.toml");
    fs::write(&contract, "identity.required = true\nsequence.source = \"server\"").expect("a file");
    let events = files.cert.with_file_name("events.ndjson");
    let lines: String = (0..2_500).map(|number| format!("{{\"id\":\"e-{number}\",\"lane\":\"l\"}}\n")).collect();
    fs::write(&events, lines).expect("a file");
    let remote = |ca: &'static str| -> Vec<String> {
        let ca = if ca == "own" { text(&files.ca) } else { text(&other) };
        ["--server", &url, "--key", &admin, "--ca", ca].map(str::to_owned).to_vec()
    };
    let hapax = |words: &[&str], ca: &'static str| {
        let rest = remote(ca);
        let rest: Vec<&str> = words.iter().copied().chain(rest.iter().map(String::as_str)).collect();
        let output = run(&rest);
        (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let put = hapax(&["streams", "put", "s", text(&contract)], "own");
    assert!(put.0, "{}", put.1);
    let sent = hapax(&["send", "--stream", "s", text(&events)], "own");
    assert!(sent.0, "{}", sent.1);
    let refused = hapax(&["send", "--stream", "s", "--anew", text(&events)], "other");
    assert!(!refused.0 && refused.1.contains("its certificate is not trusted"), "{}", refused.1);
    let head = curl(&[
        "--cacert",
        text(&files.ca),
        "-H",
        &format!("Authorization: Bearer {admin}"),
        &format!("{url}/v1/streams/s/head"),
    ]);
    assert!(head.1.contains("\"offset\":2500"), "{head:?}");
    server.stop();
}

#[test]
fn a_certificate_is_replaced_without_a_restart_and_a_broken_one_is_not_taken() {
    let authority = Authority::new();
    let [first, second, third] = [(); 3].map(|()| authority.certify());
    let files = Files::new("tls-reload", &authority, &first);
    let server = files.serve("info", &[]);
    let served = || Secure::open(server.address, &authority).expect("a handshake").certificate().to_vec();
    let mut open = Secure::open(server.address, &authority).expect("a handshake");
    assert_eq!((open.get("/livez"), open.certificate() == first.der), (200, true));

    // The new certificate with the old key: not a pair, so nothing changes.
    fs::write(&files.cert, &second.pem).expect("a file");
    until("the log has an error", || server.log().iter().any(|line| line.contains("the one before holds")));
    assert_eq!(served(), first.der);
    fs::write(&files.key, &second.key).expect("a file");
    until("the second certificate is served", || served() == second.der);
    // Garbage, and then by renaming, as tools that renew certificates do it.
    fs::write(&files.cert, "-----BEGIN CERTIFICATE-----\nAAAA").expect("a file");
    until("the log has another error", || {
        server.log().iter().filter(|line| line.contains("the one before holds")).count() == 2
    });
    assert_eq!(served(), second.der);
    for (path, content) in [(&files.key, &third.key), (&files.cert, &third.pem)] {
        let beside = path.with_extension("new");
        fs::write(&beside, content).expect("a file");
        fs::rename(&beside, path).expect("a rename");
    }
    until("the third certificate is served", || served() == third.der);
    assert_eq!((open.get("/livez"), open.certificate() == first.der), (200, true), "an open connection goes on");
    let (store, log) = server.stop_with_log();
    assert!(store.exists() && !log.iter().any(|line| line.contains("PRIVATE KEY")), "{log:?}");
}

#[test]
fn who_does_not_finish_the_handshake_is_closed_and_others_are_served() {
    let authority = Authority::new();
    let files = Files::new("tls-slow", &authority, &authority.certify());
    let server = files.serve("off", &["--handshake-timeout", "1"]);
    let mut silent: Vec<_> = (0..40).map(|_| connect(server.address)).collect();
    // Half of them begin: a record that says that 512 bytes follow.
    silent.iter_mut().step_by(2).for_each(|socket| socket.write_all(&[22, 3, 1, 2, 0, 1]).expect("some bytes"));
    let mut good = Secure::open(server.address, &authority).expect("a handshake");
    assert_eq!(good.get("/livez"), 200);
    for socket in &mut silent {
        let ended = socket.read_to_end(&mut Vec::new());
        assert!(ended.is_ok() || ended.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionReset));
    }
    // Noise is told that it is none, and closed.
    let mut noise = connect(server.address);
    noise.write_all(&[0; 600]).expect("some bytes");
    _ = noise.read_to_end(&mut Vec::new());
    assert_eq!(good.get("/livez"), 200);
    let (_, metrics) =
        curl(&["--cacert", text(&files.ca), &format!("https://127.0.0.1:{}/metrics", server.address.port())]);
    for (why, count) in [("late", 40), ("failed", 1)] {
        let line = format!("hapax_tls_handshakes_failed_total{{why=\"{why}\"}} {count}");
        assert!(metrics.contains(&line), "{line} is not in {metrics}");
    }
}

#[test]
fn a_handshake_that_hangs_does_not_hold_a_stop_up() {
    let authority = Authority::new();
    let files = Files::new("tls-stop", &authority, &authority.certify());
    let server = files.serve("off", &["--handshake-timeout", "90", "--stop-timeout", "90"]);
    let mut hanging = connect(server.address);
    hanging.write_all(&[22, 3, 1, 2, 0, 1]).expect("some bytes");
    // Connections are taken in order, so this one's answer means that the other has begun.
    assert_eq!(Secure::open(server.address, &authority).expect("a handshake").get("/livez"), 200);
    let since = now();
    server.stop();
    assert!(since.elapsed() < PATIENCE, "{:?} for a stop", since.elapsed());
}

#[test]
fn plain_http_to_the_port_of_tls_is_told_so_and_closed() {
    let authority = Authority::new();
    let files = Files::new("tls-plain", &authority, &authority.certify());
    let server = files.serve("off", &[]);
    let mut socket = connect(server.address);
    socket.write_all(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n").expect("a request");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("an answer, and then the end");
    assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("\"MALFORMED\""), "{answer}");
    assert!(answer.contains("https://"), "{answer}");
    assert_eq!(Secure::open(server.address, &authority).expect("a handshake").get("/livez"), 200);
}

#[test]
fn files_that_cannot_be_used_are_named_at_the_start() {
    let authority = Authority::new();
    let files = Files::new("tls-files", &authority, &authority.certify());
    let store = files.cert.with_file_name("store");
    let refused = |cert: &str, key: &str| {
        let given = ["serve", "--listen", "127.0.0.1:0", "--store", text(&store)];
        let output = run(&[&given[..], &["--tls-cert", cert, "--tls-key", key]].concat());
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let (cert, key) = (text(&files.cert), text(&files.key));
    assert!(refused(cert, "").contains("TLS needs both"));
    assert!(refused("no.pem", key).contains("no.pem: No such file"));
    assert!(refused(key, key).contains("there is no certificate in it"));
    fs::write(&files.key, authority.certify().key).expect("a file");
    let apart = refused(cert, key);
    assert!(apart.contains("cert.pem and ") && !apart.contains("PRIVATE"), "{apart}");
}

#[test]
fn keys_that_would_travel_in_the_clear_are_warned_of() {
    let authority = Authority::new();
    let files = Files::new("tls-clear", &authority, &authority.certify());
    let store = files.cert.with_file_name("store");
    key(text(&store), &["--role", "admin"]);
    let warned = |listen: &str, more: &[&str]| {
        let server = Server::at(listen, &store, "warn", more);
        let (_, log) = server.stop_with_log();
        log.iter().any(|line| line.contains("in the clear"))
    };
    let tls = ["--tls-cert", text(&files.cert), "--tls-key", text(&files.key)];
    assert!(warned("0.0.0.0:0", &[]));
    assert!(!warned("127.0.0.1:0", &[]));
    assert!(!warned("0.0.0.0:0", &tls));
}
