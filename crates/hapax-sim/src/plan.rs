//! What a world consists of, drawn from its seed: tenants, streams with their contracts, handlers, the habits of the clock
//! and of the disk.
//!
//! Names are chosen so that careless keys collide: tenant `t` with stream `s-s` and tenant `t-s` with stream `s` are the same
//! text once they are joined.

use crate::random::Random;

pub(crate) const SECOND: i64 = 1_000_000_000;
pub(crate) const HOUR: i64 = 3_600 * SECOND;
pub(crate) const DAY: i64 = 24 * HOUR;

/// The two tenants of every world.
pub(crate) const TENANTS: [&str; 2] = ["t", "t-s"];
const STREAMS: [&str; 3] = ["s", "s-s", "s.s"];

/// A world before anything has happened in it.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) streams: Vec<StreamPlan>,
    pub(crate) handlers: Vec<HandlerPlan>,
    /// Does the clock jump by days, or only by seconds?
    pub(crate) wild_clock: bool,
    /// Do clients wait until streams and handlers are there?
    pub(crate) is_patient: bool,
}

/// The kinds of contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Strict,
    Tolerant,
    Sourcing,
    Metering,
    Measurements,
    CloudEvents,
}

const KINDS: [Kind; 6] =
    [Kind::Strict, Kind::Tolerant, Kind::Sourcing, Kind::Metering, Kind::Measurements, Kind::CloudEvents];

/// A stream and what its owner wrote down about it.
#[derive(Clone, Debug)]
pub(crate) struct StreamPlan {
    pub(crate) tenant: usize,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    /// How long ids are kept, if not for ever.
    pub(crate) keep: Option<i64>,
    /// How long attempts are kept.
    pub(crate) audit_keep: i64,
    /// The counter `usage`: its period and its lateness.
    pub(crate) period: &'static str,
    pub(crate) lateness: Option<i64>,
    pub(crate) same: &'static str,
    pub(crate) different: &'static str,
}

impl StreamPlan {
    /// Are ids unique within their lanes only?
    pub(crate) fn is_by_lane(&self) -> bool {
        matches!(self.kind, Kind::Measurements | Kind::CloudEvents)
    }

    pub(crate) fn counts(&self) -> bool {
        self.kind == Kind::Metering
    }

    /// The contract as TOML. What may change is what a person changes.
    pub(crate) fn contract(&self, mode: &str, same: &str, different: &str) -> String {
        let preset = match self.kind {
            Kind::Strict => "telemetry-strict",
            Kind::Tolerant => "telemetry-tolerant",
            Kind::Sourcing => "event-sourcing",
            Kind::Metering => "metering",
            Kind::Measurements => "measurements",
            Kind::CloudEvents => "cloudevents",
        };
        let mut text = format!("preset = \"{preset}\"\nmode = \"{mode}\"\n");
        text.push_str(&format!("[identity]\nsame = \"{same}\"\ndifferent = \"{different}\"\n"));
        if let Some(keep) = self.keep {
            text.push_str(&format!("keep = \"{}s\"\n", keep / SECOND));
        }
        text.push_str(&format!("[audit]\nkeep = \"{}s\"\n", self.audit_keep / SECOND));
        match self.kind {
            // Twice what two copies of an event can be apart.
            Kind::Tolerant if self.keep.is_some() => text.push_str("[time]\npast = \"1h\"\nlate = \"10m\"\n"),
            Kind::Metering => {
                let lateness = self.lateness.map_or("none".to_owned(), |it| format!("{}s", it / SECOND));
                text.push_str(&format!("[counters.usage]\nperiod = \"{}\"\nlateness = \"{lateness}\"\n", self.period));
            }
            Kind::Tolerant | Kind::Strict | Kind::Sourcing | Kind::Measurements | Kind::CloudEvents => {}
        }
        text
    }
}

/// Which of a lane's events may be claimed when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    None,
    LatestOnly,
    Sequential,
}

/// A handler as its owner declares it.
#[derive(Clone, Debug)]
pub(crate) struct HandlerPlan {
    pub(crate) tenant: usize,
    pub(crate) name: String,
    pub(crate) stream: Option<usize>,
    pub(crate) order: Order,
    pub(crate) lease: i64,
    pub(crate) attempts_max: u32,
}

impl Plan {
    pub(crate) fn draw(random: &mut Random) -> Self {
        let mut streams = Vec::new();
        for name in STREAMS.iter().take(1 + random.weighted(&[3, 4, 2])) {
            let kind = *random.pick(&KINDS);
            let keep = match kind {
                Kind::Tolerant if random.once_in(3) => Some(2 * HOUR),
                Kind::Strict if random.once_in(4) => Some(20 * 60 * SECOND),
                Kind::Strict
                | Kind::Tolerant
                | Kind::Sourcing
                | Kind::Metering
                | Kind::Measurements
                | Kind::CloudEvents => None,
            };
            let audit_keep = *random.pick(&[600 * SECOND, 3 * HOUR, 30 * DAY]);
            let period = *random.pick(&["month", "day", "hour", "none"]);
            let lateness = *random.pick(&[Some(48 * HOUR), Some(HOUR), Some(5 * SECOND), None]);
            let same = *random.pick(&["replay", "reject"]);
            let different = *random.pick(&["reject", "reject", "warn"]);
            let plan = |tenant| {
                let name = (*name).to_owned();
                StreamPlan { tenant, name, kind, keep, audit_keep, period, lateness, same, different }
            };
            streams.push(plan(0));
            if streams.len() == 1 || random.once_in(2) {
                streams.push(plan(1));
            }
        }
        let handlers = (0..1 + random.below(3)).map(|number| HandlerPlan::draw(random, number, &streams)).collect();
        Self { streams, handlers, wild_clock: random.once_in(3), is_patient: !random.once_in(3) }
    }
}

impl HandlerPlan {
    fn draw(random: &mut Random, number: usize, streams: &[StreamPlan]) -> Self {
        let stream = (!random.once_in(4)).then(|| random.below(streams.len()));
        let tenant = stream.map_or_else(|| random.below(2), |stream| streams[stream].tenant);
        let order = *random.pick(&[Order::None, Order::LatestOnly, Order::Sequential]);
        let lease = *random.pick(&[5 * SECOND, 30 * SECOND, 900 * SECOND]);
        let attempts_max = *random.pick(&[1, 2, 5]);
        Self { tenant, name: format!("h{number}"), stream, order, lease, attempts_max }
    }
}
