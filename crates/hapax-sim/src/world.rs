//! A world: clients, servers, a clock and a disk, all from one seed; and the auditor, who writes everything down.
//!
//! What holds: one thread, no real time, and nothing that depends on the order of a hash map. The same seed gives the same
//! trace, byte for byte.
//!
//! Two kinds: servers that contend for one directory on a bad disk (`directory`), and servers that share one store in memory
//! and overtake one another (`overlapping`).

mod branch;
mod directory;
mod overlapping;

use std::collections::{BTreeMap, VecDeque};

use crate::audit::Auditor;
use crate::check::{Check, Violation};
use crate::clients::Clients;
use crate::plan::{DAY, HOUR, Plan, SECOND, TENANTS};
use crate::random::Random;
use crate::trace::Trace;
use crate::words::{Asked, Client, Told, What};

/// What came of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The seed that gives it again.
    pub seed: u64,
    /// How often a process or the machine went down, in this world and in the branches that were tried from it.
    pub crashes: u64,
    /// The same by what was under way.
    pub crashes_by: BTreeMap<&'static str, u64>,
    /// Events that were sent.
    pub events: u64,
    /// Requests that were sent.
    pub requests: u64,
    /// Turns that were taken again or given up because another server was quicker.
    pub conflicts: u64,
    /// Lines of the trace.
    pub steps: u64,
    /// SHA-256 of the trace.
    pub trace_hash: [u8; 32],
    /// What the auditor found.
    pub violations: Vec<Violation>,
}

/// Everything but the store.
pub(crate) struct World {
    seed: u64,
    pub(crate) plan: Plan,
    pub(crate) random: Random,
    pub(crate) now: i64,
    pub(crate) trace: Trace,
    pub(crate) auditor: Auditor,
    pub(crate) clients: Clients,
    /// What will be sent again: nobody answered, or somebody is not sure.
    again: VecDeque<Asked>,
    numbers: u64,
    pub(crate) crashes: BTreeMap<&'static str, u64>,
    events: u64,
    pub(crate) conflicts: u64,
}

/// Plays the world of a seed.
pub(crate) fn play(seed: u64, keeps_text: bool) -> (Report, String) {
    crate::house::hush();
    let mut random = Random::new(seed);
    let plan = Plan::draw(&mut random);
    let clients = Clients::new(&plan, &mut random);
    let mut world = World {
        seed,
        auditor: Auditor::new(&plan),
        clients,
        // 15 January 2026, at some second of the day.
        now: 1_768_435_200 * SECOND + random.between(0, 86_400) * SECOND,
        trace: Trace::new(keeps_text),
        again: VecDeque::new(),
        numbers: 0,
        crashes: BTreeMap::new(),
        events: 0,
        conflicts: 0,
        plan,
        random,
    };
    world.found();
    if world.random.once_in(6) {
        overlapping::play(&mut world);
    } else {
        directory::play(&mut world);
    }
    world.finish()
}

impl World {
    pub(crate) fn tell(&mut self, who: &str, what: std::fmt::Arguments<'_>) {
        self.trace.tell(self.now, who, what);
    }

    pub(crate) fn violated(&mut self, check: Check, what: String) {
        self.tell("auditor", format_args!("{}: {what}", check.name()));
        self.auditor.note(check, what);
    }

    /// The first that is asked: contracts and handlers.
    fn found(&mut self) {
        for stream in 0..self.plan.streams.len() {
            let it = &self.plan.streams[stream];
            let contract = it.contract("enforce", it.same, it.different);
            self.tell("world", format_args!("stream {} of {}: {contract:?}", it.name.clone(), TENANTS[it.tenant]));
            let what = What::Put { stream, contract };
            let asked = self.asked(Client::Person, what, None);
            self.again.push_back(asked);
        }
        for handler in 0..self.plan.handlers.len() {
            let what = format!("{:?}", self.plan.handlers[handler]);
            self.tell("world", format_args!("{what}"));
            let asked = self.asked(Client::Person, What::Declare { handler }, None);
            self.again.push_back(asked);
        }
    }

    fn asked(&mut self, client: Client, what: What, key: Option<String>) -> Asked {
        self.numbers += 1;
        Asked { number: self.numbers, client, key, what }
    }

    /// Some requests that come together.
    pub(crate) fn gather(&mut self) -> Vec<Asked> {
        let count = 1 + self.random.weighted(&[6, 3, 1]);
        (0..count).map(|_| self.next_asked()).collect()
    }

    fn next_asked(&mut self) -> Asked {
        if !self.again.is_empty() && (self.plan.is_patient && self.numbers < 12 || self.random.once_in(2)) {
            // Not always in the order in which they were first sent.
            let place = self.random.below(self.again.len().min(3));
            if let Some(Asked { client, key, what, .. }) = self.again.remove(place) {
                return self.asked(client, what, key);
            }
        }
        let (client, what) = self.clients.ask(&mut self.random, self.now);
        if let What::Events { sent, .. } = &what {
            self.events += sent.len() as u64;
        }
        let key = match self.random.below(8) {
            0..4 => None,
            // Keys that are used again for something else.
            4 => Some(format!("k{}", self.random.below(4))),
            _ => Some(format!("own-{}", self.numbers)),
        };
        self.asked(client, what, key)
    }

    /// From here on it may have happened.
    pub(crate) fn asking(&mut self, asked: &[Asked]) {
        for one in asked {
            let brief = brief(&one.what);
            let key = one.key.as_deref().unwrap_or("-");
            self.tell("ask", format_args!("{} {:?} key {key}: {brief}", one.number, one.client));
            self.auditor.asked(one, self.now);
        }
    }

    /// The answers travel. Some are lost, and some are not believed.
    pub(crate) fn deliver(&mut self, asked: Vec<Asked>, answers: &[Option<Told>]) {
        for (place, one) in asked.into_iter().enumerate() {
            let told = answers.get(place).and_then(Option::as_ref);
            let Some(told) = told.filter(|_| !self.random.once_in(9)) else {
                self.tell("told", format_args!("{} nothing", one.number));
                self.retry(one, 4);
                continue;
            };
            let text = String::from_utf8_lossy(&told.body).into_owned();
            self.tell(
                "told",
                format_args!("{} {} {}{text}", one.number, told.status, if told.replayed { "again " } else { "" }),
            );
            self.auditor.told(one.number, told);
            self.clients.hear(&one, told);
            let failed = told.status >= 500 || told.status == 404;
            self.retry(one, if failed { 3 } else { 1 });
        }
    }

    /// Perhaps it is sent again: as it was, or cut otherwise.
    fn retry(&mut self, asked: Asked, quarters: usize) {
        let founds = matches!(asked.what, What::Put { .. } | What::Declare { .. }) && quarters > 1;
        if self.again.len() > 12 || (!founds && self.random.below(5) >= quarters) {
            return;
        }
        let cut = if self.random.once_in(4) { self.clients.cut(&asked.what) } else { None };
        match cut {
            Some(what) => self.again.push_back(Asked { key: None, what, ..asked }),
            None => self.again.push_back(asked),
        }
    }

    /// The clock goes on, and sometimes it does not.
    pub(crate) fn tick(&mut self) {
        let step = match self.random.weighted(&[20, 6, 3, 2, 1, 1]) {
            0 => self.random.between(0, 900) * 1_000_000,
            1 => self.random.between(1, 60) * SECOND,
            2 => self.random.between(1, 40) * 60 * SECOND,
            3 => -self.random.between(1, 2_000) * 1_000_000,
            4 if self.plan.wild_clock => self.random.between(1, 50) * HOUR,
            4 => self.random.between(5, 30) * 60 * SECOND,
            _ if self.plan.wild_clock => -self.random.between(1, 30) * HOUR,
            _ => -self.random.between(1, 600) * SECOND,
        };
        self.now += step;
        // Attempts are kept for 30 days; a world is shorter.
        let start = 1_768_435_200 * SECOND;
        self.now = self.now.clamp(start - DAY, start + 25 * DAY);
        self.auditor.clock(self.now);
    }

    fn finish(self) -> (Report, String) {
        let crashes = self.crashes.values().sum();
        let steps = self.trace.steps;
        let (trace_hash, text) = self.trace.finish();
        let report = Report {
            seed: self.seed,
            crashes,
            crashes_by: self.crashes,
            events: self.events,
            requests: self.numbers,
            conflicts: self.conflicts,
            steps,
            trace_hash,
            violations: self.auditor.violations,
        };
        (report, text)
    }
}

/// A request in a line.
fn brief(what: &What) -> String {
    match what {
        What::Events { stream, sent, atomic, dry, .. } => {
            let documents: Vec<_> = sent.iter().map(|sent| String::from_utf8_lossy(&sent.bytes)).collect();
            format!("events of {stream} atomic {atomic} dry {dry} {}", documents.join(" "))
        }
        What::Claim { .. }
        | What::Say { .. }
        | What::Put { .. }
        | What::Declare { .. }
        | What::Correct { .. }
        | What::Close { .. }
        | What::Acknowledge { .. }
        | What::MakeKey { .. }
        | What::EndKey { .. } => format!("{what:?}"),
    }
}
