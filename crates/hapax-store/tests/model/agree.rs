//! The real turn against the model: the same world, the same answers, lanes and counters.

use std::collections::BTreeSet;

use hapax_core::contract::Contract;
use hapax_core::counter::CounterKey;
use hapax_core::lane::{Gap, GapKind};
use hapax_core::time::Time;
use hapax_core::view::{CounterView as CounterShape, LaneView as LaneShape};
use hapax_store::memory::Memory;
use hapax_store::seam::{Read, Store};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::model::{LaneView, Mode, Model, Outcome, Totals, to_toml};
use super::stage::Stage;
use super::world::World;

/// Plays a world on both, and says where they differ first.
pub(crate) fn agree(world: &World) -> Result<(), TestCaseError> {
    let contract = to_toml(&world.rules);
    let mut model = Model::new(world.rules.clone());
    let mut stage = Stage::new(&contract);
    for (index, request) in world.requests.iter().enumerate() {
        let expected = model.submit(request.now_ns, &request.docs, request.opts);
        let answered = stage.submit(request.now_ns, &request.docs, request.opts);
        let found: Vec<Outcome> = answered.receipts.iter().map(outcome).collect();
        for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let doc = &request.docs[place];
            prop_assert_eq!(
                found,
                expected,
                "left is the turn, right the model; request {}, event {}: {} under\n{}",
                index,
                place,
                doc,
                contract
            );
        }
        prop_assert_eq!(found.len(), expected.len());
        if let Some(retry_order) = &answered.retry_order {
            prop_assert_eq!(retry_order, model.retry_order(), "request {} under\n{}", index, contract);
        }
        for lane in model.lanes() {
            same_lane(&stage, &model, world, &lane, request.now_ns)?;
        }
        same_counters(&stage, &model)?;
    }
    Ok(())
}

/// A receipt as the model would say it.
fn outcome(receipt: &Value) -> Outcome {
    const VERDICTS: [&str; 6] = ["accepted", "duplicate", "conflict", "stale", "rejected", "not_evaluated"];
    let verdict = receipt["verdict"].as_str().unwrap_or_else(|| panic!("a receipt has a verdict: {receipt}"));
    let verdict = VERDICTS.iter().find(|it| **it == verdict).unwrap_or_else(|| panic!("{verdict} is no verdict"));
    let words = |name: &str| -> BTreeSet<String> {
        let list = receipt[name].as_array().cloned().unwrap_or_default();
        let words: BTreeSet<String> = list.iter().filter_map(|word| Some(word.as_str()?.to_string())).collect();
        assert_eq!(words.len(), list.len(), "{name} holds each word once: {receipt}");
        words
    };
    let accepted = *verdict == "accepted";
    let detail = receipt.get("detail").filter(|_| accepted).unwrap_or(&Value::Null);
    let gap = detail.get("gap").map(|gap| {
        let number = |name: &str| gap[name].as_u64().expect("a gap has numbers");
        (number("from"), number("to"), number("size"), gap["large"].as_bool().expect("a gap is large or not"))
    });
    Outcome {
        verdict,
        code: receipt["code"].as_str().map(String::from),
        marks: words("marks"),
        states: words("states"),
        offset: receipt["offset"].as_u64(),
        seq: receipt["seq"].as_u64().filter(|_| accepted),
        gap,
        latency_ms: detail["latency_ms"].as_i64(),
        class: detail["counters"]["usage"].as_str().map(String::from),
        original_offset: receipt["original"]["offset"].as_u64(),
    }
}

fn same_lane(
    stage: &Stage<Memory>,
    model: &Model,
    world: &World,
    name: &str,
    now_ns: i64,
) -> Result<(), TestCaseError> {
    let expected = model.lane(name);
    let record = stage.store.reader().lane(&stage.stream, name).expect("a lane");
    let record = record.unwrap_or_else(|| panic!("the lane {name} holds events and is not there"));
    let contract = Contract::from_toml(&to_toml(&world.rules)).expect("a contract").contract;
    let rows: Vec<Gap> = record.gaps.iter().copied().collect();
    let (lane, now) = (&record.lane, Time::from_nanos(now_ns));
    let shape = LaneShape { name, lane, gaps: rows.clone(), filled: Vec::new(), contract: &contract, now };
    let shown = serde_json::to_value(&shape).expect("a lane can be written");
    if world.rules.mode == Mode::Off {
        prop_assert_eq!(&shown["events"], &json!(expected.events));
        return Ok(());
    }
    let of_kind = |kind: GapKind| -> Vec<(u64, u64)> {
        let present = rows.iter().filter(|gap| gap.generation == lane.generation && gap.kind == kind);
        present.map(|gap| (gap.from, gap.to)).collect()
    };
    let found = LaneView {
        last_seq: shown["last_seq"].as_u64(),
        expected_seq: shown["expected_seq"].as_u64(),
        epoch: shown["epoch"].as_u64().expect("an epoch"),
        last_time: lane.last_time.map(Time::nanos),
        events: shown["events"].as_u64().expect("a count"),
        open: listed(&shown, "open"),
        abandoned: of_kind(GapKind::Abandoned),
        unlisted: of_kind(GapKind::Unlisted),
        floor: lane.floor,
        out_of_order: shown["out_of_order"].as_bool().expect("in or out of order"),
    };
    prop_assert_eq!(
        found,
        expected,
        "left is the turn, right the model; lane {}, under\n{}",
        name,
        to_toml(&world.rules)
    );
    let counted = |kind: GapKind| rows.iter().filter(|gap| gap.kind == kind).count() as u64;
    prop_assert_eq!(lane.counts.open, counted(GapKind::Open));
    prop_assert_eq!(lane.counts.abandoned, counted(GapKind::Abandoned));
    prop_assert_eq!(lane.counts.unlisted, counted(GapKind::Unlisted));
    Ok(())
}

/// The gaps of a state as they are shown.
fn listed(shown: &Value, state: &str) -> Vec<(u64, u64)> {
    let gaps = shown["gaps"].as_array().cloned().unwrap_or_default();
    let number = |gap: &Value, name: &str| gap[name].as_u64().expect("a gap has numbers");
    gaps.iter().filter(|gap| gap["state"] == state).map(|gap| (number(gap, "from"), number(gap, "to"))).collect()
}

fn same_counters(stage: &Stage<Memory>, model: &Model) -> Result<(), TestCaseError> {
    let stored =
        stage.store.reader().counters(&stage.stream, &Default::default(), None, usize::MAX).expect("counters").items;
    prop_assert_eq!(stored.len(), model.counters().len());
    for (key, period) in model.counters() {
        let expected = model.counter(&key, &period);
        let text = serde_json::to_string(&key).expect("a key can be written");
        let find = |(stored, _): &&(CounterKey, _)| *stored.key == *text && stored.period.to_string() == period;
        let Some((key, record)) = stored.iter().find(find) else {
            return Err(TestCaseError::fail(format!("there is no counter for {text} in {period}")));
        };
        let read = stage.store.reader().counter(&stage.stream, key).expect("a counter");
        prop_assert_eq!(&read.counter, &record.counter);
        let (counter, closed, adjustments) = (&read.counter, read.closed, &read.adjustments);
        let shown = serde_json::to_value(CounterShape { key, counter, closed, adjustments }).expect("a counter");
        same_totals(&shown, &expected.folded)?;
        same_totals(&shown["effective"], &expected.effective)?;
        prop_assert_eq!(counter.watermark.map(Time::nanos), expected.watermark);
        let amount = |one: &Value| Some((one["amount"].as_str()?.to_string(), one["offset"].as_u64()?));
        let found: Option<Vec<_>> = shown["adjustments"].as_array().and_then(|all| all.iter().map(amount).collect());
        prop_assert_eq!(found, Some(expected.adjustments));
    }
    Ok(())
}

fn same_totals(shown: &Value, expected: &Totals) -> Result<(), TestCaseError> {
    let text = |name: &str| shown[name].as_str().map(String::from);
    prop_assert_eq!(shown["count"].as_u64(), Some(expected.count));
    prop_assert_eq!(text("sum"), Some(expected.sum.clone()));
    prop_assert_eq!(text("min"), expected.min.clone());
    prop_assert_eq!(text("max"), expected.max.clone());
    if expected.last_certain {
        prop_assert_eq!(text("last"), expected.last.clone());
    }
    Ok(())
}
