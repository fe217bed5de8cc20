use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn shape() -> Shape {
    Shape {
        token: "0badcafe".to_owned(),
        clients: 3,
        batch: 100,
        events: Some(5_050),
        duplicates_percent: 20,
        bytes: 256,
        begin: Time::from_nanos(1_700_000_000_000_000_000),
    }
}

#[test]
fn every_event_is_divided_among_the_clients_once() {
    for events in [1, 99, 100, 101, 299, 300, 5_050] {
        for clients in [1, 3, 7] {
            let shares: Vec<_> = (0..clients).map(|client| share(events, 100, clients, client)).collect();
            assert_eq!(shares.iter().sum::<u64>(), events, "{shares:?}");
        }
    }
    let made: usize = Maker::all(&shape()).into_iter().flatten().map(|made| made.events.len()).sum();
    assert_eq!(made, 5_050);
}

#[test]
fn what_is_called_new_is_new_and_the_rest_repeats_it_byte_for_byte() {
    let mut documents = BTreeMap::new();
    let (mut new, mut all) = (0, 0);
    for made in Maker::all(&shape()).into_iter().flatten() {
        let sent: Vec<serde_json::Value> = serde_json::from_slice(&made.body).expect("a list");
        assert_eq!(sent.len(), made.events.len());
        for (document, (id, is_new)) in sent.iter().zip(&made.events) {
            assert_eq!(document["event_id"], *id);
            let before = documents.insert(id.clone(), document.clone());
            assert_eq!(before.is_none(), *is_new);
            assert!(before.is_none_or(|before| before == *document));
            new += usize::from(*is_new);
            all += 1;
        }
    }
    let percent = 100 * (all - new) / all;
    assert!(percent.abs_diff(20) <= 2, "{percent} percent are repeats");
}

#[test]
fn a_lane_belongs_to_one_client_and_its_numbers_have_no_gaps() {
    let mut seen = BTreeSet::new();
    for maker in Maker::all(&Shape { duplicates_percent: 0, ..shape() }) {
        let mut lanes: BTreeMap<String, u64> = BTreeMap::new();
        for made in maker {
            let sent: Vec<serde_json::Value> = serde_json::from_slice(&made.body).expect("a list");
            for document in sent {
                let last = lanes.entry(document["component_instance_id"].to_string()).or_default();
                *last += 1;
                assert_eq!(document["sequence"], *last);
            }
        }
        assert!(lanes.into_keys().all(|lane| seen.insert(lane)), "a lane of two clients");
    }
}

#[test]
fn a_document_is_about_as_long_as_asked_for_and_one_alone_is_no_list() {
    for bytes in [256, 1_000] {
        let alone = Shape { batch: 1, events: None, bytes, ..shape() };
        let mean = Maker::new(&alone, 0).take(200).map(|made| made.body.len()).sum::<usize>() / 200;
        assert!(mean.abs_diff(bytes) < 8, "{mean} bytes, not {bytes}");
    }
    let made = Maker::new(&Shape { batch: 1, ..shape() }, 0).next().expect("an event");
    assert!(serde_json::from_slice::<serde_json::Value>(&made.body).expect("JSON").is_object());
}
