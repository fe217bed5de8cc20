//! Killed a hundred times under load: nothing acknowledged is lost, nothing is there twice. `HAPAX_KILLS` says how often
//! instead.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::client::{Client, Reply};
use crate::process::{Server, folder, run};

/// Unless `HAPAX_KILLS` says otherwise.
const CYCLES: u64 = 100;
const PRODUCERS: u64 = 4;
const BATCH: u64 = 8;

const CONTRACT: &str = r#"
preset = "telemetry-tolerant"
[counters.amount]
key    = ["/component_instance_id"]
amount = "/n"
period = "day"
"#;

/// What one producer sent and was told.
#[derive(Default)]
struct Producer {
    /// Requests so far.
    sent: u64,
    /// Sent, and perhaps never answered.
    open: Option<u64>,
    /// The answers, by request.
    told: BTreeMap<u64, Reply>,
}

fn request(producer: u64, number: u64) -> (String, Vec<u8>) {
    let event = |index: u64| {
        let seq = number * BATCH + index + 1;
        json!({
            "event_id": format!("p{producer}-{seq}"),
            "component_instance_id": format!("lane-{producer}"),
            "sequence": seq,
            "observed_at": "2026-11-01T00:00:00Z",
            "n": format!("0.{seq}"),
        })
    };
    let body = Value::from((0..BATCH).map(event).collect::<Vec<_>>());
    (format!("p{producer}-{number}"), body.to_string().into_bytes())
}

fn send(client: &mut Client, producer: u64, number: u64) -> std::io::Result<Reply> {
    let (key, body) = request(producer, number);
    let headers = [("content-type", "application/json"), ("idempotency-key", key.as_str())];
    client.try_send("POST", "/v1/streams/s/events", &headers, &body)
}

/// Sends until the server is gone. First what was never answered, then something old, then new events.
fn produce(client: &mut Client, id: u64, producer: &mut Producer, answered: &AtomicU64) {
    if let Some((old, told)) = producer.told.iter().nth((producer.sent / 2) as usize) {
        let Ok(again) = send(client, id, *old) else { return };
        assert_eq!(again.body, told.body, "the same request is answered alike, also after a crash");
        assert_eq!(again.status, told.status);
        assert_eq!(again.header("idempotency-replayed"), Some("true"));
    }
    loop {
        let number = producer.open.unwrap_or(producer.sent);
        producer.open = Some(number);
        let Ok(reply) = send(client, id, number) else { return };
        assert_eq!(reply.status, 200, "{}", reply.text());
        let summary = &reply.json()["summary"];
        assert_eq!(summary["accepted"], BATCH, "all of it, now or before the crash: {summary}");
        producer.told.insert(number, reply);
        producer.open = None;
        producer.sent = number + 1;
        answered.fetch_add(1, Ordering::Relaxed);
    }
}

fn cycle(store: &Path, cycle: u64, producers: &[Mutex<Producer>]) {
    let server = Server::on(store, &[]);
    if cycle == 0 {
        server.put("s", CONTRACT);
    }
    let answered = Arc::new(AtomicU64::new(0));
    // Killed after so many answers: a different moment each time, and no waiting for a while.
    let enough = 1 + cycle * 7 % 23;
    std::thread::scope(|scope| {
        for (id, producer) in (0..PRODUCERS).zip(producers) {
            let (mut client, answered) = (server.client(), Arc::clone(&answered));
            scope.spawn(move || produce(&mut client, id, &mut producer.lock().expect("a producer"), &answered));
        }
        while answered.load(Ordering::Relaxed) < enough {
            std::thread::yield_now();
        }
        server.kill();
    });
}

#[test]
fn killed_again_and_again_it_loses_nothing_and_takes_nothing_twice() {
    let store = folder("killed").join("store");
    let producers: Vec<Mutex<Producer>> = (0..PRODUCERS).map(|_| Mutex::default()).collect();
    let cycles = std::env::var("HAPAX_KILLS").map_or(CYCLES, |it| it.parse().expect("HAPAX_KILLS is a number"));
    (0..cycles).for_each(|number| cycle(&store, number, &producers));

    let server = Server::on(&store, &[]);
    let mut client = server.client();
    let mut found: HashMap<String, Value> = HashMap::new();
    let mut after = 0;
    loop {
        let page = client.send("GET", &format!("/v1/streams/s/events?after={after}&limit=1000"), &[], b"").json();
        let events = page["events"].as_array().expect("events").clone();
        if events.is_empty() {
            break;
        }
        for event in events {
            after += 1;
            assert_eq!(event["offset"], after, "offsets have no holes");
            let id = event["id"].as_str().expect("an id").to_owned();
            assert!(found.insert(id.clone(), event).is_none(), "{id} is there twice");
        }
    }
    let mut acknowledged = 0;
    for producer in &producers {
        for reply in producer.lock().expect("a producer").told.values() {
            for receipt in reply.json()["results"].as_array().expect("results") {
                acknowledged += 1;
                let id = receipt["id"].as_str().expect("an id");
                let entry = found.get(id).unwrap_or_else(|| panic!("{id} was acknowledged and is lost"));
                assert_eq!((&entry["offset"], &entry["hash"]), (&receipt["offset"], &receipt["hash"]), "{id}");
            }
        }
    }
    drop(client);
    let store = server.stop();
    let store = store.to_str().expect("a path");
    for command in ["verify", "recount"] {
        let output = run(&[command, "--store", store]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{command}: {said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(command != "recount" || said.contains("all as stored"), "{said}");
    }
    println!("figure: {cycles} kills, {acknowledged} events acknowledged, {after} in the ledger, 0 lost, 0 twice");
}
