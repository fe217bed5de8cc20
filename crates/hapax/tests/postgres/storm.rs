//! The database, its connections and the servers are killed again and again, and a server is frozen and thawed, while producers send
//! what they have to all of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::cluster::{Cluster, wait_until};
use crate::events::{CONTRACT, counted, entries, proved};
use crate::fleet::Fleet;
use crate::producers::Producer;

/// Unless `HAPAX_PG_KILLS` says otherwise.
const KILLS: u64 = 12;

/// Events of a request.
const FEW: u64 = 5;
/// So many that their ids are written on a connection of their own.
const MANY: u64 = 250;

fn kills() -> u64 {
    std::env::var("HAPAX_PG_KILLS").map_or(KILLS, |it| it.parse().expect("HAPAX_PG_KILLS is a number"))
}

#[test]
fn killed_with_its_database_again_and_again_one_server_loses_nothing_and_takes_nothing_twice() {
    storm("one server, four producers", 1, 4, FEW, kills());
}

#[test]
fn three_servers_that_get_every_event_twice_take_it_once_whoever_is_killed() {
    storm("three servers, eight producers, each event to two of them", 3, 8, FEW, kills());
}

#[test]
fn ids_that_are_written_beside_large_turns_are_as_safe_as_these() {
    storm("one server, three producers with large batches", 1, 3, MANY, kills());
    storm("two servers, two producers with large batches, each event to both", 2, 2, MANY, kills() / 3);
}

/// Whoever waits for it to be over is let go, also when this side fails.
struct Over<'s>(&'s AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn storm(what: &str, servers: usize, producers: u64, batch: u64, kills: u64) {
    let cluster = Cluster::new(&[]);
    let url = cluster.url("hapax");
    let fleet = Fleet::start(&url, servers);
    fleet.with(0, |server| server.put("s", CONTRACT));
    let (stop, acknowledged) = (AtomicBool::new(false), AtomicU64::new(0));
    let mut tally = BTreeMap::new();
    let producers: Vec<Producer> = std::thread::scope(|scope| {
        let over = Over(&stop);
        let (fleet, stop, acknowledged) = (&fleet, &stop, &acknowledged);
        let start = |id| {
            scope.spawn(move || {
                let mut producer = Producer::new(id, fleet, batch);
                producer.produce(stop, acknowledged);
                producer
            })
        };
        let threads: Vec<_> = (0..producers).map(start).collect();
        let more = |batches: u64| {
            let enough = acknowledged.load(Ordering::Relaxed) + batches;
            wait_until("producers get on", || acknowledged.load(Ordering::Relaxed) >= enough);
        };
        for kill in 0..kills {
            // A different moment each time, and no waiting for a while.
            more(1 + kill * 7 % 23);
            *tally.entry(one(kill, &cluster, fleet)).or_insert(0_u64) += 1;
            // Once in ten: a server stands still while the others go on, longer than the database waits for it.
            if servers > 1 && kill % 10 == 4 {
                let frozen = kill as usize % servers;
                fleet.signal(frozen, "STOP");
                more(20);
                fleet.signal(frozen, "CONT");
                *tally.entry("server frozen").or_default() += 1;
            }
        }
        more(10);
        drop(over);
        threads.into_iter().map(|thread| thread.join().expect("a producer")).collect()
    });

    for index in 0..servers {
        let mut client = fleet.connect(index).expect("a server");
        let found = entries(&mut client);
        for producer in &producers {
            for (id, told) in &producer.told {
                assert_eq!(found.get(id), Some(told), "{id} was acknowledged");
            }
        }
        let sent: u64 = producers.iter().map(Producer::events).sum();
        assert_eq!(found.len() as u64, sent, "each event is there once");
        counted(&mut client, (0..).zip(producers.iter().map(Producer::events)));
    }
    proved(&url);
    let mut refused = BTreeMap::new();
    for (what, times) in producers.iter().flat_map(|producer| &producer.refused) {
        *refused.entry(what.as_str()).or_insert(0) += times;
    }
    let events: u64 = producers.iter().map(|producer| producer.told.len() as u64).sum();
    println!(
        "figure: {what}: {kills} kills {tally:?}, {events} events acknowledged, 0 lost, 0 twice, counters exact; answered meanwhile: {refused:?}"
    );
}

/// One kill, and whoever was killed is there again.
fn one(kill: u64, cluster: &Cluster, fleet: &Fleet) -> &'static str {
    match kill % 4 {
        0 => {
            cluster.kill();
            cluster.start();
            "database"
        }
        1 | 3 => {
            fleet.replace(kill as usize / 2 % fleet.len());
            "server"
        }
        _ => {
            wait_until("there is a connection to kill", || {
                let found = cluster.backends();
                found.get(kill as usize * 5 % found.len().max(1)).is_some_and(|it| cluster.kill_backend(*it))
            });
            "connection"
        }
    }
}
