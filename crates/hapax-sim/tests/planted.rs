//! Bugs of every kind that a ledger can have, written into the real code and switched on one at a time: each must be
//! caught by a check that is meant for it, and nothing is found when there is none.
//!
//! `cargo test --locked -p hapax-sim --features planted --test planted -- --nocapture` prints which check caught which bug,
//! after how many worlds and crashes. `HAPAX_PLANTED_WORLDS` lets it search longer, `HAPAX_PLANTED_ONLY` for one bug. A
//! bug that is not named here does not compile, and one that is not caught fails the build.
//!
//! Three search: the simulator ([`hapax_sim`]); for rules of the judge that no client can see broken, the second opinion of
//! the suite `model`; and for what takes longer than a world lasts, a history in which things expire.

/// The second opinion. This suite uses a part of it.
#[path = "../../hapax-store/tests/model"]
#[allow(dead_code, unused_imports)]
mod play {
    pub(crate) mod agree;
    pub(crate) mod model;
    pub(crate) mod stage;
    pub(crate) mod world;
}

#[path = "planted/catchers.rs"]
mod catchers;
#[path = "planted/expiry.rs"]
mod expiry;
#[path = "planted/table.rs"]
mod table;

use catchers::{Caught, in_expiries, in_models, in_worlds};
use hapax_core::planted::{Bug, plant};
use table::{By, expected};

/// A bug that so many worlds do not show is not caught. The slowest takes about a hundred.
const WORLDS: u64 = 1_000;

/// Worlds without a bug, at least: as many as the slowest bug took, if that is more.
const CLEAN: u64 = 120;

#[test]
fn every_planted_bug_is_caught_by_what_is_meant_for_it() {
    let given = |name: &str| std::env::var(name).ok();
    let worlds = given("HAPAX_PLANTED_WORLDS").and_then(|it| it.parse().ok()).unwrap_or(WORLDS);
    let only = given("HAPAX_PLANTED_ONLY");
    // A bug may end in an assertion, which is one way to be caught.
    std::panic::set_hook(Box::new(|_| {}));
    println!("{:<24} {:<32} {:>6} {:>7}  what was seen", "bug", "caught by", "worlds", "crashes");
    let (mut wrong, mut clean) = (Vec::new(), CLEAN);
    let wanted = |bug: &&Bug| only.as_ref().is_none_or(|only| only == bug.name());
    for bug in Bug::ALL.iter().filter(wanted).copied() {
        plant(Some(bug));
        let caught = match expected(bug) {
            By::Simulator(_) => in_worlds(worlds),
            By::Model => in_models(worlds),
            By::Expiry => in_expiries(worlds),
        };
        plant(None);
        clean = caught.as_ref().map_or(worlds, |it| it.worlds).max(clean);
        wrong.extend(judged(bug, caught, worlds));
    }
    let found = [in_worlds(clean), in_models(CLEAN), in_expiries(CLEAN)];
    let caught = Bug::ALL.iter().filter(wanted).count() - wrong.len();
    println!("figure: {caught} planted bugs caught, {} not", wrong.len());
    println!(
        "{:<24} {:<32} {clean:>6}",
        "none",
        found.iter().flatten().flat_map(|it| it.by.clone()).collect::<String>()
    );
    for Caught { by, what, .. } in found.into_iter().flatten() {
        wrong.push(format!("no bug is planted, and {by:?} see one: {what}"));
    }
    drop(std::panic::take_hook());
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Prints a row, and says what is wrong with it.
fn judged(bug: Bug, caught: Option<Caught>, worlds: u64) -> Option<String> {
    let Some(Caught { by, what, worlds, crashes }) = caught else {
        println!("{:<24} nothing", bug.name());
        return Some(format!("{} is not caught in {worlds} worlds: {}", bug.name(), bug.sentence()));
    };
    let short: String = what.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(100).collect();
    println!("{:<24} {:<32} {worlds:>6} {crashes:>7}  {short}", bug.name(), by.join(", "));
    let meant = match expected(bug) {
        By::Simulator(checks) => by.iter().any(|by| checks.contains(by)),
        By::Model => by == ["model"],
        By::Expiry => by == ["expiry"],
    };
    (!meant).then(|| format!("{} is caught by {by:?}, which is not meant for it: {what}", bug.name()))
}
