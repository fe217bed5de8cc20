//! Who is measured, and what each of them promises: figures without that compare nothing.

use clap::ValueEnum;
use serde::Serialize;

/// Somebody who takes events and knows which he has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Peer {
    Hapax,
    HapaxBrief,
    Postgres,
    PostgresEach,
    Redis,
    Sqlite,
    Nats,
    NatsSynced,
}

impl Peer {
    pub(super) const ALL: [Peer; 8] = [
        Peer::Hapax,
        Peer::HapaxBrief,
        Peer::Postgres,
        Peer::PostgresEach,
        Peer::Redis,
        Peer::Sqlite,
        Peer::Nats,
        Peer::NatsSynced,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Peer::Hapax => "hapax",
            Peer::HapaxBrief => "hapax-brief",
            Peer::Postgres => "postgres",
            Peer::PostgresEach => "postgres-each",
            Peer::Redis => "redis",
            Peer::Sqlite => "sqlite",
            Peer::Nats => "nats",
            Peer::NatsSynced => "nats-synced",
        }
    }

    /// Does a batch cost it as many syncs as it has events?
    pub(super) fn syncs_each_event(self) -> bool {
        matches!(self, Peer::PostgresEach | Peer::NatsSynced)
    }

    /// How it is used.
    pub(super) fn how(self) -> &'static str {
        match self {
            Peer::Hapax => "`hapax serve`, a ledger in a directory; JSON over HTTP, contract `telemetry-tolerant`",
            Peer::HapaxBrief => "the same, `?brief=true`",
            Peer::Postgres => {
                "a table with one unique key, settings of a fresh cluster; a prepared \
                 `INSERT … SELECT unnest(…) ON CONFLICT DO NOTHING` per batch, binary"
            }
            Peer::PostgresEach => "the same, a transaction per event; those of a batch are pipelined",
            Peer::Redis => "`appendonly yes`, `appendfsync always`, no snapshots; a script per batch: `SET NX`, `XADD`",
            Peer::Sqlite => {
                "WAL, `synchronous=FULL`; `INSERT OR IGNORE`, a transaction per batch; threads share one connection"
            }
            Peer::Nats => {
                "JetStream in files, `Nats-Msg-Id`, a window of an hour; the messages of a batch are sent together"
            }
            Peer::NatsSynced => "the same, `sync_interval: always`",
        }
    }

    /// What has happened when it has answered.
    pub(super) fn answers_when(self) -> &'static str {
        match self {
            Peer::Hapax => "judged, chained and synced; a receipt for each event",
            Peer::HapaxBrief => "the same; of a batch, receipts for what was not accepted and the place of the rest",
            Peer::Postgres | Peer::PostgresEach => "committed and synced",
            Peer::Redis => "in memory, and the file synced",
            Peer::Sqlite => "committed and synced; in the process of the client, without a network",
            Peer::Nats => "written, **not synced**: a power cut may lose two minutes",
            Peer::NatsSynced => "written and synced",
        }
    }
}
