//! `hapax demo`: the tour runs, what it shows is what the server says, and it leaves nothing behind.

use crate::program::run;

#[test]
fn the_tour_shows_every_preset_and_ends() {
    let said = run("toured", &[], &["demo", "--fast", "--exit", "--listen", "127.0.0.1:0"], "");
    assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
    let verdict = |what: &str| {
        let line = said.out.lines().find(|line| line.trim_start().starts_with(what));
        line.map(|line| line.trim_start()[what.len()..].split_whitespace().take(2).collect::<Vec<_>>().join(" "))
    };
    for (what, expect) in [
        ("a first event", "accepted"),
        ("the same again: its answer was lost", "duplicate DUPLICATE_EVENT_ID"),
        ("number 5, although 3 was expected", "accepted HAS_GAPS"),
        ("number 3 after all", "rejected SEQUENCE_REGRESSION"),
        ("an old nonce: somebody replays", "rejected DUPLICATE_NONCE"),
        ("a clock that is ten minutes ahead", "rejected TIMESTAMP_FUTURE_BEYOND_TOLERANCE"),
        ("the same with its clock set right", "accepted"),
        ("one of them, out of order", "accepted OUT_OF_ORDER"),
        ("seen three hours ago, sent now", "accepted LATE_ARRIVAL"),
        ("another event with a used number", "rejected SEQUENCE_CONFLICT"),
        ("another writer builds on number 1 too", "rejected SEQUENCE_CONFLICT"),
        ("an update that does not say", "rejected EXPECTED_SEQ_REQUIRED"),
        ("its id with other content", "conflict PAYLOAD_CONFLICT"),
        ("the same ten again", "duplicate DUPLICATE_EVENT_ID"),
        ("the same moment, but twelve", "conflict PAYLOAD_CONFLICT"),
        ("an amount that is none", "rejected AMOUNT_INVALID"),
        ("usage that comes after that", "accepted ADJUSTMENT"),
        ("the same weight in pounds", "duplicate DUPLICATE_EVENT_ID"),
        ("a measurement from before the last one", "rejected TIMESTAMP_REGRESSION"),
        ("the same id from another shop", "accepted"),
    ] {
        assert_eq!(verdict(what).as_deref(), Some(expect), "{what}\n{}", said.out);
    }
    let ledger: Vec<_> = said.out.lines().skip_while(|line| !line.starts_with("STREAM ")).skip(1).collect();
    assert_eq!(ledger.len(), 6, "{ledger:?}");
    let first = said.out.lines().next().unwrap_or_default();
    let store = first.split(" its ledger in ").nth(1).and_then(|rest| rest.split(',').next()).expect("a folder");
    assert!(!std::path::Path::new(store).exists(), "{store} is removed");
}
