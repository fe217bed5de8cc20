//! A database that is down: everybody is told so, truly, and service resumes by itself when it is back.

use std::path::Path;
use std::time::Duration;

use crate::client::Reply;
use crate::cluster::{Cluster, wait_until};
use crate::events::{CONTRACT, EVENTS, event, proved};
use crate::now;
use crate::process::Server;

/// Service resumes within this after the database takes connections again.
const RESUMES_WITHIN: Duration = Duration::from_secs(2);

fn send(server: &Server, seq: u64) -> Reply {
    server.post(EVENTS, &event(0, seq).to_string())
}

fn effect(reply: &Reply) -> String {
    assert_eq!(reply.status, 503, "{}", reply.text());
    reply.json()["effect"].as_str().unwrap_or_default().to_owned()
}

fn is_ready(server: &Server) -> bool {
    let reply = server.get("/readyz");
    assert!(reply.status == 200 || reply.status == 503, "{}", reply.text());
    reply.status == 200
}

#[test]
fn while_its_database_is_down_it_says_so_and_it_resumes_by_itself() {
    let cluster = Cluster::new(&[]);
    let url = cluster.url("hapax");
    let server = Server::loud(Path::new(&url), "off", &[]);
    server.put("s", CONTRACT);
    assert!(is_ready(&server));
    let mut seq = 0;
    let mut slowest = Duration::ZERO;
    for how in ["killed", "stopped"].into_iter().cycle().take(6) {
        seq += 1;
        assert_eq!(send(&server, seq).status, 201, "{how}");
        if how == "killed" {
            cluster.kill()
        } else {
            cluster.stop_fast()
        }
        // The database has ended before the event was sent, so there is no doubt.
        let refused = send(&server, seq + 1);
        assert_eq!(effect(&refused), "none", "{how}: {}", refused.text());
        assert!(refused.header("retry-after").is_some(), "{how}: {:?}", refused.headers);
        assert_eq!(effect(&server.get(EVENTS)), "none", "reading, {how}");
        wait_until("it says that it is not ready", || !is_ready(&server));
        assert_eq!(server.get("/livez").status, 200, "{how}");
        cluster.start();
        let back = now();
        let taken = loop {
            let reply = send(&server, seq + 1);
            if reply.status != 503 {
                break reply;
            }
            assert!(back.elapsed() < RESUMES_WITHIN, "{how}: {}", reply.text());
            std::thread::park_timeout(Duration::from_millis(5));
        };
        let took = back.elapsed();
        assert!(took < RESUMES_WITHIN, "{how}: {took:?}");
        assert_eq!(taken.status, 201, "it was not there before: {}", taken.text());
        wait_until("it is ready again", || is_ready(&server));
        assert!(back.elapsed() < RESUMES_WITHIN, "{how}: {:?}", back.elapsed());
        slowest = slowest.max(back.elapsed());
        seq += 1;
    }
    assert_eq!(server.get("/v1/streams/s/head").json()["offset"], seq);
    server.stop();
    proved(&url);
    println!("figure: down six times: 503 with effect none, ready and serving at most {slowest:.2?} after its return");
}

#[test]
fn a_database_that_stands_still_is_given_up_and_waited_for() {
    let cluster = Cluster::new(&[]);
    let url = cluster.url("hapax");
    let server = Server::loud(Path::new(&url), "off", &[]);
    server.put("s", CONTRACT);
    assert_eq!(send(&server, 1).status, 201);
    cluster.freeze();
    let began = now();
    let refused = send(&server, 2);
    let (waited, effect) = (began.elapsed(), effect(&refused));
    assert!(effect == "none" || effect == "unknown", "{}", refused.text());
    assert!(!is_ready(&server));
    cluster.thaw();
    let back = now();
    let again = loop {
        let again = send(&server, 2);
        if again.status != 503 {
            break again;
        }
        assert!(back.elapsed() < Duration::from_secs(10), "{}", again.text());
    };
    let resumed = back.elapsed();
    assert!(again.status == 201 || effect == "unknown", "it was said that nothing was written: {}", again.text());
    assert_eq!(server.get("/v1/streams/s/head").json()["offset"], 2);
    server.stop();
    proved(&url);
    println!(
        "figure: a frozen database: 503 with effect {effect} after {waited:.1?}, serving {resumed:.2?} after it went on"
    );
}
