//! Every word of the closed vocabularies has its row, with the right status, state, class and effect, and no row speaks of
//! a word that is gone. Words about events are in `docs/contract.md`, problems in `docs/http.md`, and each in one place.

use hapax_core::claim::ClaimFault;
use hapax_core::problem::{Problem, ProblemCode};
use hapax_core::refusal::{Refusal, Why};
use hapax_core::words::{Code, Mark, State, Verdict};

use crate::markdown::{code, page};

/// Where the table of these words stands.
fn place_of(first: &str) -> (&'static str, &'static str) {
    let (contract, http) = ("docs/contract.md", "docs/http.md");
    if first == "problem" { (http, contract) } else { (contract, http) }
}

/// The rows of a table by their word, and the rest of their cells.
fn table(first: &str) -> Vec<(String, Vec<String>)> {
    let row = |cells: Vec<String>| {
        let word = code(&cells[0]).first().map(|word| (*word).to_owned());
        (word.unwrap_or_else(|| panic!("a row of the table of {first} has no word: {cells:?}")), cells[1..].to_vec())
    };
    page(place_of(first).0).rows(first).into_iter().map(row).collect()
}

/// The table has exactly these words, in this order.
fn lists(first: &str, words: &[&str]) -> Vec<(String, Vec<String>)> {
    let rows = table(first);
    let found: Vec<_> = rows.iter().map(|(word, _)| word.as_str()).collect();
    let (here, other) = place_of(first);
    assert_eq!(found, words, "the table of {first} in {here}");
    let header = format!("| {first} |");
    assert!(!page(other).text.lines().any(|line| line.starts_with(&header)), "{other} has a table of {first}, too");
    rows
}

fn names<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter().map(|word| name(*word)).collect()
}

#[test]
fn every_verdict_has_its_row() {
    lists("verdict", &names(Verdict::ALL, Verdict::name));
}

#[test]
fn every_mark_has_its_row() {
    lists("mark", &names(Mark::ALL, Mark::name));
}

#[test]
fn every_code_has_its_verdict_its_status_and_its_state() {
    let rows = lists("code", &names(Code::ALL, Code::name));
    for (word, (_, cells)) in Code::ALL.iter().zip(&rows) {
        let (status, state) = word.row();
        let verdict = Refusal::new(*word, Why::Lane).verdict();
        assert_eq!(code(&cells[0]), [verdict.name()], "the verdict of {word}");
        assert_eq!(cells[1], status.to_string(), "the status of {word}");
        let states = code(&cells[2]);
        assert!(!states.is_empty() && states.iter().all(|it| State::named(it).is_some()), "the states of {word}");
        assert!(states.contains(&state.name()), "{word} has the state {state}");
    }
}

#[test]
fn every_state_has_its_class() {
    let rows = lists("state", &names(State::ALL, State::name));
    for (word, (_, cells)) in State::ALL.iter().zip(&rows) {
        assert_eq!(code(&cells[0]), [word.class().name()], "the class of {word}");
    }
}

#[test]
fn every_problem_has_its_status_and_its_effect() {
    let problems = ProblemCode::ALL.iter().map(|word| (word.name(), word.status(), word.effect()));
    let faults = FAULTS.iter().map(|fault| (fault.code(), fault.status(), Problem::from(*fault).effect));
    let all: Vec<_> = problems.chain(faults).collect();
    let rows = lists("problem", &names(&all, |(name, ..)| name));
    for ((name, status, effect), (_, cells)) in all.iter().zip(&rows) {
        assert_eq!(cells[0], status.to_string(), "the status of {name}");
        assert_eq!(code(&cells[1]), [effect.name()], "the effect of {name}");
    }
}

pub(crate) const FAULTS: [ClaimFault; 12] = [
    ClaimFault::LeaseLost,
    ClaimFault::AlreadyDone,
    ClaimFault::NotClaimed,
    ClaimFault::NotDead,
    ClaimFault::ReasonRequired,
    ClaimFault::LaneRequired,
    ClaimFault::SeqRequired,
    ClaimFault::PlaceDiffers,
    ClaimFault::PlaceTaken,
    ClaimFault::PlacePassed,
    ClaimFault::ResultTooLarge,
    ClaimFault::ResultNotJson,
];

/// A new fault does not compile here until it has its place in the list.
const fn place(fault: ClaimFault) -> usize {
    match fault {
        ClaimFault::LeaseLost => 0,
        ClaimFault::AlreadyDone => 1,
        ClaimFault::NotClaimed => 2,
        ClaimFault::NotDead => 3,
        ClaimFault::ReasonRequired => 4,
        ClaimFault::LaneRequired => 5,
        ClaimFault::SeqRequired => 6,
        ClaimFault::PlaceDiffers => 7,
        ClaimFault::PlaceTaken => 8,
        ClaimFault::PlacePassed => 9,
        ClaimFault::ResultTooLarge => 10,
        ClaimFault::ResultNotJson => 11,
    }
}

#[test]
fn the_list_of_faults_is_whole() {
    for (index, fault) in FAULTS.iter().enumerate() {
        assert_eq!(place(*fault), index);
    }
}
