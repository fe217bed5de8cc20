//! What a person does about dead claims.

use super::world::*;
use crate::claim::*;

const FREE: &str = r#""order":"none","lease":"10s","attempts_max":1"#;
const IN_ORDER: &str = r#""order":"in_order","lease":"10s","attempts_max":1"#;

#[test]
fn a_retried_claim_has_all_its_attempts_again() {
    check(FREE, "c a1, f a1 1, c a1, retry a1, c a1, d a1 3", "got#1/1 dead dead failed#2/0 got#3/1 done");
    check(
        FREE,
        "c a1, f a1 1, retry a1, retry a1, c a1, retry a1",
        "got#1/1 dead failed#2/0 failed#2/0 got#3/1 NOT_DEAD",
    );
}

#[test]
fn a_retry_or_skip_shuts_the_old_holder_out() {
    check(
        FREE,
        "c a1, +11s, c a1, retry a1, d a1 1, f a1 1, h a1 1",
        "got#1/1 dead failed#2/0 LEASE_LOST LEASE_LOST LEASE_LOST",
    );
    check(
        FREE,
        "c a1, +11s, c a1, skip a1, d a1 1, h a1 1, c a1",
        "got#1/1 dead skipped#2/1 LEASE_LOST LEASE_LOST done",
    );
}

#[test]
fn a_redrive_keeps_the_lanes_order() {
    check(
        IN_ORDER,
        "c a1, f a1 1, c a2, retry a1, c a2, c a1, c a2, d a1 3, c a2",
        "got#1/1 dead wait failed#2/0 wait(1) got#3/1 wait(10001) done got#4/1",
    );
}

#[test]
fn only_the_dead_can_be_retried_or_skipped() {
    check(FREE, "retry a1, skip a1, c a1, retry a1, skip a1", "NOT_CLAIMED NOT_CLAIMED got#1/1 NOT_DEAD NOT_DEAD");
    check(FREE, "c a1, d a1 1, retry a1, skip a1", "got#1/1 done NOT_DEAD NOT_DEAD");
    check(FREE, "c a1, f a1 1, skip a1, skip a1, retry a1", "got#1/1 dead skipped#2/1 skipped#2/1 NOT_DEAD");
}

#[test]
fn a_skip_needs_a_reason() {
    let mut world = World::new(FREE, "");
    tell(&mut world, "c a1, f a1 1", "got#1/1 dead");
    assert_eq!(world.skip(&named("a1"), " "), Err(ClaimFault::ReasonRequired));
    assert_eq!(world.state.dead, 1);
}

#[test]
fn the_number_of_the_dead_follows_what_happens_to_them() {
    fn check(steps: &str, expect: &str, dead: u64) {
        let mut world = World::new(FREE, "");
        tell(&mut world, "c a1", "got#1/1");
        tell(&mut world, steps, expect);
        assert_eq!(world.state.dead, dead, "{steps}");
    }
    check("f a1 1", "dead", 1);
    check("f a1 1, f a1 1", "dead dead", 1);
    check("f a1 1, retry a1", "dead failed#2/0", 0);
    check("f a1 1, skip a1, skip a1", "dead skipped#2/1 skipped#2/1", 0);
    check("+11s, c a1", "dead", 1);
    check("+11s, c a1, c a1", "dead dead", 1);
    check("+11s, c a1, d a1 1", "dead done", 0);
    check("+11s, c a1, h a1 1", "dead lease(10000)", 0);
    check("+11s, c a1, f a1 1", "dead dead", 1);
    check("+11s, c a1, h a1 1, +11s, c a1, retry a1", "dead lease(10000) dead failed#2/0", 0);
}
