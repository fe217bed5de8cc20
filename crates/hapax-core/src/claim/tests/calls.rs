//! One table for each call of a holder.

use super::world::*;
use crate::claim::backoff::delay;
use crate::claim::*;
use crate::duration::Span;

const FREE: &str = r#""order":"none","lease":"10s","attempts_max":2"#;

#[test]
fn the_fence_alone_decides() {
    check(FREE, "c a1, h a1 2, d a1 0, f a1 9", "got#1/1 LEASE_LOST LEASE_LOST LEASE_LOST");
    check(
        FREE,
        "c a1, +11s, c a1, h a1 1, d a1 1, f a1 1, d a1 2",
        "got#1/1 got#2/2 LEASE_LOST LEASE_LOST LEASE_LOST done",
    );
    check(FREE, "h a1 1, d a1 1, f a1 1", "NOT_CLAIMED NOT_CLAIMED NOT_CLAIMED");
}

#[test]
fn fences_grow_over_the_whole_handler() {
    check(FREE, "c a1, c b1, c a2, d b1 2, c c1", "got#1/1 got#2/1 got#3/1 done got#4/1");
}

#[test]
fn a_heartbeat_begins_the_lease_again() {
    check(FREE, "c a1, +9s, h a1 1, +9s, c a1, h a1 1", "got#1/1 lease(10000) busy(1001) lease(10000)");
}

#[test]
fn an_expired_holder_whom_nobody_replaced_may_still_speak() {
    check(FREE, "c a1, +1d, h a1 1, c a1", "got#1/1 lease(10000) busy(10001)");
    check(FREE, "c a1, +1d, d a1 1, c a1", r#"got#1/1 done done={"by":1}"#);
    check(FREE, "c a1, +1d, f a1 1, c a1", "got#1/1 failed(1000) wait(1000)");
}

#[test]
fn being_found_dead_for_a_lease_that_ran_out_does_not_silence_its_holder() {
    let gone = "c a1, +11s, c a1, +11s, c a1";
    let said = "got#1/1 got#2/2 dead";
    check(FREE, &format!("{gone}, d a1 2, c a1"), &format!(r#"{said} done done={{"by":2}}"#));
    check(FREE, &format!("{gone}, h a1 2, c a1"), &format!("{said} lease(10000) busy(10001)"));
    check(FREE, &format!("{gone}, f a1 2, d a1 2"), &format!("{said} dead LEASE_LOST"));
    check(FREE, &format!("{gone}, d a1 1"), &format!("{said} LEASE_LOST"));
}

#[test]
fn done_is_final_and_can_be_said_again() {
    check(FREE, "c a1, d a1 1, d a1 1, D a1 1, c a1", r#"got#1/1 done done done done={"by":1}"#);
    check(FREE, "c a1, d a1 1, h a1 1, f a1 1", "got#1/1 done ALREADY_DONE ALREADY_DONE");
    check(FREE, "c a1, +11s, c a1, d a1 2, d a1 1, h a1 1", "got#1/1 got#2/2 done LEASE_LOST LEASE_LOST");
}

#[test]
fn failed_can_be_said_again_and_nothing_else_after_it() {
    check(
        FREE,
        "c a1, f a1 1, +200ms, f a1 1, d a1 1, h a1 1",
        "got#1/1 failed(1000) failed(800) LEASE_LOST LEASE_LOST",
    );
    check(
        FREE,
        "c a1, f a1 1, +1s, c a1, f a1 2, f a1 2, d a1 2, h a1 2",
        "got#1/1 failed(1000) got#2/2 dead dead LEASE_LOST LEASE_LOST",
    );
}

#[test]
fn a_repeated_call_changes_nothing() {
    let mut world = World::new(FREE, "");
    tell(&mut world, "c a1, f a1 1", "got#1/1 failed(1000)");
    let (state, claims) = (world.state.clone(), world.claims.clone());
    tell(&mut world, "f a1 1, d a1 1, c a1", "failed(1000) LEASE_LOST wait(1000)");
    assert_eq!((world.state, world.claims), (state, claims));
}

#[test]
fn a_backoff_doubles_up_to_five_minutes_and_jitter_only_lengthens_by_a_tenth() {
    fn check(backoff: &str, attempt: u32, jitter: u16, expect: &str) {
        let backoff = Span::parse(backoff).expect("a duration");
        let expect = Span::parse(expect).expect("a duration");
        assert_eq!(delay(backoff, attempt, Jitter::thousandths(jitter)), expect);
    }
    check("1s", 1, 0, "1s");
    check("1s", 2, 0, "2s");
    check("1s", 9, 0, "256s");
    check("1s", 10, 0, "5m");
    check("1s", u32::MAX, 0, "5m");
    check("1s", 1, 100, "1100ms");
    check("1s", 1, 7, "1007ms");
    check("1s", 1, 999, "1100ms");
    check("1s", 99, 100, "330s");
    check("1ms", 1, 100, "1ms");
    check("0s", 5, 100, "0s");
    check("10m", 1, 0, "10m");
    check("10m", 4, 0, "10m");
    check("106751d", 9, 100, "106751d");
}

#[test]
fn a_result_has_at_most_64_kib_and_is_json() {
    let text = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    assert!(ResultText::parse(text(RESULT_BYTES_MAX)).is_ok());
    assert_eq!(ResultText::parse(text(RESULT_BYTES_MAX + 1)), Err(ClaimFault::ResultTooLarge));
    assert_eq!(ResultText::parse("{".to_owned()), Err(ClaimFault::ResultNotJson));
}

#[test]
fn a_long_error_is_cut_at_a_whole_character() {
    let cut = crate::claim::calls::cut(&"é".repeat(5_000));
    assert_eq!(cut.len(), 4_096);
    assert_eq!(crate::claim::calls::cut(&format!("x{}", "é".repeat(5_000))).len(), 4_095);
}
