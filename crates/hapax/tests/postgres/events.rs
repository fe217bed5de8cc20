//! The events of these tests, and whether a ledger holds what it must.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::client::Client;
use crate::process::run;

pub const EVENTS: &str = "/v1/streams/s/events";

/// With a counter, so that there is something to add up again.
pub const CONTRACT: &str = r#"
preset = "telemetry-tolerant"
[counters.amount]
key    = ["/component_instance_id"]
amount = "/n"
period = "day"
"#;

/// The n-th event of a producer, which is the same whenever it is sent.
pub fn event(producer: u64, seq: u64) -> Value {
    json!({
        "event_id": format!("p{producer}-{seq:06}"), "component_instance_id": format!("lane-{producer}"),
        "sequence": seq, "observed_at": "2026-11-01T00:00:00Z", "n": format!("{seq}.25"),
    })
}

/// What the first so many events of a producer add up to, as the counter says it.
pub fn sum(events: u64) -> String {
    let quarters: u64 = (1..=events).map(|seq| seq * 4 + 1).sum();
    let part = ["", ".25", ".5", ".75"][(quarters % 4) as usize];
    format!("{}{part}", quarters / 4)
}

/// Offset and hash: what an entry is known by.
pub type Place = (u64, String);

pub fn place(receipt: &Value) -> Place {
    let hash = receipt["hash"].as_str().unwrap_or_else(|| panic!("no hash: {receipt}"));
    (receipt["offset"].as_u64().expect("an offset"), hash.to_owned())
}

/// Everything in the ledger, by id. Offsets have no holes, nothing is there twice, and all is what was sent.
pub fn entries(client: &mut Client) -> HashMap<String, Place> {
    let mut found = HashMap::new();
    let mut after = 0;
    loop {
        let page = client.send("GET", &format!("{EVENTS}?after={after}&limit=1000"), &[], b"");
        assert_eq!(page.status, 200, "{}", page.text());
        let page = page.json();
        let Some(events) = page["events"].as_array().filter(|it| !it.is_empty()) else { return found };
        for entry in events {
            after += 1;
            assert_eq!(entry["offset"], after, "offsets have no holes");
            let id = entry["id"].as_str().expect("an id");
            let (producer, seq) = id[1..].split_once('-').expect("one of ours");
            let number = |text: &str| text.parse().expect("a number");
            assert_eq!(entry["document"], event(number(producer), number(seq)), "{id} is what was sent");
            assert!(found.insert(id.to_owned(), place(entry)).is_none(), "{id} is there twice");
        }
    }
}

/// The chain holds, and the counters are what the entries add up to.
pub fn proved(url: &str) {
    for command in ["verify", "recount"] {
        let output = run(&[command, "--store", url]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{command}: {said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(command != "recount" || said.contains("all as stored"), "{said}");
    }
}

/// The counter of each producer says what its events add up to: those up to this number, all of them.
pub fn counted(client: &mut Client, sent: impl Iterator<Item = (u64, u64)>) {
    for (producer, events) in sent.filter(|(_, events)| *events > 0) {
        let path = format!("/v1/streams/s/counters/amount?key=%5B%22lane-{producer}%22%5D&period=2026-11-01");
        let found = client.send("GET", &path, &[], b"").json();
        let counter = &found["counters"][0]["effective"];
        assert_eq!((&counter["count"], &counter["sum"]), (&json!(events), &json!(sum(events))), "{producer}: {found}");
    }
}
