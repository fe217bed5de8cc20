//! Differences that random worlds once found, as small as they can be.

use hapax_core::explain::{explain_attempt, explain_entry};
use hapax_core::view::AttemptView;
use hapax_store::memory::Memory;
use hapax_store::seam::{Read, Store};
use serde_json::{Value, json};

use super::model::Opts;
use super::stage::{Answered, SALT, Stage, bytes};
use super::world::BEGINNING_NS;

const ATOMIC: Opts = Opts { atomic: true, dry_run: false, override_: false };

fn numbered(mode: &str, rest: &str) -> Stage<Memory> {
    let sequence = "[sequence]\nsource = \"producer\"\nfirst = 1\ngaps_open_max = 1\n";
    Stage::new(&format!("mode = \"{mode}\"\n{sequence}{rest}"))
}

fn event(seq: u64, time: &str) -> Value {
    json!({ "id": format!("e{seq}"), "lane": "a", "seq": seq, "time": time })
}

/// Every recorded decision, derived again.
fn explained(stage: &Stage<Memory>) {
    let versions = stage.store.reader().versions(&stage.stream).expect("versions");
    let entries = stage.entries();
    for attempt in stage.attempts() {
        let explanation = match &attempt {
            AttemptView::Accepted(entry) => explain_entry(entry, &versions[0], &SALT),
            AttemptView::Other(attempt) => {
                let original = attempt.basis.original.and_then(|offset| entries.get(offset as usize - 1));
                explain_attempt(attempt, &versions[0], original, &SALT)
            }
        };
        assert!(explanation.agrees, "{explanation:#?}");
    }
}

#[test]
fn an_event_that_moved_no_lane_has_abandoned_no_gap() {
    let mut stage = numbered("shadow", "[time]\nregression = \"reject\"\n");
    let late = event(5, "2026-01-31T23:00:00Z");
    stage.submit(BEGINNING_NS, &[event(3, "2026-01-31T23:30:00Z")], Opts::default());
    // Its gap would be the second of one that may be open, but it would have been refused for its time.
    let answered = stage.submit(BEGINNING_NS, &[late], Opts::default());
    assert_eq!(answered.receipts[0]["states"], json!(["SEQUENCE_GAP_DETECTED", "TIMESTAMP_REGRESSION"]));
    let lane = stage.store.reader().lane(&stage.stream, "a").expect("a read").expect("a lane");
    assert_eq!((lane.lane.highest, lane.lane.counts.open, lane.lane.counts.abandoned), (Some(3), 1, 0));
}

#[test]
fn the_mark_of_a_gap_comes_with_its_numbers_in_shadow_too() {
    let mut stage = numbered("shadow", "[time]\nregression = \"reject\"\n");
    stage.submit(BEGINNING_NS, &[event(1, "2026-01-31T23:30:00Z")], Opts::default());
    let answered = stage.submit(BEGINNING_NS, &[event(3, "2026-01-31T23:00:00Z")], Opts::default());
    let receipt = &answered.receipts[0];
    assert_eq!(receipt["marks"], json!(["HAS_GAPS", "WOULD_REJECT"]));
    assert_eq!(receipt["detail"]["gap"], json!({ "from": 2, "to": 2, "size": 1, "large": false }));
}

#[test]
fn a_document_that_is_refused_has_no_value_to_be_sorted_by() {
    let mut stage = numbered("enforce", "[batch]\norder = \"sequence\"\nstop_on = \"ordering\"\n");
    let bad = json!({ "id": "bad", "lane": "a", "seq": 1, "nonce": 5 });
    let batch = [event(1, "2026-01-31T23:00:00Z"), json!({ "id": "again", "lane": "a", "seq": 1 }), bad];
    let answered = stage.submit(BEGINNING_NS, &batch, Opts::default());
    let codes: Vec<&Value> = answered.receipts.iter().map(|receipt| &receipt["code"]).collect();
    assert_eq!(codes, [&Value::Null, &json!("SEQUENCE_CONFLICT"), &json!("BATCH_STOPPED")]);
    // Sent first, it is judged last all the same.
    let mut stage = numbered("enforce", "[batch]\norder = \"sequence\"\nstop_on = \"ordering\"\n");
    let batch = [batch[2].clone(), batch[0].clone(), batch[1].clone()];
    let answered = stage.submit(BEGINNING_NS, &batch, Opts::default());
    let codes: Vec<&Value> = answered.receipts.iter().map(|receipt| &receipt["code"]).collect();
    assert_eq!(codes, [&json!("BATCH_STOPPED"), &Value::Null, &json!("SEQUENCE_CONFLICT")]);
}

#[test]
fn a_decision_that_abandoned_a_gap_is_derived_again() {
    let mut stage = numbered("enforce", "");
    for seq in [2, 4] {
        stage.submit(BEGINNING_NS, &[event(seq, "2026-01-31T23:00:00Z")], Opts::default());
    }
    assert_eq!(stage.entries()[1].abandoned, [(1, 1)]);
    explained(&stage);
}

#[test]
fn a_conflict_within_a_refused_batch_never_points_at_the_event_that_takes_the_offset_later() {
    let mut stage = numbered("enforce", "");
    let mut other = event(1, "2026-01-31T23:00:00Z");
    other["note"] = json!("another payload");
    let answered = stage.submit(BEGINNING_NS, &[event(1, "2026-01-31T23:00:00Z"), other], ATOMIC);
    assert_eq!((answered.status, &answered.receipts[1]["verdict"]), (422, &json!("conflict")));
    assert_eq!(answered.receipts[1].get("original"), None);
    // The offset of the event that never was goes to a stranger.
    stage.submit(BEGINNING_NS, &[event(7, "2026-01-31T23:00:00Z")], Opts::default());
    let originals: Vec<Option<u64>> = stage.attempts().iter().map(original).collect();
    assert_eq!(originals, [None, None, None]);
    explained(&stage);
}

#[test]
fn a_batch_that_is_taken_back_gives_a_forgotten_id_its_old_entry_again() {
    let contract = "identity = { keep = \"1h\" }\ntime = { required = true, past = \"30m\", future = \"30m\" }";
    let mut stage = Stage::new(contract);
    let event = |time: &str| json!({ "id": "a", "lane": "x", "time": time });
    stage.submit(BEGINNING_NS, &[event("2026-01-31T23:59:50Z")], Opts::default());
    let later = BEGINNING_NS + 3 * 3_600_000_000_000;
    // Three hours later the id is forgotten, and a dry run uses it again; then the clock steps back, in the same turn.
    let dry =
        stage.submission(later, vec![bytes(&event("2026-02-01T02:59:50Z"))], Opts { dry_run: true, ..Opts::default() });
    let real = stage.submission(BEGINNING_NS, vec![bytes(&event("2026-01-31T23:50:00Z"))], Opts::default());
    let answers = stage.take(vec![dry, real]);
    let verdicts: Vec<Value> = answers.iter().map(|it| Answered::read(it).receipts[0]["verdict"].clone()).collect();
    assert_eq!(verdicts, [json!("accepted"), json!("conflict")]);
}

fn original(attempt: &AttemptView) -> Option<u64> {
    match attempt {
        AttemptView::Accepted(entry) => entry.basis.original,
        AttemptView::Other(attempt) => attempt.basis.original,
    }
}
