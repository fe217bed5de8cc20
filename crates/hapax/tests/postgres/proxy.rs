//! A proxy between a server and its database that breaks a connection off in the middle of a COMMIT, at a byte of choice.
//!
//! What a flight is: all that one side says before the other says anything. The flight that is cut is the one with the COMMIT in it,
//! of a connection that has carried a given text before or in it, so that nobody else's commit is cut instead. If asked to, it also
//! keeps back what the database answers when it is asked what became of that commit, once. Understands just enough of the protocol
//! for that: messages with their lengths, in plain text.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

/// As long as this nothing more comes of a flight that goes on.
const SILENCE: Duration = Duration::from_millis(4);

/// Where it is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// After so many bytes of what the server says.
    Request(usize),
    /// After so many bytes of what the database answers to all of it.
    Answer(usize),
}

/// What is to happen, and what has.
#[derive(Default)]
struct Plan {
    cut: Option<Cut>,
    /// The text that the connection must have carried.
    text: Vec<u8>,
    /// Nobody gets through.
    closed: bool,
    /// After a cut nobody gets through.
    close_after: bool,
    /// After a cut the first answer to the question what became of the commit does not get through.
    keeps_back: bool,
    /// The lengths of the last flight with a COMMIT that carried the text, and of its answer.
    lengths: (usize, usize),
    done: bool,
}

/// The proxy.
pub struct Proxy {
    pub address: SocketAddr,
    plan: Arc<Mutex<Plan>>,
}

impl Proxy {
    /// In front of a database on this machine.
    pub fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let plan: Arc<Mutex<Plan>> = Arc::default();
        let shared = Arc::clone(&plan);
        // It ends with the process; there is one for each test.
        std::thread::spawn(move || {
            for server in listener.incoming().map_while(Result::ok) {
                let plan = Arc::clone(&shared);
                if locked(&plan).closed {
                    continue;
                }
                let Ok(database) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                let link = Arc::new(Link { server, database, plan, state: Mutex::default() });
                let other = Arc::clone(&link);
                std::thread::spawn(move || other.requests());
                std::thread::spawn(move || link.answers());
            }
        });
        Self { address, plan }
    }

    /// The next COMMIT of a connection that carries this text is watched, and cut if so asked.
    pub fn watch(&self, text: &str, cut: Option<Cut>, close_after: bool) {
        let text = text.as_bytes().to_vec();
        *locked(&self.plan) = Plan { cut, text, close_after, ..Plan::default() };
    }

    /// After the cut that is planned the question what became of the commit reaches the database, and its answer nobody.
    pub fn keep_back(&self) {
        locked(&self.plan).keeps_back = true;
    }

    /// Was there such a question, if one was waited for?
    pub fn was_kept_back(&self) -> bool {
        !locked(&self.plan).keeps_back
    }

    /// Everybody gets through again.
    pub fn open(&self) {
        locked(&self.plan).closed = false;
    }

    /// Was there such a COMMIT, and if it was to be cut: was it? With the lengths of the flight and its answer.
    pub fn seen(&self) -> Option<(usize, usize)> {
        let plan = locked(&self.plan);
        plan.done.then_some(plan.lengths)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nobody failed with it in hand")
}

/// One connection through the proxy.
struct Link {
    server: TcpStream,
    database: TcpStream,
    plan: Arc<Mutex<Plan>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Has the watched text gone through?
    marked: bool,
    /// Was the question prepared here?
    asks: bool,
    /// The answer to the flight that is watched: how long it is so far, and where it is to be cut.
    answer: Option<(usize, Option<usize>)>,
}

impl Link {
    fn end(&self) {
        // Whoever is gone already needs no end.
        _ = self.server.shutdown(Shutdown::Both);
        _ = self.database.shutdown(Shutdown::Both);
    }

    /// From the server to the database, flight by flight.
    fn requests(&self) {
        while let Some(flight) = self.flight() {
            let cut = self.cut(&flight);
            if let Some(Cut::Request(bytes)) = cut.filter(|cut| matches!(cut, Cut::Request(it) if *it < flight.len())) {
                _ = (&self.database).write_all(&flight[..bytes]);
                return self.end();
            }
            if (&self.database).write_all(&flight).is_err() {
                break;
            }
        }
        self.end();
    }

    /// All that the server says until it is silent, or until it has said COMMIT.
    fn flight(&self) -> Option<Vec<u8>> {
        let mut flight = Vec::new();
        let mut piece = vec![0; 1 << 16];
        self.server.set_read_timeout(None).ok()?;
        loop {
            match (&self.server).read(&mut piece) {
                Ok(0) => return None,
                Ok(length) => flight.extend_from_slice(&piece[..length]),
                Err(error) if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {
                    return Some(flight);
                }
                Err(_) => return None,
            }
            if ends_with_commit(&flight) {
                return Some(flight);
            }
            self.server.set_read_timeout(Some(SILENCE)).ok()?;
        }
    }

    /// Is this the flight that is watched? Then what is to be done with it.
    fn cut(&self, flight: &[u8]) -> Option<Cut> {
        let mut plan = locked(&self.plan);
        let mut state = locked(&self.state);
        if plan.done && plan.keeps_back {
            // It is prepared in one flight, and asked in the next.
            if state.asks {
                plan.keeps_back = false;
                state.answer = Some((0, Some(0)));
            }
            state.asks |= holds(flight, b"INSERT INTO turns") && holds(flight, b"ON CONFLICT");
            return None;
        }
        state.marked |= !plan.text.is_empty() && holds(flight, &plan.text);
        if !state.marked || plan.done || !has_commit(flight) {
            return None;
        }
        plan.lengths.0 = flight.len();
        let cut = plan.cut;
        match cut {
            Some(Cut::Request(bytes)) if bytes < flight.len() => {
                plan.done = true;
                plan.closed = plan.close_after;
            }
            Some(Cut::Answer(bytes)) => state.answer = Some((0, Some(bytes))),
            Some(Cut::Request(_)) | None => state.answer = Some((0, None)),
        }
        cut
    }

    /// From the database to the server.
    fn answers(&self) {
        let mut piece = vec![0; 1 << 16];
        while let Ok(length) = (&self.database).read(&mut piece) {
            if length == 0 {
                break;
            }
            let let_through = self.through(&piece[..length]);
            _ = (&self.server).write_all(&piece[..let_through]);
            if let_through < length {
                break;
            }
        }
        self.end();
    }

    /// How many of these bytes get through.
    fn through(&self, piece: &[u8]) -> usize {
        let mut plan = locked(&self.plan);
        let mut state = locked(&self.state);
        let Some((before, cut)) = state.answer else { return piece.len() };
        let length = before + piece.len();
        state.answer = Some((length, cut));
        plan.lengths.1 = length;
        if let Some(cut) = cut.filter(|cut| *cut < length) {
            plan.done = true;
            plan.closed = plan.close_after;
            return cut.saturating_sub(before);
        }
        // `Z` of length 5 with `I`: ready, and in no transaction. The answer is whole.
        if piece.ends_with(b"Z\0\0\0\x05I") {
            plan.done = true;
            state.answer = None;
        }
        piece.len()
    }
}

fn holds(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|it| it == text)
}

/// As a simple query, or as a statement that is parsed, bound and executed.
fn has_commit(flight: &[u8]) -> bool {
    holds(flight, b"COMMIT\0") || holds(flight, b"commit\0")
}

fn ends_with_commit(flight: &[u8]) -> bool {
    flight.ends_with(b"COMMIT\0") || flight.ends_with(b"commit\0")
}
