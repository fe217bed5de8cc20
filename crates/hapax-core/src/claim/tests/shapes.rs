//! Declarations, shapes on the wire, and the ranges.

use proptest::prelude::*;
use std::collections::BTreeSet;

use crate::claim::*;
use crate::time::Time;

#[test]
fn every_key_of_a_declaration_has_a_default() {
    let handler: Handler = serde_json::from_str("{}").expect("a declaration");
    assert_eq!(handler, Handler::new(""));
    let short: Handler = serde_json::from_str(r#"{"name":"h","lease":"9s"}"#).expect("a declaration");
    assert_eq!((short.heartbeat.to_string(), short.problems()), ("3s".to_owned(), vec![]));
    assert!(serde_json::from_str::<Handler>(r#"{"leese":"9s"}"#).is_err());
    assert!(serde_json::from_str::<Handler>(r#"{"order":"sorted"}"#).is_err());
    let wire = serde_json::to_string(&Handler::new("h")).expect("JSON");
    assert_eq!(
        wire,
        r#"{"name":"h","order":"none","effect":"at_least_once","lease":"15m","heartbeat":"30s","attempts_max":5,"backoff":"1s"}"#
    );
}

#[test]
fn every_problem_of_a_declaration_is_named() {
    fn check(settings: &str, expect: &str) {
        let handler: Handler = serde_json::from_str(settings).expect("a declaration");
        let keys: Vec<&str> = handler.problems().iter().map(|problem| problem.key).collect();
        assert_eq!(keys.join(" "), expect, "{settings}");
    }
    check(r#"{"name":"h"}"#, "");
    check(r#"{}"#, "name");
    check(r#"{"name":"-h"}"#, "name");
    check(r#"{"name":"h/1"}"#, "name");
    check(r#"{"name":"h","stream":""}"#, "stream");
    check(r#"{"name":"h","attempts_max":0}"#, "attempts_max");
    check(r#"{"name":"h","lease":"0s"}"#, "lease heartbeat");
    check(r#"{"name":"h","lease":"10s","heartbeat":"10s"}"#, "heartbeat");
    check(r#"{"name":"h","heartbeat":"0s"}"#, "heartbeat");
    check(r#"{"name":"?","attempts_max":0,"lease":"1s","heartbeat":"2s"}"#, "name attempts_max heartbeat");
}

#[test]
fn a_guarantee_says_first_whether_effects_are_exactly_once() {
    for effect in [Effect::Transactional, Effect::IdempotentTarget, Effect::Fenced, Effect::AtLeastOnce] {
        let handler = Handler { effect, ..Handler::new("h") };
        assert_eq!(handler.guarantee().starts_with("Exactly-once effects"), effect.is_exactly_once());
        assert_eq!(handler.guarantee().starts_with("Not exactly once"), !effect.is_exactly_once());
    }
}

#[test]
fn answers_have_the_shapes_of_the_specification() {
    fn check(answer: impl serde::Serialize, expect: &str) {
        assert_eq!(serde_json::to_string(&answer).expect("JSON"), expect);
    }
    let at = Time::from_nanos(1_500_000_000);
    let result = ResultText::parse(r#"{"wrote": 1.0}"#.to_owned()).ok();
    check(Decision::Done { result: result.clone() }, r#"{"decision":"done","result":{"wrote": 1.0}}"#);
    check(Decision::Done { result: None }, r#"{"decision":"done"}"#);
    check(Decision::Dead, r#"{"decision":"dead"}"#);
    check(Decision::Stale, r#"{"decision":"stale"}"#);
    check(Decision::InProgress { retry_after_ms: 5 }, r#"{"decision":"in_progress","retry_after_ms":5}"#);
    check(Decision::Waiting { retry_after_ms: Some(5) }, r#"{"decision":"waiting","retry_after_ms":5}"#);
    check(Decision::Waiting { retry_after_ms: None }, r#"{"decision":"waiting"}"#);
    check(
        Decision::Claimed { fence: Fence(7), attempt: 2, lease_until: at },
        r#"{"decision":"claimed","fence":7,"attempt":2,"lease_until":"1970-01-01T00:00:01.5Z"}"#,
    );
    check(Status::Claimed { lease_until: at }, r#"{"status":"claimed","lease_until":"1970-01-01T00:00:01.5Z"}"#);
    check(Status::Done, r#"{"status":"done"}"#);
    check(Status::Failed { next_attempt_at: at }, r#"{"status":"failed","next_attempt_at":"1970-01-01T00:00:01.5Z"}"#);
    check(Status::Dead, r#"{"status":"dead"}"#);
    let claim = Claim {
        work: super::world::named("a1"),
        owner: None,
        fence: Fence(7),
        attempt: 5,
        state: ClaimState::Dead { error: "boom".to_owned(), expired: false },
    };
    let place = r#""event_id":"a1","lane":"a","epoch":0,"seq":1,"owner":null,"fence":7,"attempt":5"#;
    check(&claim, &format!(r#"{{{place},"state":"dead","error":"boom"}}"#));
    check(
        Claim { state: ClaimState::Done { result }, ..claim },
        &format!(r#"{{{place},"state":"done","result":{{"wrote": 1.0}}}}"#),
    );
}

proptest! {
    #[test]
    fn ranges_are_a_set_of_ordinals(ordinals in prop::collection::vec(1u64..60, 0..80)) {
        let mut ranges = Ranges::default();
        let mut set = BTreeSet::new();
        for ordinal in ordinals {
            ranges.insert(ordinal);
            set.insert(ordinal);
            prop_assert_eq!(ranges.count(), set.len() as u64);
            prop_assert!((1..70).all(|n| ranges.contains(n) == set.contains(&n)));
            let low = (1..).take_while(|n| set.contains(n)).last().unwrap_or(0);
            prop_assert_eq!(ranges.low_water(), low);
            let islands: Vec<(u64, u64)> = ranges.islands().collect();
            prop_assert!(islands.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0));
            prop_assert!(islands.first().is_none_or(|(first, _)| *first > low + 1));
            prop_assert_eq!(&Ranges::new(low, islands.into_iter().rev()), &ranges);
        }
    }

    #[test]
    fn ranges_take_any_ordinal(low: u64, pairs in prop::collection::vec(any::<(u64, u64)>(), 0..8), ordinal: u64) {
        let mut ranges = Ranges::new(low, pairs);
        ranges.insert(ordinal);
        ranges.insert(u64::MAX);
        prop_assert!(ranges.contains(ordinal) && ranges.contains(u64::MAX));
    }
}
