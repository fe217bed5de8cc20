//! `hapax demo`: a tour of about a minute. A server, a stream for each preset, and producers that behave badly.
//!
//! What it prints is what the server answered; the script only says what is sent. Not here: the script (`script`).

mod house;
mod script;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use clap::Args;
use hapax_client::{Call, Client, Route, Stop};
use hapax_core::contract::PRESETS;
use hapax_core::time::{Time, parse};
use serde_json::{Value, json};

use crate::field::{list, number, text};
use crate::outcome::Outcome;
use crate::place::Place;
use crate::remote::told;
use crate::table::Table;
use crate::{paint, say};
use script::{Scene, Step, scenes};

/// A tour of about a minute: a server, and producers that retry, reorder, replay and have wrong clocks.
///
/// Example: hapax demo
#[derive(Args)]
pub(crate) struct Demo {
    /// Where the server listens.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4090")]
    listen: SocketAddr,
    /// Where the ledger is kept; a new folder for temporary files if not given.
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Without pauses.
    #[arg(long)]
    fast: bool,
    /// End after the tour; otherwise the server stays until Ctrl-C.
    #[arg(long)]
    exit: bool,
}

/// Long enough to read a line, and the whole tour stays about a minute.
const PAUSE: Duration = Duration::from_millis(1_400);

impl Demo {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let temporary = tempfile::Builder::new().prefix("hapax-demo-").tempdir()?;
        let store = self.store.clone().unwrap_or_else(|| temporary.path().join("store"));
        let place = Place::of(&store)?;
        let shown = place.to_string();
        let house = house::open(self.listen, place)?;
        let fate = if self.store.is_none() { ", which is removed at the end" } else { "" };
        say::line(format_args!("A server listens on {} and keeps its ledger in {shown}{fate}.", house.url()));
        let client = Client::new(house.url(), None).map_err(told)?;
        let tour = Tour { client, stop: house.stop(), pause: if self.fast { Duration::ZERO } else { PAUSE } };
        let ended = tour.run();
        if ended.is_ok() && !self.exit && !tour.stop.is_set() {
            tour.farewell();
            while !tour.stop.wait(Duration::from_secs(3_600)) {}
        }
        house.close()?;
        ended.map(|()| Outcome::Fine)
    }
}

struct Tour {
    client: Client,
    stop: Stop,
    pause: Duration,
}

impl Tour {
    fn run(&self) -> anyhow::Result<()> {
        for preset in PRESETS {
            let contract = json!({ "preset": preset.name });
            self.call(&Call::put(Route::stream(preset.name, &[])).json(&contract))?;
        }
        for scene in scenes(self.now()?) {
            if self.stop.is_set() {
                return Ok(());
            }
            self.play(&scene)?;
        }
        self.ledger()
    }

    /// The server's time, as it writes it on a stream that was just made.
    fn now(&self) -> anyhow::Result<Time> {
        let stream = self.get(Route::stream(PRESETS[0].name, &[]))?;
        let probe = json!({ "event_id": "what time is it" });
        let call = Call::post(Route::stream("event-sourcing", &["events"]).with("dry_run", true)).json(&probe);
        let receipt = self.call(&call)?;
        let written = [text(&receipt, "/ingested_at"), text(&stream, "/created_at")];
        // Whole seconds are easier to read, and nothing here is faster than that.
        let whole = |time: &String| time.get(..19).map(|time| format!("{time}Z"));
        let readable = written.iter().filter_map(whole).find_map(|time| parse(&time, true).ok());
        readable.context("the server does not say what time it is")
    }

    fn play(&self, scene: &Scene) -> anyhow::Result<()> {
        say::line(format_args!("\n{}  {}", paint::bold(scene.stream), scene.about));
        for step in &scene.steps {
            if self.stop.wait(self.pause) {
                return Ok(());
            }
            match step {
                Step::Event { what, document } => {
                    let call = Call::post(Route::stream(scene.stream, &["events"])).json(document);
                    self.told(what, &self.call(&call)?);
                }
                Step::Batch { what, documents } => {
                    let call = Call::post(Route::stream(scene.stream, &["events"])).json(&json!(documents));
                    let answer = self.call(&call)?;
                    for (index, receipt) in list(&answer, "/results").iter().enumerate() {
                        self.told(if index == 0 { what } else { "" }, receipt);
                    }
                }
                Step::Close { what, counter, period } => {
                    let route = Route::stream(scene.stream, &["counters", counter, "close"]);
                    let answer = self.call(&Call::post(route).json(&json!({ "period": period })))?;
                    say::line(format_args!("  {what:<46}  entry {}", text(&answer, "/offset")));
                }
            }
        }
        Ok(())
    }

    /// One line per event: what was sent, what became of it, and why.
    fn told(&self, what: &str, receipt: &Value) {
        let verdict = text(receipt, "/verdict");
        let padding = " ".repeat(9_usize.saturating_sub(verdict.len()));
        let why =
            [paint::mark(&text(receipt, "/marks")), text(receipt, "/code"), paint::dim(&text(receipt, "/message"))];
        let why: Vec<_> = why.into_iter().filter(|word| !word.is_empty()).collect();
        let line = format!("  {what:<46}  {}{padding}  {}", paint::verdict(&verdict), why.join("  "));
        say::line(line.trim_end());
    }

    /// What is in the ledger now.
    fn ledger(&self) -> anyhow::Result<()> {
        say::line(format_args!("\n{}", paint::bold("What is in the ledger")));
        let mut table = Table::new(["STREAM", "ENTRIES", "LANES", "MISSING", "ATTEMPTS", "HEAD"]);
        for preset in PRESETS {
            let stream = self.get(Route::stream(preset.name, &[]))?;
            let lanes = self.get(Route::stream(preset.name, &["lanes"]).with("gaps", "open"))?;
            let gaps = list(&lanes, "/lanes").iter().flat_map(|lane| list(lane, "/gaps"));
            let open = gaps.filter(|gap| text(gap, "/state") == "open");
            let missing: u64 = open.map(|gap| number(gap, "/to") - number(gap, "/from") + 1).sum();
            let attempts = self.get(Route::stream(preset.name, &["attempts"]).with("limit", 1))?;
            let mut head = text(&stream, "/head/hash");
            head.truncate(12);
            let [entries, lanes] = ["/head/offset", "/lanes"].map(|pointer| text(&stream, pointer));
            table.row([preset.name.to_owned(), entries, lanes, missing.to_string(), text(&attempts, "/count"), head]);
        }
        table.print("");
        Ok(())
    }

    fn farewell(&self) {
        let url = self.client.url();
        say::line(format_args!("\nThe server is still there, until Ctrl-C. Look at {url}/ or try:"));
        for line in [
            format!("curl {url}/v1/streams/telemetry-tolerant/lanes/component-7"),
            format!("curl {url}/v1/streams/event-sourcing/events/cmd-2/explain"),
            "curl -d '{\"event_id\":\"mine\",\"aggregate_id\":\"cart-2\",\"kind\":\"create\"}' \\".to_owned(),
            format!("     -H 'Content-Type: application/json' {url}/v1/streams/event-sourcing/events"),
            format!("hapax tail --server {url} --stream metering"),
            format!("hapax explain --server {url} --stream telemetry-strict e-4"),
        ] {
            say::line(format_args!("  {line}"));
        }
    }

    fn get(&self, route: Route) -> anyhow::Result<Value> {
        self.call(&Call::get(route))
    }

    fn call(&self, call: &Call) -> anyhow::Result<Value> {
        self.client.call(call).and_then(|answer| answer.json()).map_err(told)
    }
}
