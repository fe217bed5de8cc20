//! What a run used: time on the wall, processor time of everybody in it, and bytes of Postgres's log.
//!
//! Everything runs on one machine, so what one side uses the other side does not have.

use std::fs;
use std::time::Instant;

use serde::Serialize;
use tokio_postgres::Client;

use crate::clock::now;

/// Reads what is used, before and after.
pub(crate) struct Meter<'a> {
    admin: &'a Client,
    postgres: u32,
    servers: Vec<u32>,
}

/// What was used until now.
pub(crate) struct Reading {
    postgres: f64,
    servers: f64,
    client: f64,
    machine: f64,
    wal: f64,
    at: Instant,
}

/// What a run used.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Used {
    pub(crate) seconds: f64,
    /// Of the processor.
    pub(crate) postgres_seconds: f64,
    pub(crate) servers_seconds: f64,
    pub(crate) client_seconds: f64,
    /// Of whoever has nothing to do with it: a machine that is busy otherwise gives other figures.
    pub(crate) others_seconds: f64,
    pub(crate) wal_bytes: f64,
}

impl<'a> Meter<'a> {
    /// For these processes.
    pub(crate) fn new(admin: &'a Client, postgres: u32, servers: Vec<u32>) -> Meter<'a> {
        Meter { admin, postgres, servers }
    }

    /// What was used until now; the clock runs from here.
    pub(crate) async fn begin(&self) -> anyhow::Result<Reading> {
        let wal = self.wal().await?;
        let [postgres, servers, client, machine] = self.processors();
        Ok(Reading { postgres, servers, client, machine, wal, at: now() })
    }

    /// What was used since then.
    pub(crate) async fn end(&self, began: Reading) -> anyhow::Result<Used> {
        let seconds = began.at.elapsed().as_secs_f64();
        let [postgres, servers, client, machine] = self.processors();
        let (postgres, servers, client) = (postgres - began.postgres, servers - began.servers, client - began.client);
        Ok(Used {
            seconds,
            postgres_seconds: postgres,
            servers_seconds: servers,
            client_seconds: client,
            others_seconds: (machine - began.machine - postgres - servers - client).max(0.0),
            wal_bytes: self.wal().await? - began.wal,
        })
    }

    fn processors(&self) -> [f64; 4] {
        let servers = self.servers.iter().map(|pid| of_process(*pid)).sum();
        [with_children(self.postgres), servers, of_process(std::process::id()), of_machine()]
    }

    async fn wal(&self) -> anyhow::Result<f64> {
        let written = "SELECT (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8";
        Ok(self.admin.query_one(written, &[]).await?.get(0))
    }
}

/// What a server, its client and the machine have used until now, for servers of any kind.
pub(crate) struct Gauge {
    server: f64,
    client: f64,
    machine: f64,
    at: Instant,
}

/// What a run against a server of any kind used.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Spent {
    pub(crate) seconds: f64,
    /// Of the processor, children included; of a library, what its only process used.
    pub(crate) server_seconds: f64,
    pub(crate) client_seconds: f64,
    /// Of whoever has nothing to do with it: a machine that is busy otherwise gives other figures.
    pub(crate) others_seconds: f64,
}

impl Gauge {
    /// Of this server, or of a library that runs in this process; the clock runs from here.
    pub(crate) fn begin(server: Option<u32>) -> Gauge {
        let client = of_process(std::process::id());
        Gauge { server: server.map_or(0.0, with_children), client, machine: of_machine(), at: now() }
    }

    /// What was used since then.
    pub(crate) fn end(self, server: Option<u32>) -> Spent {
        let seconds = self.at.elapsed().as_secs_f64();
        let machine = of_machine() - self.machine;
        let client = of_process(std::process::id()) - self.client;
        let (server, client) = match server {
            Some(server) => (with_children(server) - self.server, client),
            None => (client, 0.0),
        };
        let others_seconds = (machine - server - client).max(0.0);
        Spent { seconds, server_seconds: server, client_seconds: client, others_seconds }
    }
}

impl Spent {
    /// Was somebody else busy on the machine?
    pub(crate) fn is_disturbed(&self) -> bool {
        self.others_seconds > OTHERS_MAX * self.seconds
    }
}

/// Processor seconds of others in a second of a run, above which it is called disturbed.
pub(crate) const OTHERS_MAX: f64 = 0.2;

/// Seconds of a process, without those of its children.
fn of_process(pid: u32) -> f64 {
    stat(pid).map_or(0.0, |stat| stat.own)
}

/// Seconds of a process and all its children: the living, and those that it has waited for. What a child used is counted
/// once, before its end and after it.
fn with_children(pid: u32) -> f64 {
    let folders = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = folders.filter_map(|folder| folder.file_name().to_str()?.parse().ok());
    let children = pids.filter_map(stat).filter(|stat| stat.parent == pid);
    let ended = stat(pid).map_or(0.0, |stat| stat.waited_for);
    of_process(pid) + ended + children.map(|stat| stat.own).sum::<f64>()
}

/// Seconds in which a core was not idle, also those that the host took away.
fn of_machine() -> f64 {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let all = text.lines().next().unwrap_or_default().split_whitespace().skip(1).take(8);
    let ticks: Vec<f64> = all.filter_map(|ticks| ticks.parse().ok()).collect();
    let idle: f64 = ticks.iter().skip(3).take(2).sum();
    (ticks.iter().sum::<f64>() - idle) / second()
}

fn second() -> f64 {
    rustix::param::clock_ticks_per_second() as f64
}

struct Stat {
    parent: u32,
    own: f64,
    waited_for: f64,
}

fn stat(pid: u32) -> Option<Stat> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may hold anything, also parentheses.
    let fields: Vec<_> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |index: usize| fields.get(index)?.parse::<f64>().ok();
    Some(Stat {
        parent: fields.get(1)?.parse().ok()?,
        own: (ticks(11)? + ticks(12)?) / second(),
        waited_for: (ticks(13)? + ticks(14)?) / second(),
    })
}
