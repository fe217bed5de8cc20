//! The promises. Each takes a way to open an empty store.

use std::sync::Arc;

use hapax_core::claim::Handler;
use hapax_core::event::{Identity, NonceKey};
use hapax_core::period::Period;
use hapax_core::time::Time;
use hapax_store::seam::{AttemptFilter, Read, Store, StoreError, Write};
use hapax_store::turn::{Ask, turn};
use serde_json::{Value, json};

use super::held::{Early, Overtaken, held};
use super::world::*;

/// Promise 1. One stale head among several makes the whole write fail: other streams, handlers, claims, requests.
pub(crate) fn a_commit_is_all_or_nothing<S: Store>(open: impl Fn() -> S) {
    for moved in ["one", "two"] {
        let mut store = open();
        found(&mut store, "t");
        take(&mut store, vec![submit(&stream("t", "one"), &[event(1)])]);
        let other = Handler::new("other");
        let other_key = hapax_store::seam::HandlerKey { handler: Arc::from("other"), ..handler("t") };
        let mut write = held(
            &mut store,
            vec![
                keyed("t", submit(&stream("t", "one"), &[event(2)])),
                submit(&stream("t", "two"), &[event(1), json!({})]),
                claim("t", "e1"),
                request(Ask::PutHandler { key: other_key.clone(), handler: Box::new(other) }),
            ],
        );
        write.tenants.push((Arc::from("new"), [9; 32]));
        take(&mut store, vec![submit(&stream("t", moved), &[event(7)])]);
        let before = snapshot(&mut store, "t");
        assert_eq!(store.commit(write), Err(StoreError::Conflict));
        assert_eq!(snapshot(&mut store, "t"), before);
        assert!(store.reader().handler(&other_key).expect("a read").is_none());
        assert_eq!(store.reader().salt("new"), Ok(None));
    }
}

/// Promise 2. A turn has loaded a head, and another moves it: the first rests on old facts.
pub(crate) fn a_commit_on_a_head_that_has_moved_is_a_conflict_and_writes_nothing<S: Store>(open: impl Fn() -> S) {
    let one = stream("t", "one");
    // An accepted event moves the head, and so does an attempt that was refused.
    for first in [event(1), json!({ "lane": "a" })] {
        for second in [event(2), json!({ "lane": "b" })] {
            let mut store = open();
            found(&mut store, "t");
            let late = held(&mut store, vec![submit(&one, std::slice::from_ref(&second))]);
            let head = store.reader().head(&one).expect("a head");
            take(&mut store, vec![submit(&one, std::slice::from_ref(&first))]);
            assert_ne!(store.reader().head(&one).expect("a head"), head);
            let before = snapshot(&mut store, "t");
            assert_eq!(store.commit(late), Err(StoreError::Conflict));
            assert_eq!(snapshot(&mut store, "t"), before);
        }
    }
}

/// Promise 2, for what has no head: two servers give out the same claim, answer the same request, change the same key or
/// declare the same handler. Only the first to commit does. The other had loaded what it needs before that.
pub(crate) fn a_commit_on_any_fact_that_has_changed_is_a_conflict_and_writes_nothing<S: Store>(open: impl Fn() -> S) {
    let declare = || {
        let key = hapax_store::seam::HandlerKey { handler: Arc::from("other"), ..handler("t") };
        request(Ask::PutHandler { key, handler: Box::new(Handler::new("other")) })
    };
    let asked: [fn() -> hapax_store::turn::Request; 3] =
        [|| claim("t", "e1"), || done("t", "e1", 1), || keyed("t", claim("t", "e1"))];
    for (index, ask) in asked.into_iter().chain([declare as fn() -> _]).enumerate() {
        let mut store = open();
        found(&mut store, "t");
        take(&mut store, vec![submit(&stream("t", "one"), &[event(1)])]);
        if index == 1 {
            take(&mut store, vec![claim("t", "e1")]);
        }
        let late = held(&mut store, vec![ask()]);
        take(&mut store, vec![ask()]);
        let before = snapshot(&mut store, "t");
        assert_eq!(store.commit(late), Err(StoreError::Conflict), "request {index}");
        assert_eq!(snapshot(&mut store, "t"), before);
    }
}

/// What a turn asks for depends on contracts and handlers. One that comes between the asking and the loading must not
/// leave an event without a verdict, or give out a claim that is held.
pub(crate) fn a_turn_whose_contract_or_handler_came_after_it_had_looked_is_taken_again<S: Store>(open: impl Fn() -> S) {
    let late = stream("t", "late");
    let mut store = open();
    found(&mut store, "t");
    let mut requests = vec![submit(&late, &[event(1)])];
    let mut early = Early { store: &mut store, meanwhile: vec![put(&late)] };
    let answers = turn(&mut early, &mut requests).expect("a turn");
    let body: Value = serde_json::from_slice(&answers[0].body).expect("JSON");
    assert_eq!(body["results"][0]["verdict"], "accepted", "{body}");

    let mut store = open();
    store.tenant(&Arc::from("t"), [7; 32]).expect("a tenant");
    let bare = || request(Ask::PutHandler { key: handler("t"), handler: Box::new(Handler::new("h")) });
    let mut requests = vec![claim("t", "e1")];
    let mut early = Early { store: &mut store, meanwhile: vec![bare(), claim("t", "e1")] };
    let answers = turn(&mut early, &mut requests).expect("a turn");
    let body: Value = serde_json::from_slice(&answers[0].body).expect("JSON");
    assert_eq!(body["decision"], "in_progress", "{body}");
}

/// What promise 2 is for: the same event, sent to two servers at once, is accepted once.
pub(crate) fn a_turn_that_met_a_conflict_is_taken_again_with_new_facts<S: Store>(open: impl Fn() -> S) {
    let one = stream("t", "one");
    let mut store = open();
    found(&mut store, "t");
    let meanwhile = vec![submit(&one, &[event(1)])];
    let mut requests = vec![submit(&one, &[event(1)])];
    let mut overtaken = Overtaken { store: &mut store, meanwhile, commits: Vec::new() };
    let answers = turn(&mut overtaken, &mut requests).expect("a turn");
    // That it is a duplicate is written down too, as an attempt.
    assert_eq!(overtaken.commits, [Err(StoreError::Conflict), Ok(())]);
    let body: Value = serde_json::from_slice(&answers[0].body).expect("JSON");
    assert_eq!(body["results"][0]["verdict"], "duplicate", "{body}");
    assert_eq!(store.reader().head(&one).expect("a head").offset, 1);
}

/// Promise 3, kind by kind.
pub(crate) fn a_load_sees_every_commit_before_it<S: Store>(open: impl Fn() -> S) {
    let mut store = open();
    fill(&mut store, "t");
    let loaded = load(&mut store, "t");
    let stream = &loaded.streams[&stream("t", "one")];
    let facts = &stream.facts;
    assert_eq!(stream.versions.len(), 1);
    assert_eq!(facts.head, store.reader().head(&super::world::stream("t", "one")).expect("a head"));
    // Three events, a correction and two closings; a conflict is an attempt alone.
    assert_eq!((facts.head.offset, facts.head.events), (6, 3));
    for (id, offset) in [("e1", Some(1)), ("e4", Some(2)), ("e5", Some(3)), ("nobody", None)] {
        assert_eq!(facts.original(&Identity::of(None, id)).map(|entry| entry.offset), offset, "{id}");
    }
    let (lane, gaps) = facts.lane("a");
    let rows: Vec<_> = gaps.iter().map(|gap| (gap.from, gap.to, gap.kind.name())).collect();
    assert_eq!((lane.highest, lane.events, rows), (Some(5), 3, vec![(2, 2, "acknowledged"), (3, 3, "open")]));
    assert_eq!(facts.nonce(&NonceKey::of("a", "n1")), Some(Time::from_nanos(NOW_NS)));
    assert_eq!(facts.nonce(&NonceKey::of("a", "never")), None);
    let counter = facts.counter(&usage());
    assert_eq!((counter.folded.count, counter.adjusted.count), (2, 1));
    assert_eq!(counter.corrected.to_string(), "-1");
    assert!(!facts.is_closed(&usage()));
    let december =
        hapax_core::counter::CounterKey { period: Period::Month.parse("2025-12").expect("a period"), ..usage() };
    assert!(facts.is_closed(&december));

    let (declared, state) = &loaded.handlers[&handler("t")];
    assert_eq!(
        (declared.stream.as_deref(), state.clone()),
        (Some("one"), store.reader().handler(&handler("t")).expect("a read").expect("a handler").1)
    );
    assert_eq!(loaded.claims.len(), 2);
    assert_ne!(
        format!("{:?}", loaded.claims[&(handler("t"), Identity::of(None, "e1"))]),
        format!("{:?}", loaded.claims[&(handler("t"), Identity::of(None, "e4"))])
    );
    let record = &loaded.requests[&request_key("t")];
    assert_eq!((record.fingerprint, record.status), ([1; 32], 200));

    // And what is judged next stands on all of it.
    let answers = take(&mut store, vec![submit(&super::world::stream("t", "one"), &[event(1), event(3)])]);
    let body: Value = serde_json::from_slice(&answers[0].body).expect("JSON");
    assert_eq!(body["results"][0]["verdict"], "duplicate");
    assert_eq!(body["results"][1]["marks"], json!(["OUT_OF_ORDER"]));
}

/// Promise 3, for those who read outside a turn.
pub(crate) fn a_read_shows_what_was_committed<S: Store>(open: impl Fn() -> S) {
    let mut store = open();
    fill(&mut store, "t");
    let one = stream("t", "one");
    let offsets = |after, limit| -> Vec<u64> {
        store.reader().entries(&one, after, limit).expect("entries").iter().map(|entry| entry.offset).collect()
    };
    assert_eq!(offsets(0, 100), [1, 2, 3, 4, 5, 6]);
    assert_eq!(offsets(2, 2), [3, 4]);
    assert!(offsets(6, 100).is_empty() && offsets(u64::MAX, 1).is_empty() && offsets(0, 0).is_empty());
    let by_id = store.reader().entries_with_id(&one, "e4").expect("entries");
    assert_eq!(by_id.iter().map(|entry| entry.offset).collect::<Vec<_>>(), [2]);
    assert!(
        store.reader().entries_with_id(&one, "c1").expect("entries").is_empty(),
        "a correction's id is none of an event"
    );
    let entry = store.reader().entry(&one, &Identity::of(None, "e4")).expect("a read").expect("an entry");
    assert_eq!((entry.offset, &*entry.document), (2, serde_json::to_vec(&event(4)).expect("bytes").as_slice()));
    let attempts = |filter: AttemptFilter| -> Vec<&'static str> {
        let found = store.reader().attempts(&one, &filter, 0, usize::MAX).expect("attempts").items;
        found.iter().map(|attempt| attempt.verdict().name()).collect()
    };
    assert_eq!(attempts(AttemptFilter::default()), ["accepted", "accepted", "conflict", "accepted"]);
    let of_id = AttemptFilter { id: Some("e1".to_string()), ..AttemptFilter::default() };
    assert_eq!(attempts(of_id), ["accepted", "conflict"]);
    let of_code = AttemptFilter { code: Some("PAYLOAD_CONFLICT".to_string()), ..AttemptFilter::default() };
    assert_eq!(attempts(of_code), ["conflict"]);
    let record = store.reader().counter(&one, &usage()).expect("a counter");
    let reasons: Vec<&str> = record.adjustments.iter().map(|adjustment| &*adjustment.reason).collect();
    assert_eq!((reasons, record.closed), (vec!["late_beyond_window", "a test"], false));
    let closed: Vec<bool> = store
        .reader()
        .counters(&one, &Default::default(), None, usize::MAX)
        .expect("counters")
        .items
        .iter()
        .map(|(_, record)| record.closed)
        .collect();
    assert_eq!(closed, [false, true]);
    assert!(store.reader().lane(&one, "nobody").expect("a read").is_none());
    let lane = store.reader().lane(&one, "a").expect("a read").expect("a lane");
    assert_eq!(lane.lane.last_offset, 3);
}

/// Promise 4. Everything has the same name in two tenants; only one of them has written.
pub(crate) fn nothing_of_one_tenant_is_found_with_the_key_of_another<S: Store>(open: impl Fn() -> S) {
    let mut store = open();
    let nothing = snapshot(&mut store, "other");
    fill(&mut store, "t");
    assert_eq!(snapshot(&mut store, "other"), nothing);
    assert_eq!(store.reader().salt("other").expect("a read"), None);

    found(&mut store, "other");
    let empty = snapshot(&mut store, "other");
    let full = snapshot(&mut store, "t");
    // The same ids, numbers, nonces and keys are new to the other tenant.
    let answers = take(&mut store, vec![keyed("other", submit(&stream("other", "one"), &[event(1)]))]);
    let body: Value = serde_json::from_slice(&answers[0].body).expect("JSON");
    assert_eq!((&body["results"][0]["verdict"], answers[0].replayed), (&json!("accepted"), false));
    assert_ne!(snapshot(&mut store, "other"), empty);
    assert_eq!(snapshot(&mut store, "t"), full);
}

/// Promise 5.
pub(crate) fn a_salt_is_made_once_and_never_changes<S: Store>(open: impl Fn() -> S) {
    let mut store = open();
    let (one, other): (Arc<str>, Arc<str>) = (Arc::from("one"), Arc::from("other"));
    assert_eq!(store.tenant(&one, [1; 32]), Ok([1; 32]));
    assert_eq!(store.tenant(&other, [2; 32]), Ok([2; 32]));
    assert_eq!(store.tenant(&one, [3; 32]), Ok([1; 32]));
    assert_eq!((store.reader().salt("one"), store.reader().salt("other")), (Ok(Some([1; 32])), Ok(Some([2; 32]))));
    assert_eq!(store.reader().salt("nobody"), Ok(None));
    // A tenant may also come with a write, and then too the first salt stays.
    let tenants = vec![(Arc::clone(&one), [4; 32]), (Arc::from("third"), [5; 32])];
    assert_eq!(store.commit(Write { tenants, ..Write::default() }), Ok(()));
    assert_eq!((store.reader().salt("one"), store.reader().salt("third")), (Ok(Some([1; 32])), Ok(Some([5; 32]))));
}
