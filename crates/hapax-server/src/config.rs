//! What an operator may set. Every limit is here, with its reason.

use std::net::SocketAddr;
use std::time::Duration;

use hapax_core::access::Rates;

use crate::tls::TlsFiles;

/// How a server behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Listen beyond loopback although nobody needs a key.
    pub insecure: bool,
    /// The names that it goes by, besides `localhost`. Without keys it answers at no other, because any web page can let
    /// a name of its own point here.
    pub hosts: Vec<String>,
    /// Speak TLS, with this certificate.
    pub tls: Option<TlsFiles>,
    /// What is taken at most.
    pub limits: Limits,
}

/// What is taken at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A request's body after unpacking.
    pub body_bytes_max: usize,
    /// Events of one request.
    pub batch_events_max: usize,
    /// One event.
    pub event_bytes_max: usize,
    /// A request's line and headers.
    pub header_bytes_max: usize,
    /// Bodies of all requests that are being read or wait. Beyond it a request is answered `BUSY`.
    pub waiting_bytes_max: usize,
    /// Requests that wait for the writer.
    pub waiting_requests_max: usize,
    /// Events of one turn: enough to pay for a sync, few enough to answer soon.
    pub turn_events_max: usize,
    /// Connections. One too many is told `BUSY`.
    pub connections_max: usize,
    /// Connections of one address, so that no single one takes all the places. Clients behind one proxy share an address.
    pub connections_per_address_max: usize,
    /// Connections that follow a stream.
    pub followers_max: usize,
    /// What one caller may send in a second, unless its key says otherwise.
    pub rates: Rates,
    /// For the handshake of TLS.
    pub handshake_timeout: Duration,
    /// For a request's line and headers.
    pub header_timeout: Duration,
    /// For a request's body.
    pub body_timeout: Duration,
    /// What a body must bring in each second of a `body_rate_window`, and a reader of an answer take: less is nobody who
    /// wants an answer, and holds a place.
    pub body_rate_min: usize,
    /// A body may pause for so long.
    pub body_rate_window: Duration,
    /// For a client to take something of its answer.
    pub write_timeout: Duration,
    /// For a connection between two requests. Long enough for pools of connections, short enough that places come back.
    pub idle_timeout: Duration,
    /// For running requests, when the server stops.
    pub stop_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            body_bytes_max: 16 << 20,
            batch_events_max: 10_000,
            event_bytes_max: 1 << 20,
            header_bytes_max: 16 << 10,
            waiting_bytes_max: 256 << 20,
            waiting_requests_max: 4096,
            turn_events_max: 20_000,
            connections_max: 1024,
            connections_per_address_max: 256,
            followers_max: 256,
            rates: Rates { requests: Some(0), events: Some(0) },
            handshake_timeout: Duration::from_secs(10),
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            body_rate_min: 1024,
            body_rate_window: Duration::from_secs(5),
            write_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(60),
            stop_timeout: Duration::from_secs(30),
        }
    }
}
