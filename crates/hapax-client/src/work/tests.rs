//! The loop against a registry that answers as the test says.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::value::RawValue;

use super::{Claim, Happening, Plan, Summary, Work, Worker};
use crate::fake::{Fake, Heard, PROBLEM, problem, say};
use crate::{Entry, Stop};

/// A stream of these (offset, lane), and what the registry says to each call about them, one answer after the other.
fn server(entries: &[(u64, &str)], answers: &[(&str, &[&str])]) -> Fake {
    let entry = |(offset, lane): &(u64, &str)| {
        format!("{{\"offset\":{offset},\"id\":\"e{offset}\",\"lane\":\"{lane}\",\"document\":{{}}}}")
    };
    let page = format!("{{\"events\":[{}],\"next\":null}}", entries.iter().map(entry).collect::<Vec<_>>().join(","));
    let head = entries.last().map_or(0, |(offset, _)| *offset);
    let mut answers: BTreeMap<String, Vec<String>> = answers
        .iter()
        .map(|(call, answers)| ((*call).to_owned(), answers.iter().rev().map(|it| (*it).to_owned()).collect()))
        .collect();
    Fake::answering(move |heard| {
        let call = call(heard);
        if call == "head" {
            return Some(say(200, &format!("{{\"offset\":{head}}}")));
        }
        if call == "events" {
            return Some(say(200, &page));
        }
        let next = answers.get_mut(&call).and_then(Vec::pop);
        match next.unwrap_or_else(|| panic!("nobody expected {call}")).as_str() {
            "lost" => Some(problem(409, "LEASE_LOST", PROBLEM)),
            answer => Some(say(200, answer)),
        }
    })
}

/// `claim e1`, `done e1`, and so on.
fn call(heard: &Heard) -> String {
    let path = heard.line.split(['?', ' ']).nth(1).unwrap_or_default();
    let parts: Vec<_> = path.split('/').collect();
    match parts.as_slice() {
        [.., "claims"] => {
            let body: serde_json::Value = serde_json::from_str(&heard.body).expect("a claim");
            format!("claim {}", body["event_id"].as_str().unwrap_or_default())
        }
        [.., "claims", id, what] => format!("{what} {id}"),
        [.., last] => (*last).to_owned(),
        [] => String::new(),
    }
}

/// Fails for entries whose ids it is given, as often as they are there.
#[derive(Default)]
struct Script {
    fails: Vec<&'static str>,
    told: Vec<String>,
    slow: bool,
}

impl Work for Script {
    fn run(&mut self, entry: &Entry, claim: &Claim) -> Result<Option<Box<RawValue>>, String> {
        if self.slow {
            assert!(claim.lost().wait(Duration::from_secs(20)), "the heartbeat finds out");
        }
        match self.fails.iter().position(|id| *id == entry.id) {
            Some(found) => {
                self.fails.remove(found);
                Err("no luck".to_owned())
            }
            None => Ok(RawValue::from_string(format!("{{\"fence\":{}}}", claim.fence())).ok()),
        }
    }

    fn told(&mut self, entry: &Entry, happening: &Happening) {
        self.told.push(format!("{} {happening:?}", entry.id));
    }
}

fn run(server: &Fake, in_order: bool, work: &mut Script) -> Summary {
    let plan = Plan {
        handler: "h".to_owned(),
        stream: "s".to_owned(),
        owner: "test".to_owned(),
        in_order,
        by_number: false,
        heartbeat: Duration::from_millis(5),
        after: 0,
        once: true,
    };
    Worker::new(&server.client(), plan, Stop::new()).run(work).expect("the work ends")
}

const DONE: &str = "{\"status\":\"done\"}";
const CLAIMED: &str = "{\"decision\":\"claimed\",\"fence\":7,\"attempt\":1}";
const ALIVE: &[&str] = &["{\"status\":\"claimed\"}"; 99];

#[test]
fn an_entry_is_claimed_worked_on_and_said_to_be_done() {
    let server = server(
        &[(1, "a"), (2, "a")],
        &[
            ("claim e1", &[CLAIMED]),
            ("done e1", &[DONE]),
            ("heartbeat e1", ALIVE),
            ("claim e2", &["{\"decision\":\"done\"}"]),
        ],
    );
    let summary = run(&server, false, &mut Script::default());
    assert_eq!(summary, Summary { done: 1, skipped: 1, ..Summary::default() });
    let done = server.heard().into_iter().find(|it| call(it) == "done e1").expect("a call");
    assert_eq!(done.body, "{\"fence\":7,\"lane\":\"a\",\"stream\":\"s\",\"result\":{\"fence\":7}}");
}

#[test]
fn a_failure_comes_again_and_holds_up_no_other_lane() {
    let server = server(
        &[(1, "a"), (2, "a"), (3, "b")],
        &[
            ("claim e1", &[CLAIMED, "{\"decision\":\"waiting\",\"retry_after_ms\":300}", CLAIMED]),
            ("failed e1", &["{\"status\":\"failed\"}"]),
            ("done e1", &[DONE]),
            ("claim e2", &[CLAIMED]),
            ("done e2", &[DONE]),
            ("claim e3", &[CLAIMED]),
            ("done e3", &[DONE]),
            ("heartbeat e1", ALIVE),
            ("heartbeat e2", ALIVE),
            ("heartbeat e3", ALIVE),
        ],
    );
    let mut work = Script { fails: vec!["e1"], ..Script::default() };
    let summary = run(&server, true, &mut work);
    assert_eq!(summary, Summary { done: 3, failed: 1, ..Summary::default() });
    assert_eq!(work.told, ["e1 Failed(\"no luck\")", "e3 Done", "e1 Done", "e2 Done"]);
}

#[test]
fn a_dead_one_holds_its_lane_and_the_rest_is_counted() {
    let server = server(
        &[(1, "a"), (2, "b"), (3, "a")],
        &[
            ("claim e1", &["{\"decision\":\"dead\"}"]),
            ("claim e2", &[CLAIMED]),
            ("done e2", &[DONE]),
            ("heartbeat e2", ALIVE),
        ],
    );
    let mut work = Script::default();
    let summary = run(&server, true, &mut work);
    assert_eq!(summary, Summary { done: 1, dead: 1, held_back: 1, ..Summary::default() });
    assert_eq!(work.told, ["e1 Dead", "e2 Done"]);
}

#[test]
fn whoever_lost_the_lease_hears_of_it_and_the_entry_is_looked_at_again() {
    let server = server(
        &[(1, "a")],
        &[("claim e1", &[CLAIMED, "{\"decision\":\"done\"}"]), ("heartbeat e1", &["lost"]), ("done e1", &["lost"])],
    );
    let mut work = Script { slow: true, ..Script::default() };
    let summary = run(&server, false, &mut work);
    assert_eq!(summary, Summary { skipped: 1, ..Summary::default() });
    assert_eq!(work.told, ["e1 Lost"]);
}
