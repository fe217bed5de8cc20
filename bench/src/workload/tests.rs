use std::collections::BTreeSet;

use super::*;

const START: Time = Time::from_nanos(1_700_000_000_000_000_000);

fn made(clients: usize, duplicates_percent: u64, ids: Ids) -> Workload {
    shaped(Shape { events: 12_000, clients, batch: BATCH, document_bytes: DOCUMENT_BYTES, duplicates_percent, ids })
}

fn shaped(shape: Shape) -> Workload {
    Workload::make(shape, 7, START)
}

#[test]
fn what_is_called_new_is_new_and_the_rest_repeats_it_byte_for_byte() {
    for (clients, percent) in [(1, 0), (4, 10), (3, 50)] {
        let workload = made(clients, percent, Ids::Random);
        let all: Vec<_> = workload.clients.iter().flatten().flat_map(|batch| &batch.documents).collect();
        let ids: BTreeSet<_> = workload.clients.iter().flatten().flat_map(|batch| &batch.ids).collect();
        assert_eq!(all.len(), workload.sent);
        assert_eq!(ids.len(), workload.fresh());
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), workload.fresh(), "an id has one document");
        let share = 100 * (workload.sent - workload.fresh()) / workload.sent;
        assert!(share.abs_diff(percent as usize) <= 1, "{share} of {percent} percent are repeats");
    }
}

#[test]
fn a_document_has_about_256_bytes() {
    let workload = made(1, 0, Ids::Random);
    let bytes: usize = workload.clients[0].iter().flat_map(|batch| &batch.documents).map(Vec::len).sum();
    let mean = bytes / workload.sent;
    assert!((250..=262).contains(&mean), "{mean} bytes");
}

#[test]
fn a_document_is_as_long_as_asked_for() {
    for document_bytes in [400, 2000] {
        let shape =
            Shape { events: 500, clients: 1, batch: 10, document_bytes, duplicates_percent: 0, ids: Ids::Random };
        let workload = shaped(shape);
        for batch in &workload.clients[0] {
            let mean = batch.documents.iter().map(Vec::len).sum::<usize>() / batch.documents.len();
            assert!(mean.abs_diff(document_bytes) < 10, "{mean} bytes, not {document_bytes}");
            serde_json::from_slice::<Vec<serde_json::Value>>(&batch.json()).expect("JSON");
        }
    }
}

#[test]
fn every_client_has_a_device_however_many_there_are_and_batches_may_be_of_one() {
    let shape = Shape {
        events: 600,
        clients: 150,
        batch: 1,
        document_bytes: DOCUMENT_BYTES,
        duplicates_percent: 10,
        ids: Ids::Random,
    };
    let workload = shaped(shape);
    assert_eq!((workload.sent, workload.clients.len()), (600, 150));
    assert!(workload.clients.iter().flatten().all(|batch| batch.ids.len() == 1 && batch.documents.len() == 1));
}

#[test]
fn every_batch_is_an_array_of_its_documents() {
    let workload = made(4, 10, Ids::Ordered);
    for batch in workload.clients.iter().flatten() {
        let parsed: Vec<serde_json::Value> = serde_json::from_slice(&batch.json()).expect("JSON");
        let ids: Vec<_> = parsed.iter().map(|document| document["event_id"].as_str()).collect();
        assert_eq!(ids, batch.ids.iter().map(|id| Some(id.as_str())).collect::<Vec<_>>());
    }
}

#[test]
fn every_stream_gets_the_batches_of_its_clients_and_none_is_left_out() {
    let workload = made(6, 0, Ids::Random);
    for streams in [1, 2, 3] {
        let fed: Vec<usize> = (0..streams).map(|stream| workload.of_stream(stream, streams).count()).collect();
        assert_eq!(fed, vec![6 / streams * workload.clients[0].len(); streams]);
    }
}
