//! The connection to the database breaks off after any byte of the COMMIT, or of its answer: what the producer is told is true.
//!
//! `none` must mean that it is not there and never will be: sent again, it is new. After `unknown` sending it again gives the
//! truth. What was accepted is there. `HAPAX_PG_CUTS=all` cuts at every byte.

use std::collections::BTreeMap;
use std::io;
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use crate::client::{Client, Reply};
use crate::cluster::Cluster;
use crate::events::{CONTRACT, EVENTS, Place, entries, event, place, proved};
use crate::now;
use crate::process::Server;
use crate::proxy::{Cut, Proxy};

/// Every so many-th byte, unless all are tried; the COMMIT itself, at the end of its flight, byte by byte.
const STRIDE: usize = 61;
const ANSWER_STRIDE: usize = 17;
const LAST: usize = 48;
/// Every so many-th cut the database cannot be reached afterwards, so that nobody can ask it what became of the commit.
const CLOSED: usize = 12;

const PATIENCE: Duration = Duration::from_secs(60);

struct Stage {
    proxy: Proxy,
    server: Server,
    sent: u64,
    told: BTreeMap<u64, Place>,
    answered: BTreeMap<String, u64>,
}

impl Stage {
    /// A server behind a proxy, and where its database is without that.
    fn new() -> (Self, String) {
        let cluster = Cluster::shared();
        let proxy = Proxy::to(cluster.port());
        let direct = cluster.url(&cluster.schema());
        let url = direct.replace(&format!(":{}/", cluster.port()), &format!(":{}/", proxy.address.port()));
        let server = Server::loud(Path::new(&url), "off", &[]);
        server.put("s", CONTRACT);
        (Self { proxy, server, sent: 0, told: BTreeMap::new(), answered: BTreeMap::new() }, direct)
    }

    /// What a commit looks like when nothing is wrong and everything was prepared: how long it is, and its answer.
    fn lengths(&mut self) -> (usize, usize) {
        let mut lengths = (0, 0);
        for _ in 0..5 {
            self.sent += 1;
            self.proxy.watch(&format!("p0-{:06}", self.sent), None, false);
            let reply = self.send(self.sent).expect("an answer");
            assert_eq!(reply.status, 201, "{}", reply.text());
            self.note(self.sent, &reply);
            lengths = self.proxy.seen().expect("a commit in the flight");
        }
        lengths
    }

    /// What everybody was told is there, once.
    fn holds(&self, direct: &str) {
        let found = entries(&mut self.server.client());
        assert_eq!(found.len() as u64, self.sent, "each is there once");
        for (seq, told) in &self.told {
            assert_eq!(found.get(&format!("p0-{seq:06}")), Some(told), "{seq}");
        }
        proved(direct);
    }

    fn send(&self, seq: u64) -> io::Result<Reply> {
        let stream = TcpStream::connect(self.server.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let body = event(0, seq).to_string();
        Client::on(stream).try_send("POST", EVENTS, &[("content-type", "application/json")], body.as_bytes())
    }

    /// One event, its commit cut here, and then what is true.
    fn cut(&mut self, cut: Cut, close_after: bool, keep_back: bool) -> bool {
        self.sent += 1;
        let seq = self.sent;
        let id = event(0, seq)["event_id"].as_str().expect("an id").to_owned();
        self.proxy.watch(&id, Some(cut), close_after);
        if keep_back {
            self.proxy.keep_back();
        }
        let first = self.send(seq).expect("an answer");
        let reached = self.proxy.seen().is_some() && (!keep_back || self.proxy.was_kept_back());
        self.proxy.open();
        // It was sent once. Whoever is told that it is a duplicate was told so by a server that had guessed wrong.
        assert_ne!(first.status, 200, "{cut:?}: {}", first.text());
        *self.answered.entry(said(&first)).or_default() += 1;
        // Said about it so far: that it is there, that it is not, or neither.
        let mut known = knows(&first);
        if known == Some(true) {
            self.note(seq, &first);
        }
        let began = now();
        let again = loop {
            let again = self.send(seq).expect("an answer");
            if again.status != 503 {
                break again;
            }
            assert!(began.elapsed() < PATIENCE, "service does not resume: {}", again.text());
            if knows(&again).is_none() {
                known = known.filter(|known| *known);
            }
        };
        let accepted = again.status == 201;
        assert!(accepted || again.json()["verdict"] == "duplicate", "{}", again.text());
        if let Some(known) = known {
            assert_eq!(!accepted, known, "{cut:?}: told {}, then {}", first.text(), again.text());
        }
        self.note(seq, &again);
        reached
    }

    fn note(&mut self, seq: u64, reply: &Reply) {
        let receipt = reply.json();
        let found = place(if reply.status == 201 { &receipt } else { &receipt["original"] });
        if let Some(before) = self.told.insert(seq, found.clone()) {
            assert_eq!(before, found, "one event has one place");
        }
    }
}

/// Is it there, as far as the answer says?
fn knows(reply: &Reply) -> Option<bool> {
    match (reply.status, reply.json()["effect"].as_str()) {
        (200 | 201, _) => Some(true),
        (503, Some("none")) => Some(false),
        (503, Some("unknown")) => None,
        (status, _) => panic!("{status} {}", reply.text()),
    }
}

fn said(reply: &Reply) -> String {
    if reply.status < 300 {
        return "accepted".to_owned();
    }
    format!("{} {}", reply.code(), reply.json()["effect"].as_str().unwrap_or_default())
}

#[test]
fn cut_after_any_byte_of_a_commit_or_its_answer_nobody_is_told_what_is_not_so() {
    let (mut stage, direct) = Stage::new();
    let (request, answer) = stage.lengths();
    let all = std::env::var("HAPAX_PG_CUTS").is_ok_and(|it| it == "all");
    let requests = (0..request).filter(|at| all || at % STRIDE == 0 || at + LAST >= request).map(Cut::Request);
    let answers = (0..answer).filter(|at| all || at % ANSWER_STRIDE == 0).map(Cut::Answer);
    let cuts: Vec<Cut> = requests.chain(answers).collect();
    let mut reached = 0;
    for (index, cut) in cuts.iter().enumerate() {
        reached +=
            usize::from(stage.cut(*cut, !all && index % CLOSED == 1 || all && index % (CLOSED * 20) == 1, false));
    }
    assert!(reached * 10 >= cuts.len() * 9, "{reached} of {} cuts were met", cuts.len());

    stage.holds(&direct);
    println!(
        "figure: {reached} cuts in a COMMIT's flight of {request} bytes and its answer of {answer}: {:?}; 0 lost, 0 twice, 0 untrue",
        stage.answered
    );
}

/// Who asks leaves a trace in the database. It is not to be taken for the commit's when the question has to be asked again.
#[test]
fn a_question_that_was_asked_and_not_answered_does_not_answer_the_next_one() {
    let (mut stage, direct) = Stage::new();
    stage.lengths();
    // Not committed; committed; and once more not, with another question on a connection that has asked before.
    for cut in [Cut::Request(0), Cut::Answer(0), Cut::Request(1)] {
        assert!(stage.cut(cut, false, true), "{cut:?} was met, and so was the question");
    }
    stage.holds(&direct);
}
