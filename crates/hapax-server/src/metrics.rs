//! What is counted. A name, its help and its labels stand together; `docs/operating.md` has a row for each.
//!
//! Ids, lanes and keys are never labels: their number has no bound.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use hapax_core::duration::Bound;
use hapax_core::lane::Lane;
use hapax_core::receipt::Receipt;
use hapax_core::time::Time;
use hapax_core::words::{Code, Mark, Verdict};
use hapax_store::seam::{Figures, Read, StreamKey};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use crate::rate::Limit;

mod lateness;

use lateness::{Lateness, Spread};

/// Everything that is counted while the server runs.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    events: Family<VerdictLabels, Counter>,
    marks: Family<MarkLabels, Counter>,
    requests: Family<RequestLabels, Counter>,
    request_seconds: Histogram,
    replayed: Counter,
    limited: Family<LimitLabels, Counter>,
    handshakes_failed: Family<WhyLabels, Counter>,
    commit_seconds: Histogram,
    turn_events: Histogram,
    lateness_seconds: Lateness,
    claims: Family<DecisionLabels, Counter>,
    steps_back: Counter,
    /// Requests that wait for the writer.
    pub waiting: Gauge,
    /// Connections that follow a stream.
    pub followers: Gauge,
    gaps_open: Family<StreamLabels, Gauge>,
    lanes: Family<StreamLabels, Gauge>,
    stale_lanes: Family<StreamLabels, Gauge>,
    offset: Family<StreamLabels, Gauge<u64, AtomicU64>>,
    lag: Family<HandlerLabels, Gauge>,
    dead: Family<HandlerLabels, Gauge>,
    leases: Family<HandlerLabels, Gauge>,
    attempts: Gauge,
    resident_bytes: Gauge<u64, AtomicU64>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct VerdictLabels {
    tenant: String,
    stream: String,
    verdict: &'static str,
    code: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct MarkLabels {
    tenant: String,
    stream: String,
    mark: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct LimitLabels {
    limit: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct WhyLabels {
    why: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    status: u16,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct DecisionLabels {
    decision: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct StreamLabels {
    tenant: String,
    stream: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct HandlerLabels {
    tenant: String,
    handler: String,
}

impl Default for Metrics {
    fn default() -> Self {
        let seconds = || Histogram::new(exponential_buckets(0.000_1, 2.0, 18));
        let mut metrics = Self {
            registry: Registry::with_prefix("hapax"),
            events: Family::default(),
            marks: Family::default(),
            requests: Family::default(),
            request_seconds: seconds(),
            replayed: Counter::default(),
            limited: Family::default(),
            handshakes_failed: Family::default(),
            commit_seconds: seconds(),
            turn_events: Histogram::new(exponential_buckets(1.0, 4.0, 9)),
            lateness_seconds: Lateness::default(),
            claims: Family::default(),
            steps_back: Counter::default(),
            waiting: Gauge::default(),
            followers: Gauge::default(),
            gaps_open: Family::default(),
            lanes: Family::default(),
            stale_lanes: Family::default(),
            offset: Family::default(),
            lag: Family::default(),
            dead: Family::default(),
            leases: Family::default(),
            attempts: Gauge::default(),
            resident_bytes: Gauge::default(),
        };
        // What never happened is 0, not missing: alerts ask for its growth.
        for limit in [Limit::Requests, Limit::Events] {
            _ = metrics.limited.get_or_create(&LimitLabels { limit: limit.name() });
        }
        for why in ["failed", "late", "plain"] {
            _ = metrics.handshakes_failed.get_or_create(&WhyLabels { why });
        }
        metrics.register();
        metrics
    }
}

impl Metrics {
    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register("events", "Events by verdict and code", self.events.clone());
        registry.register("marks", "Marks on accepted events", self.marks.clone());
        registry.register("requests", "Requests by route and status", self.requests.clone());
        registry.register("request_seconds", "From a request's headers to its answer", self.request_seconds.clone());
        registry.register("replayed_requests", "Requests answered from their record", self.replayed.clone());
        registry.register("rate_limited", "Requests refused by a limit", self.limited.clone());
        registry.register(
            "tls_handshakes_failed",
            "Connections without a handshake of TLS",
            self.handshakes_failed.clone(),
        );
        registry.register("commit_seconds", "A turn from load to sync", self.commit_seconds.clone());
        registry.register("turn_events", "Events of one turn", self.turn_events.clone());
        registry.register(
            "lateness_seconds",
            "ingested_at - observed_at of accepted events",
            self.lateness_seconds.clone(),
        );
        registry.register("claims", "Claims by decision", self.claims.clone());
        registry.register("clock_stepped_back", "Steps back of the wall clock", self.steps_back.clone());
        registry.register("inbox_requests", "Requests that wait for the writer", self.waiting.clone());
        registry.register("followers", "Connections that follow a stream", self.followers.clone());
        registry.register("gaps_open", "Open gaps of all lanes", self.gaps_open.clone());
        registry.register("lanes", "Lanes", self.lanes.clone());
        registry.register("stale_lanes", "Lanes that were silent for too long", self.stale_lanes.clone());
        registry.register("ledger_offset", "Where the ledger ends", self.offset.clone());
        registry.register("handler_lag", "Events that a handler has still to do", self.lag.clone());
        registry.register("dead_letters", "Claims that were given up", self.dead.clone());
        registry.register("leases_held", "Claims that somebody holds", self.leases.clone());
        registry.register("audit_attempts", "Attempts on record that were not accepted", self.attempts.clone());
        registry.register("resident_bytes", "Memory of the process", self.resident_bytes.clone());
    }

    /// A turn was taken.
    pub fn turn(&self, events: usize, seconds: f64) {
        self.commit_seconds.observe(seconds);
        self.turn_events.observe(events as f64);
    }

    /// A request was answered.
    pub fn request(&self, route: &'static str, status: u16, seconds: f64) {
        self.requests.get_or_create(&RequestLabels { route, status }).inc();
        self.request_seconds.observe(seconds);
    }

    /// A connection was refused, or what came over it was no request.
    pub fn refused(&self, status: u16) {
        self.requests.get_or_create(&RequestLabels { route: "none", status }).inc();
    }

    /// A request was answered from its record.
    pub fn replayed(&self) {
        self.replayed.inc();
    }

    /// A request was refused by a limit.
    pub fn limited(&self, limit: Limit) {
        self.limited.get_or_create(&LimitLabels { limit: limit.name() }).inc();
    }

    /// A connection did not get through its handshake: `failed`, `late` or `plain`.
    pub fn handshake_failed(&self, why: &'static str) {
        self.handshakes_failed.get_or_create(&WhyLabels { why }).inc();
    }

    /// A claim was decided.
    pub fn claim(&self, decision: &str) {
        self.claims.get_or_create(&DecisionLabels { decision: decision.to_owned() }).inc();
    }

    /// Events of a stream were judged. Counted up per turn, because a label costs more than an event.
    pub fn receipts<'r>(&self, key: &StreamKey, receipts: impl IntoIterator<Item = &'r Receipt>) {
        let StreamKey { tenant, stream } = key;
        let mut tally: Vec<((Verdict, Option<Code>), u64)> = Vec::new();
        let mut marks = [0_u64; Mark::ALL.len()];
        let mut lateness = Spread::default();
        for receipt in receipts {
            let key = (receipt.verdict(), receipt.code());
            match tally.iter_mut().find(|(known, _)| *known == key) {
                Some((_, count)) => *count += 1,
                None => tally.push((key, 1)),
            }
            if let Receipt::Accepted(entry) = receipt {
                entry.marks.iter().for_each(|mark| marks[mark as usize] += 1);
                if let Some(observed) = entry.observed_at {
                    lateness.add(observed, entry.at);
                }
            }
        }
        self.lateness_seconds.add(&lateness);
        for ((verdict, code), count) in tally {
            let (tenant, stream) = (tenant.to_string(), stream.to_string());
            let labels = VerdictLabels { tenant, stream, verdict: verdict.name(), code: code.map_or("", Code::name) };
            self.events.get_or_create(&labels).inc_by(count);
        }
        for (mark, count) in Mark::ALL.iter().zip(marks).filter(|(_, count)| *count > 0) {
            let labels = MarkLabels { tenant: tenant.to_string(), stream: stream.to_string(), mark: mark.name() };
            self.marks.get_or_create(&labels).inc_by(count);
        }
    }

    /// Everything as Prometheus reads it. What is kept in the store is asked for now.
    pub fn text(&self, reader: &dyn Read, steps_back: u64, now: Time) -> String {
        let figures = reader.figures();
        if let Err(error) = &figures {
            tracing::warn!(%error, "some figures are missing");
        }
        let figures = figures.ok();
        if let Some(figures) = &figures {
            self.gauge(figures);
            figures.streams.iter().for_each(|stream| self.silence(reader, &stream.key, now));
        }
        self.steps_back.inc_by(steps_back.saturating_sub(self.steps_back.get()));
        self.resident_bytes.set(resident_bytes());
        let mut text = String::new();
        let disk = figures.as_ref().map(disk).unwrap_or_default();
        // Writing to a string cannot fail.
        _ = encode_registry(&mut text, &self.registry);
        _ = encode_registry(&mut text, &disk);
        _ = encode_eof(&mut text);
        text
    }

    /// Counts the lanes that were silent for longer than their contract allows. Where none is, nothing is looked at.
    fn silence(&self, reader: &dyn Read, stream: &StreamKey, now: Time) {
        let silence = reader.versions(stream).ok().and_then(|mut all| all.pop()).map(|it| it.contract.silence);
        let Some(silence) = silence.filter(|silence| *silence != Bound::None) else { return };
        let mut after: Arc<str> = Arc::from("");
        let mut stale = 0;
        while let Ok(page) = reader.lanes(stream, false, &after, 1_000) {
            let is_stale = |lane: &Lane| lane.last_arrival.is_some_and(|last| !silence.holds(now.since(last)));
            stale += page.items.iter().filter(|(_, record)| is_stale(&record.lane)).count() as i64;
            match page.next {
                Some(next) => after = next,
                None => break,
            }
        }
        let labels = StreamLabels { tenant: stream.tenant.to_string(), stream: stream.stream.to_string() };
        self.stale_lanes.get_or_create(&labels).set(stale);
    }

    fn gauge(&self, figures: &Figures) {
        let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
        for stream in &figures.streams {
            let labels = StreamLabels { tenant: stream.key.tenant.to_string(), stream: stream.key.stream.to_string() };
            self.gaps_open.get_or_create(&labels).set(whole(stream.gaps_open));
            self.lanes.get_or_create(&labels).set(whole(stream.lanes));
            self.offset.get_or_create(&labels).set(stream.head.offset);
        }
        for (key, handler) in &figures.handlers {
            let labels = HandlerLabels { tenant: key.tenant.to_string(), handler: key.handler.to_string() };
            self.lag.get_or_create(&labels).set(whole(handler.lag));
            self.dead.get_or_create(&labels).set(whole(handler.dead));
            self.leases.get_or_create(&labels).set(whole(handler.held));
        }
        self.attempts.set(whole(figures.attempts));
    }
}

/// What the store takes on its disk. What a store does not have is left out: a disk of 0 bytes would be an alert.
fn disk(figures: &Figures) -> Registry {
    let mut registry = Registry::with_prefix("hapax");
    let mut add = |name: &str, help: &str, bytes: Option<u64>| {
        if let Some(bytes) = bytes {
            let gauge = Gauge::<u64, AtomicU64>::default();
            gauge.set(bytes);
            registry.register(name, help, gauge);
        }
    };
    let kept = figures.log_bytes > 0;
    add("log_bytes", "Size of the log", kept.then_some(figures.log_bytes));
    add("index_bytes", "Size of the index", kept.then_some(figures.index_bytes));
    add("disk_free_bytes", "Free space for the store", figures.free_bytes);
    registry
}

/// From `/proc`; 0 where there is none.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
}
