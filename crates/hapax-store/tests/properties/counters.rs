//! Counters are a fold of the ledger, and what they come to does not depend on the order of arrival.

use hapax_core::counter::Recount;
use hapax_core::view::CounterView;
use hapax_store::memory::Memory;
use hapax_store::seam::{Read, Store};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::acts::stories;
use super::cases;
use super::play::model::Opts;
use super::play::stage::Stage;
use super::play::world::BEGINNING_NS;

proptest! {
    #![proptest_config(cases(80))]

    #[test]
    fn a_recount_of_the_ledger_finds_every_counter_as_it_is(story in stories()) {
        let stage = story.play();
        let versions = stage.store.reader().versions(&stage.stream).expect("versions");
        let mut recount = Recount::default();
        for entry in stage.entries() {
            let version = versions.iter().find(|version| version.number == entry.contract).expect("its version");
            recount.add(&entry, version);
        }
        let stored = stage.store.reader().counters(&stage.stream, &Default::default(), None, usize::MAX).expect("counters").items;
        let pairs = stored.iter().map(|(key, record)| (key, &record.counter));
        let adjustments = |key: &_| stage.store.reader().counter(&stage.stream, key).expect("a counter").adjustments;
        let differences = recount.differences(pairs, adjustments);
        prop_assert!(differences.is_empty(), "{:#?}", differences);
        for (key, record) in &stored {
            let closed = record.counter.closed || recount.closed.contains(&(key.name.clone(), key.period));
            prop_assert_eq!(record.closed, closed);
        }
    }

    #[test]
    fn the_effective_values_are_the_same_for_every_order_of_arrival(
        (sent, arrived) in events().prop_flat_map(|events| (Just(events.clone()), Just(events).prop_shuffle())),
        lateness in select(vec!["none", "0s", "5s"]),
    ) {
        prop_assert_eq!(effective(&sent, lateness), effective(&arrived, lateness));
    }

    #[test]
    fn nothing_is_an_adjustment_where_lateness_has_no_bound(events in events()) {
        let stage = counted(&events, "none");
        for (_, record) in stage.store.reader().counters(&stage.stream, &Default::default(), None, usize::MAX).expect("counters").items {
            prop_assert!(record.adjustments.is_empty());
            prop_assert_eq!(record.counter.effective(), Some(record.counter.folded));
        }
    }
}

/// Events with ids of their own, whose times often agree.
fn events() -> impl Strategy<Value = Vec<Value>> {
    let amount = select(vec![json!(1), json!(-3), json!("0.1"), json!(1e18), json!("-9999999999999999999.999999999")]);
    let event = (0_i64..8, amount, select(vec!["x", "y"]));
    prop::collection::vec(event, 1..24).prop_map(|events| {
        let written = events.into_iter().enumerate().map(|(place, (second, amount, customer))| {
            json!({ "id": format!("e{place}"), "time": format!("2026-01-31T23:59:5{second}Z"), "amount": amount, "customer": customer })
        });
        written.collect()
    })
}

/// The ledger after these events, one request each, while the clock goes on.
fn counted(events: &[Value], lateness: &str) -> Stage<Memory> {
    let counter = "[counters.usage]\nkey = [\"/customer\"]\namount = \"/amount\"\nperiod = \"day\"\n";
    let mut stage = Stage::new(&format!("[time]\nfuture = \"none\"\n{counter}lateness = \"{lateness}\"\n"));
    for (place, event) in events.iter().enumerate() {
        let now = BEGINNING_NS + place as i64 * 1_000_000_000;
        let answered = stage.submit(now, std::slice::from_ref(event), Opts::default());
        assert_eq!(answered.receipts[0]["verdict"], "accepted", "{}", answered.receipts[0]);
    }
    stage
}

fn effective(events: &[Value], lateness: &str) -> Vec<(String, String, Value)> {
    let stage = counted(events, lateness);
    let stored =
        stage.store.reader().counters(&stage.stream, &Default::default(), None, usize::MAX).expect("counters").items;
    let shown = stored.iter().map(|(key, record)| {
        let (counter, closed, adjustments) = (&record.counter, record.closed, &record.adjustments);
        let shown = serde_json::to_value(CounterView { key, counter, closed, adjustments }).expect("a counter");
        (key.key.to_string(), key.period.to_string(), shown["effective"].clone())
    });
    shown.collect()
}
