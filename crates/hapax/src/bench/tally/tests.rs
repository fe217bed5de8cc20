use super::super::clock::now;
use super::*;

/// An answer to two events: a new one and a repeat of it.
fn answered(answer: Result<&str, &str>) -> Answered {
    Answered {
        events: vec![("a".to_owned(), true), ("a".to_owned(), false)],
        bytes: 500_000,
        answer: answer.map(|body| body.as_bytes().to_vec()).map_err(str::to_owned),
        took: Duration::from_millis(10),
        at: now(),
    }
}

fn tally(answers: &[Result<&str, &str>]) -> Tally {
    let mut tally = Tally::default();
    answers.iter().for_each(|answer| tally.add(&answered(*answer)));
    tally.sent(Sent { seconds: 0.5, retries: 0 });
    tally
}

const RIGHT: Result<&str, &str> =
    Ok(r#"{"results":[{"verdict":"accepted","id":"a"},{"verdict":"duplicate","id":"a","code":"DUPLICATE_EVENT_ID"}]}"#);

#[test]
fn two_events_with_their_verdicts_hold_and_are_two_in_half_a_second() {
    let mut tally = tally(&[RIGHT]);
    tally.compare_entries(1);
    assert!(tally.holds());
    let figures: BTreeMap<_, _> = tally.figures().into();
    assert_eq!([figures["events_per_second"], figures["megabytes_per_second"], figures["p99_ms"]], [4.0, 1.0, 10.0]);
}

#[test]
fn whatever_is_not_as_it_must_be_is_found() {
    for (answer, finding) in [
        (Ok(r#"{"results":[{"verdict":"accepted","id":"a"}]}"#), "1 receipts for 2 events"),
        (
            Ok(r#"{"results":[{"verdict":"accepted","id":"a"},{"verdict":"accepted","id":"a"}]}"#),
            "a is accepted and should be duplicate: ",
        ),
        (
            Ok(
                r#"{"results":[{"verdict":"rejected","code":"X","message":"No.","id":"a"},{"verdict":"duplicate","id":"a"}]}"#,
            ),
            "a is rejected and should be accepted: X: No.",
        ),
        (
            Ok(r#"{"results":[{"verdict":"accepted","id":"b"},{"verdict":"duplicate","id":"a"}]}"#),
            "the receipt of a is for Some(\"b\")",
        ),
    ] {
        let tally = tally(&[RIGHT, answer]);
        assert_eq!(tally.wrongs, [finding]);
        assert!(!tally.holds());
    }
    assert!(tally(&[Ok("{}")]).wrongs[0].starts_with("an answer that cannot be read: "));
    assert!(!tally(&[RIGHT, Err("cannot reach it")]).holds());
    assert!(!tally(&[]).holds(), "nothing proves nothing");
}

#[test]
fn a_ledger_with_more_or_fewer_entries_than_new_events_is_found() {
    for entries in [0, 2] {
        let mut tally = tally(&[RIGHT]);
        tally.compare_entries(entries);
        assert_eq!(tally.wrongs, [format!("the ledger has {entries} entries for 1 new events")]);
    }
}

#[test]
fn percentiles_are_values_that_were_measured() {
    let took: Vec<_> = (1..=2000).map(Duration::from_millis).collect();
    let found = [0.5, 0.99, 0.999, 1.0].map(|share| percentile(&took, share).as_millis());
    assert_eq!(found, [1000, 1980, 1998, 2000]);
    assert_eq!(percentile(&took[..1], 0.5), took[0]);
    assert_eq!(percentile(&[], 0.5), Duration::ZERO);
}
