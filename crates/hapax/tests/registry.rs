//! The acceptance list of a registry of effects, with a real process for every role.
//!
//! The server is the program itself. Publishers, workers, projections and claimants are this binary, started again with a
//! part to play. Whoever is to crash kills itself with SIGKILL at the agreed place; whoever is to hang is stopped with
//! SIGSTOP. What they act on are files that promise as much as such a target does (`target`), and no more. `docs/registry.md`
//! has the list, point by point, with the names of the tests.
//!
//! `HAPAX_REGISTRY_ROUNDS` repeats every test so often, with other orders of arrival each time (1 if it is not set).

#[path = "registry/actor.rs"]
mod actor;
#[path = "registry/afterwards.rs"]
mod afterwards;
#[path = "registry/aggregates.rs"]
mod aggregates;
#[path = "registry/at_once.rs"]
mod at_once;
#[path = "registry/out_of_order.rs"]
mod out_of_order;
#[path = "registry/outage.rs"]
mod outage;
#[path = "registry/part.rs"]
mod part;
#[path = "registry/projection.rs"]
mod projection;
#[path = "registry/projections.rs"]
mod projections;
#[path = "registry/published.rs"]
mod published;
#[path = "registry/publisher.rs"]
mod publisher;
#[path = "registry/target.rs"]
mod target;
#[path = "registry/worker.rs"]
mod worker;
#[path = "registry/workers.rs"]
mod workers;
#[path = "registry/world.rs"]
mod world;

/// What a process runs that was given a part; it does not come back from it. The run of all tests gives it none, and then
/// there must be nothing to play: a part that is misread would be a test without a role in it.
#[test]
fn a_process_plays_the_part_that_it_is_given_and_no_other() {
    if let Ok(text) = std::env::var(part::PART) {
        part::play(&text);
    }
    assert!(part::Part::read("{\"role\": \"understudy\"}").is_err());
}
