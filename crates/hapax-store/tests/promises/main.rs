//! What every store promises: one test for each line of the list at [`hapax_store::seam::Store`], for every store.
//!
//! A further store is plugged in with one line at the end of this file.

/// The stage that requests are played on. This suite uses a part of it.
#[path = "../model"]
#[allow(dead_code, unused_imports)]
mod play {
    pub(crate) mod model;
    pub(crate) mod stage;
}

mod busy;
#[path = "../private/cluster.rs"]
#[allow(dead_code, reason = "shared with tests that need more of it")]
mod cluster;
mod held;
mod suite;
mod world;

/// Holds a store to every promise. The expression makes an empty one.
macro_rules! promises {
    ($store:ident, $open:expr) => {
        mod $store {
            #[test]
            fn a_commit_is_all_or_nothing() {
                super::suite::a_commit_is_all_or_nothing($open);
            }

            #[test]
            fn a_commit_on_a_head_that_has_moved_is_a_conflict_and_writes_nothing() {
                super::suite::a_commit_on_a_head_that_has_moved_is_a_conflict_and_writes_nothing($open);
            }

            #[test]
            fn a_commit_on_any_fact_that_has_changed_is_a_conflict_and_writes_nothing() {
                super::suite::a_commit_on_any_fact_that_has_changed_is_a_conflict_and_writes_nothing($open);
            }

            #[test]
            fn a_turn_whose_contract_or_handler_came_after_it_had_looked_is_taken_again() {
                super::suite::a_turn_whose_contract_or_handler_came_after_it_had_looked_is_taken_again($open);
            }

            #[test]
            fn a_turn_that_met_a_conflict_is_taken_again_with_new_facts() {
                super::suite::a_turn_that_met_a_conflict_is_taken_again_with_new_facts($open);
            }

            #[test]
            fn a_load_sees_every_commit_before_it() {
                super::suite::a_load_sees_every_commit_before_it($open);
            }

            #[test]
            fn a_read_shows_what_was_committed() {
                super::suite::a_read_shows_what_was_committed($open);
            }

            #[test]
            fn nothing_of_one_tenant_is_found_with_the_key_of_another() {
                super::suite::nothing_of_one_tenant_is_found_with_the_key_of_another($open);
            }

            #[test]
            fn a_salt_is_made_once_and_never_changes() {
                super::suite::a_salt_is_made_once_and_never_changes($open);
            }
        }
    };
}

promises!(memory, hapax_store::memory::Memory::new);
promises!(embedded, || {
    use hapax_store::embedded::{Embedded, Options, disk::SimDisk, log::LogId};
    Embedded::open(SimDisk::new(1), Options::default(), LogId([9; 16])).expect("an empty disk").0
});
promises!(embedded_that_flows, || {
    use hapax_store::embedded::{Embedded, Options, disk::SimDisk, log::LogId};
    Embedded::open(SimDisk::new(1), Options::default(), LogId([9; 16])).expect("an empty disk").0.flow()
});
promises!(embedded_and_busy, || {
    use super::busy::{Busy, options};
    Busy::open(&hapax_store::embedded::disk::SimDisk::new(1), options(), 1).expect("an empty disk").0
});
promises!(postgres, || {
    use super::cluster::Cluster;
    use hapax_store::postgres::{Address, Options, Postgres};
    let cluster = Cluster::shared();
    let address = Address::parse(&cluster.url(&cluster.schema())).expect("an address");
    let options = Options { connections_max: 2, own_clock: true, ..Options::default() };
    Postgres::open(&address, options).expect("an empty schema")
});
