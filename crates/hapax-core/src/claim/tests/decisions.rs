//! One table for each row of the decisions, then their order, then the places.

use super::world::*;
use crate::claim::*;

const FREE: &str = r#""order":"none","lease":"10s","attempts_max":2"#;
const LATEST: &str = r#""order":"latest_only","lease":"10s","attempts_max":2"#;
const IN_ORDER: &str = r#""order":"in_order","lease":"10s","attempts_max":2"#;

#[test]
fn what_is_done_is_done_and_brings_its_result() {
    check(FREE, "c a1, d a1 1, c a1, +1d, c a1", r#"got#1/1 done done={"by":1} done={"by":1}"#);
    check(FREE, "c a1, D a1 1, c a1", "got#1/1 done done");
}

#[test]
fn what_was_given_up_is_dead() {
    check(FREE, "c a1, f a1 1, +1s, c a1, f a1 2, +1d, c a1", "got#1/1 failed(1000) got#2/2 dead dead");
}

#[test]
fn a_lease_that_ran_out_is_an_attempt_used() {
    check(FREE, "c a1, +11s, c a1, +11s, c a1, +1d, c a1", "got#1/1 got#2/2 dead dead");
    check(FREE, "c a1, +11s, c a1, f a1 2, c a1", "got#1/1 got#2/2 dead dead");
}

#[test]
fn a_number_at_or_below_the_highest_done_is_stale() {
    check(LATEST, "c a2, d a2 1, c a1, c a2', c a3, c b1", "got#1/1 done stale stale got#2/1 got#3/1");
    check(LATEST, "c a9, d a9 1, c a1:1, d a1:1 2, c a10, c a2:1", "got#1/1 done got#2/1 done stale got#3/1");
}

#[test]
fn a_held_event_is_in_progress_up_to_and_including_its_last_instant() {
    check(FREE, "c a1, c a1, +4s, c a1", "got#1/1 busy(10001) busy(6001)");
    check(FREE, "c a1, +10s, c a1, +1ms, c a1", "got#1/1 busy(1) got#2/2");
}

#[test]
fn in_order_waits_for_every_earlier_event() {
    check(IN_ORDER, "c a2, c a1, c a2, d a1 1, c a3, c a2", "wait got#1/1 wait(10001) done wait got#2/1");
    check(IN_ORDER, "c a1, c b1, c b2, c x0", "got#1/1 got#2/1 wait(10001) PLACE_PASSED");
}

#[test]
fn in_order_a_failed_or_dead_event_holds_its_lane_and_a_skip_lets_it_go() {
    check(
        IN_ORDER,
        "c a1, f a1 1, c a2, +1s, c a1, f a1 2, c a2, +1d, c a2, c a1, skip a1, c a1, c a2",
        "got#1/1 failed(1000) wait(1001) got#2/2 dead wait wait dead skipped#3/2 done got#4/1",
    );
}

#[test]
fn in_order_an_expired_holder_holds_its_lane_too() {
    check(IN_ORDER, "c a1, +1d, c a2, c a1, d a1 2, c a2", "got#1/1 wait got#2/2 done got#3/1");
}

#[test]
fn latest_only_a_lower_number_that_is_held_goes_first() {
    check(LATEST, "c a1, c a2, +10s, c a2, +1ms, c a2", "got#1/1 busy(10001) busy(1) got#2/1");
    check(LATEST, "c a1, f a1 1, c a2, c a1", "got#1/1 failed(1000) got#2/1 wait(1000)");
    check(LATEST, "c a2, c a1, c a3", "got#1/1 got#2/1 busy(10001)");
    check(LATEST, "c a1, c a1', d a1 1, c a1'", "got#1/1 busy(10001) done stale");
}

#[test]
fn a_failed_event_waits_until_its_backoff_is_over() {
    check(FREE, "c a1, f a1 1, c a1, +999ms, c a1, +1ms, c a1", "got#1/1 failed(1000) wait(1000) wait(1) got#2/2");
}

#[test]
fn the_first_row_that_applies_decides() {
    // Dead before stale, though a higher number is done.
    check(LATEST, "c a1, +11s, c a1, +11s, c a2, d a2 3, c a1", "got#1/1 got#2/2 got#3/1 done dead");
    // Stale before in_progress: the lower one is still held.
    check(LATEST, "c a2, c a1, d a2 1, c a1, c a3", "got#1/1 got#2/1 done stale busy(10001)");
    // Stale before waiting for the backoff.
    check(LATEST, "c a1, f a1 1, c a2, d a2 2, c a1", "got#1/1 failed(1000) got#2/1 done stale");
}

#[test]
fn the_owner_never_matters() {
    let mut world = World::new(FREE, "");
    let work = named("a1");
    assert!(matches!(world.claim(&work), Ok(Decision::Claimed { .. })));
    // The world claims as the same owner every time.
    assert!(matches!(world.claim(&work), Ok(Decision::InProgress { .. })));
}

#[test]
fn a_bare_ordered_registry_needs_lane_and_seq() {
    fn check(settings: &str, lane: Option<&str>, seq: Option<u64>, expect: Result<(), ClaimFault>) {
        let work = Work { lane: lane.map(str::to_owned), seq, ..named("a1") };
        assert_eq!(World::new(settings, "").claim(&work).map(|_| ()), expect);
    }
    check(FREE, None, None, Ok(()));
    check(LATEST, None, Some(1), Err(ClaimFault::LaneRequired));
    check(LATEST, Some("a"), None, Err(ClaimFault::SeqRequired));
    check(IN_ORDER, None, None, Err(ClaimFault::LaneRequired));
    check(IN_ORDER, Some("a"), Some(1), Ok(()));
}

#[test]
fn a_bare_registry_holds_callers_to_their_word() {
    let mut world = World::new(IN_ORDER, "");
    tell(&mut world, "c a1, c a1', d a1 1, c a1'", "got#1/1 PLACE_TAKEN done PLACE_PASSED");
    tell(&mut world, "c a2", "got#2/1");
    let moved = Work { event_id: "a2".to_owned(), ..named("a3") };
    assert_eq!(world.claim(&moved), Err(ClaimFault::PlaceDiffers));
    let elsewhere = Work { event_id: "a2".to_owned(), ..named("b1") };
    assert_eq!(world.claim(&elsewhere), Err(ClaimFault::PlaceDiffers));
    // A done event is done whatever is said about its place, and moves no lane but its own.
    let done_elsewhere = Work { event_id: "a1".to_owned(), ..named("b1") };
    assert!(matches!(world.claim(&done_elsewhere), Ok(Decision::Done { .. })));
    tell(&mut world, "c b2, c b1", "wait got#3/1");
}

#[test]
fn a_higher_epoch_begins_with_1_when_nothing_undone_is_known() {
    check(
        IN_ORDER,
        "c a1, c a1:1, d a1 1, c a2:1, c a1:1, c a2, d a1:1 2, c a2, c a2:1",
        "got#1/1 wait(10001) done wait got#2/1 wait(10001) done PLACE_PASSED got#3/1",
    );
    check(IN_ORDER, "c a1:7, d a1:7 1, c a2:7", "got#1/1 done got#2/1");
    // Failed and dead ones are undone too.
    check(
        IN_ORDER,
        "c a1, f a1 1, c a1:1, +1s, c a1, f a1 2, c a1:1, skip a1, c a1:1",
        "got#1/1 failed(1000) wait(1001) got#2/2 dead wait skipped#3/2 got#4/1",
    );
}

#[test]
fn in_a_ledger_order_is_the_lanes_order_whatever_the_numbers_say() {
    let stream = "a7 b1 a3 a4:2";
    check_stream(
        IN_ORDER,
        stream,
        "c a3, c a7, d a7 1, c a3, c a4:2, D a3 2, c a4:2",
        "wait got#1/1 done got#2/1 wait(10001) done got#3/1",
    );
}

#[test]
fn in_a_ledger_without_numbers_the_offset_ranks() {
    check_stream(LATEST, "a a' a''", "c a', d a' 1, c a, c a''", "got#1/1 done stale got#2/1");
}

#[test]
fn below_the_low_water_mark_everything_is_done_without_a_record() {
    let mut world = World::new(&format!(r#"{FREE},"stream":"s""#), "a1 a2 a3");
    tell(&mut world, "c a1, D a1 1, c a3, D a3 2, drop", "got#1/1 done got#2/1 done");
    assert_eq!(world.claims.keys().collect::<Vec<_>>(), ["a3"]);
    assert_eq!((world.state.passed.low_water(), world.state.lag(3)), (1, 1));
    tell(
        &mut world,
        "c a1, c a2, D a2 3, drop, c a2, d a2 3, h a2 3, f a2 3",
        "done got#3/1 done done done ALREADY_DONE ALREADY_DONE",
    );
    assert_eq!((world.claims.len(), world.state.lag(3)), (0, 0));
}

#[test]
fn stale_and_skipped_events_count_as_passed() {
    let mut world = World::new(&format!(r#"{LATEST},"stream":"s""#), "a1 a2 b1");
    tell(&mut world, "c a2, d a2 1, c a1", "got#1/1 done stale");
    assert_eq!((world.state.lag(3), world.state.passed.low_water()), (1, 2));
    // The mark does not tell why it passed; for a worker both words mean the same.
    tell(&mut world, "c a1", "done");
    tell(&mut world, "c b1, f b1 2, +1s, c b1, f b1 3, skip b1", "got#2/1 failed(1000) got#3/2 dead skipped#4/2");
    assert_eq!((world.state.lag(3), world.state.dead), (0, 0));
}

#[test]
fn a_handler_that_becomes_in_order_catches_up_with_what_was_done() {
    let mut world = World::new(&format!(r#"{FREE},"stream":"s""#), "a1 a2 a3");
    tell(&mut world, "c a1, d a1 1, c a2", "got#1/1 done got#2/1");
    world.handler.order = Order::InOrder;
    tell(&mut world, "c a3, d a2 2, c a3", "wait done wait");
    tell(&mut world, "c a1, c a2, c a3", r#"done={"by":1} done={"by":2} got#3/1"#);
}

#[test]
fn a_lane_takes_only_so_many_holders() {
    let mut world = World::new(LATEST, "");
    for seq in (1..=HELD_MAX as u64 + 1).rev() {
        let full = seq == 1;
        let decision = world.claim(&named(&format!("a{seq}")));
        assert_eq!(matches!(decision, Ok(Decision::InProgress { .. })), full, "{seq}");
    }
    tell(&mut world, "+11s, c a1", &format!("got#{}/1", HELD_MAX + 1));
    assert_eq!(world.lanes["a"].held.len(), 1);
}

#[test]
fn the_story_of_s2_holds() {
    let settings = r#""order":"latest_only","effect":"idempotent_target","lease":"900s","attempts_max":5"#;
    let steps = "c a1, c a1, c a2, +900001ms, c a1, d a1 1, d a1 2, c a1";
    let expect = r#"got#1/1 busy(900001) busy(900001) got#2/2 LEASE_LOST done done={"by":2}"#;
    check(settings, steps, expect);
    check_stream(settings, "a1 a2", steps, expect);
}
