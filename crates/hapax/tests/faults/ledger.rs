//! What producers were told, and whether the ledger still says so.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::Path;

use serde_json::{Value, json};

use crate::client::{Client, Reply};
use crate::process::{Server, run};
use crate::program::{Program, SMALL};

/// With a counter, so that there is something to add up again; attempts expire soon.
pub const CONTRACT: &str = r#"
preset = "telemetry-tolerant"
identity.same = "replay"
audit.keep = "5s"
[counters.amount]
key    = ["/component_instance_id"]
amount = "/n"
period = "day"
"#;

pub const EVENTS: &str = "/v1/streams/s/events";

/// The n-th event, which is the same whenever it is sent. Some are longer than a sector, most are not.
pub fn event(n: u64) -> String {
    let filler = "x".repeat(if n % 4 == 3 { 700 } else { 20 });
    let (lane, seq) = (format!("lane-{}", n % 2), n / 2 + 1);
    json!({
        "event_id": format!("e-{n}"), "component_instance_id": lane, "sequence": seq,
        "observed_at": "2026-11-01T00:00:00Z", "n": format!("{n}.5"), "text": filler,
    })
    .to_string()
}

/// What was acknowledged, by the number of the event: the receipt.
#[derive(Clone, Debug, Default)]
pub struct Told {
    pub contract: bool,
    pub events: HashMap<u64, Value>,
    /// What was answered 503, in order: code and effect.
    pub refused: Vec<(String, String)>,
}

impl Told {
    /// Puts the contract; whether it was taken is kept.
    pub fn put(&mut self, program: &Program) -> io::Result<()> {
        let reply = program.ask("PUT", "/v1/streams/s", CONTRACT)?;
        self.contract |= reply.status < 300;
        self.note(&reply);
        Ok(())
    }

    /// Sends an event; what was acknowledged is kept.
    pub fn send(&mut self, client: &mut Client, n: u64) -> io::Result<Reply> {
        let reply = client.try_send("POST", EVENTS, &[("content-type", "application/json")], event(n).as_bytes())?;
        self.note(&reply);
        self.keep(n, &reply.json());
        Ok(reply)
    }

    /// The same with several in one batch.
    pub fn send_all(&mut self, client: &mut Client, numbers: Range<u64>) -> io::Result<()> {
        let events: Vec<_> = numbers.clone().map(event).collect();
        let batch = format!("[{}]", events.join(","));
        let reply = client.try_send("POST", EVENTS, &[("content-type", "application/json")], batch.as_bytes())?;
        self.note(&reply);
        if reply.status == 200 {
            let body = reply.json();
            let receipts = body["results"].as_array().expect("receipts");
            assert_eq!(receipts.len(), events.len(), "one for each");
            numbers.zip(receipts).for_each(|(n, receipt)| self.keep(n, receipt));
        }
        Ok(())
    }

    /// Keeps what an event was acknowledged with, if it was.
    fn keep(&mut self, n: u64, receipt: &Value) {
        let receipt = match receipt["verdict"].as_str() {
            Some("accepted") => receipt,
            Some("duplicate") => &receipt["original"],
            _ => return,
        };
        assert!(self.refused.iter().all(|(code, _)| code != "STORE_STOPPED"), "taken after the store had stopped");
        if let Some(before) = self.events.insert(n, receipt.clone()) {
            assert_eq!(before["hash"], receipt["hash"], "e-{n} has one receipt");
        }
    }

    fn note(&mut self, reply: &Reply) {
        if reply.status < 500 {
            return;
        }
        let problem = reply.json();
        assert_eq!(reply.status, 503, "{problem}");
        let text = |name: &str| problem[name].as_str().unwrap_or_default().to_owned();
        self.refused.push((text("code"), text("effect")));
    }
}

/// Everything in the ledger, by id.
pub fn entries(client: &mut Client) -> HashMap<String, Value> {
    let mut found = HashMap::new();
    let mut after = 0;
    loop {
        let page = client.send("GET", &format!("{EVENTS}?after={after}&limit=1000"), &[], b"").json();
        let Some(events) = page["events"].as_array().filter(|it| !it.is_empty()) else { return found };
        for event in events {
            after += 1;
            assert_eq!(event["offset"], after, "offsets have no holes");
            let id = event["id"].as_str().expect("an id").to_owned();
            assert!(found.insert(id.clone(), event.clone()).is_none(), "{id} is there twice");
        }
    }
}

/// Is everything that was acknowledged in the ledger, and as it was acknowledged? Answers how many were.
pub fn holds(client: &mut Client, told: &Told) -> usize {
    let lost = lost(client, told);
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    told.events.len()
}

/// What was acknowledged and is not in the ledger. What is there is as it was acknowledged.
pub fn lost(client: &mut Client, told: &Told) -> Vec<u64> {
    let found = entries(client);
    let mut lost = Vec::new();
    for (n, receipt) in &told.events {
        let Some(entry) = found.get(&format!("e-{n}")) else {
            lost.push(*n);
            continue;
        };
        assert_eq!((&entry["offset"], &entry["hash"]), (&receipt["offset"], &receipt["hash"]), "e-{n}");
        let sent: Value = serde_json::from_str(&event(*n)).expect("an event");
        assert_eq!(entry["document"], sent, "e-{n} is what was sent");
    }
    lost
}

/// Starts the program on a store after a fault, without it: everything is there, goes on, stops well, and can be proved.
/// `sent` is how many events were ever sent; sent again, each is as before or new, once.
pub fn recovers(store: &Path, mut told: Told, sent: u64) -> usize {
    let server = Server::on(store, &SMALL);
    if told.contract {
        assert_eq!(server.get("/v1/streams/s").status, 200, "the contract was acknowledged and is lost");
    }
    server.put("s", CONTRACT);
    let mut client = server.client();
    let held = holds(&mut client, &told);
    told.refused.clear();
    for n in 0..sent + 2 {
        let reply = told.send(&mut client, n).expect("an answer");
        assert!(reply.status <= 201, "e-{n}: {}", reply.text());
    }
    assert_eq!(entries(&mut client).len() as u64, sent + 2, "each is there once");
    drop(client);
    proved(&server.stop());
    held
}

/// The chain holds, and the counters are what the entries add up to.
pub fn proved(store: &Path) {
    let place = store.to_str().expect("a path");
    for command in ["verify", "recount"] {
        let output = run(&[command, "--store", place]);
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{command}: {said}{}", String::from_utf8_lossy(&output.stderr));
        assert!(command != "recount" || said.contains("all as stored"), "{said}");
    }
}
