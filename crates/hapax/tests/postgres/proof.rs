//! The commands that work on a database themselves: what they prove, also beside servers, what they make, and what they say
//! where a database has no such thing. None of them shows the password.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use crate::cluster::{Cluster, PASSWORD, wait_until};
use crate::events::{CONTRACT, EVENTS, event, proved};
use crate::process::{Server, folder, run};

/// Runs a command: how it ended, and everything that it said.
fn told(arguments: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } = run(arguments);
    let said = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(!said.contains(PASSWORD) && !said.contains("panicked"), "{arguments:?}: {said}");
    (status.code(), said)
}

/// Events in one request.
fn send(server: &Server, producer: u64, from: u64, to: u64) {
    let events: Vec<Value> = (from..=to).map(|seq| event(producer, seq)).collect();
    let reply = server.post(EVENTS, &Value::from(events).to_string());
    assert_eq!(reply.json()["summary"]["accepted"], to - from + 1, "{}", reply.text());
}

#[test]
fn what_somebody_changed_in_the_tables_is_named() {
    let cluster = Cluster::shared();
    let schema = cluster.schema();
    let url = cluster.url(&schema);
    let heads = folder("postgres-heads").join("heads.json");
    let heads = heads.to_str().expect("a path");
    let server = Server::loud(Path::new(&url), "off", &[]);
    server.put("s", CONTRACT);
    send(&server, 0, 1, 3);
    assert_eq!(told(&["verify", "--store", &url, "--save", heads]).0, Some(0));
    send(&server, 0, 4, 6);
    server.stop();
    proved(&url);

    let tables = ["blocks", "streams", "counters"];
    for table in tables {
        cluster.ask(&format!("CREATE TABLE {schema}.kept_{table} AS SELECT * FROM {schema}.{table}"));
    }
    let verify = ["verify", "--store", &url, "--against", heads];
    let recount = ["recount", "--store", &url];
    // Three entries came in one request, and three in another: two blocks.
    let cut = |first: u64, keeps: u64| {
        let last = first + keeps - 1;
        format!(
            "UPDATE blocks SET last = {last}, ids = ids[:{keeps}], lanes = lanes[:{keeps}], \
             documents = documents[:{keeps}], records = records[:{keeps}] WHERE first = {first}"
        )
    };
    let moved = format!(
        "INSERT INTO blocks SELECT 900, 900, attempt, partition, tenant, stream, ids[3:3], lanes[3:3], documents[3:3], \
         records[3:3] FROM blocks WHERE first = 4; {}",
        cut(4, 2)
    );
    for (command, change, finding) in [
        (&verify[..], "UPDATE blocks SET documents[2] = '{}' WHERE first = 1", "s entry 2: edited"),
        (&verify, "UPDATE blocks SET lanes[3] = 'other' WHERE first = 4", "s entry 6: edited"),
        (&verify, r"UPDATE blocks SET records[1] = '\xff' WHERE first = 4", "s entry 4: "),
        (&verify, &cut(1, 2), "s entry 3: missing"),
        (&verify, &cut(4, 1), "s entry 5: truncated"),
        (&verify, &moved, "s entry 900: it stands beyond"),
        (&verify, "UPDATE streams SET head_hash = decode(repeat('00', 32), 'hex')", "s entry 6: its hash is not"),
        (&verify, "DELETE FROM blocks; DELETE FROM streams", "s entry 1: truncated"),
        (&recount, "DELETE FROM counters", "it is missing"),
        (&recount, &cut(4, 2), "not what the ledger adds up to"),
    ] {
        cluster.ask(&format!("SET search_path = {schema}; {change}"));
        let (code, said) = told(command);
        assert!(code == Some(1) && said.contains(finding), "{change}: {code:?} {said}");
        for table in tables {
            cluster.ask(&format!("DELETE FROM {schema}.{table}"));
            cluster.ask(&format!("INSERT INTO {schema}.{table} SELECT * FROM {schema}.kept_{table}"));
        }
    }
    proved(&url);
    assert_eq!(told(&verify).0, Some(0));
}

#[test]
fn a_ledger_is_proven_while_servers_write_to_it() {
    let cluster = Cluster::shared();
    let url = cluster.url(&cluster.schema());
    let servers = [0, 1].map(|_| Server::loud(Path::new(&url), "off", &[]));
    servers[0].put("s", CONTRACT);
    let (done, mut proofs) = (AtomicBool::new(false), 0);
    std::thread::scope(|scope| {
        for (producer, server) in (0..).zip(&servers) {
            let done = &done;
            scope.spawn(move || {
                let mut from = 1;
                while !done.load(Ordering::Relaxed) {
                    send(server, producer, from, from + 4);
                    from += 5;
                }
            });
        }
        let head = || servers[0].get("/v1/streams/s/head").json()["offset"].as_u64().unwrap_or_default();
        while proofs < 4 {
            let before = head();
            wait_until("somebody writes", || head() > before);
            proved(&url);
            proofs += 1;
        }
        done.store(true, Ordering::Relaxed);
    });
    let entries = servers[1].get("/v1/streams/s/head").json()["offset"].clone();
    println!("figure: {proofs} proofs and recounts beside two servers that wrote {entries} events: nothing wrong");
}

#[test]
fn tables_and_keys_are_made_without_a_server_and_beside_one() {
    let cluster = Cluster::shared();
    let url = cluster.url(&cluster.schema());
    let (code, said) = told(&["migrate", "--store", &url]);
    assert!(code == Some(0) && said.contains("is made, with version"), "{said}");
    let (code, said) = told(&["migrate", "--store", &url]);
    assert!(code == Some(0) && said.contains("nothing to do"), "{said}");

    let server = Server::loud(Path::new(&url), "off", &[]);
    assert_eq!(server.get("/v1/streams").status, 200);
    let (code, said) = told(&["keys", "create", "--role", "admin", "--name", "first", "--store", &url]);
    assert_eq!(code, Some(0), "{said}");
    wait_until("the server asks for keys", || server.get("/v1/streams").status == 401);
    let key = format!("Bearer {}", said.lines().next().expect("a key"));
    let ask = || server.client().send("GET", "/v1/streams", &[("authorization", &key)], b"").status;
    assert_eq!(ask(), 200);
    let (_, said) = told(&["keys", "list", "--store", &url]);
    let id = said.split_whitespace().find(|word| word.starts_with("k_")).expect("an id").to_owned();
    assert_eq!(told(&["keys", "revoke", &id, "--store", &url]).0, Some(0));
    wait_until("the key opens nothing any more", || ask() == 401);
}

#[test]
fn what_a_database_does_not_have_is_said() {
    let url = Cluster::shared().url("hapax");
    let copy = folder("postgres-copy").join("copy");
    let copy = copy.to_str().expect("a path");
    for (arguments, sentence) in [
        (&["rebuild", "--store", &url][..], "nothing to build again"),
        (&["backup", "--store", &url, "--to", copy], "pg_dump"),
        (&["restore", "--from", copy, "--store", &url], "pg_dump"),
        (&["migrate", "--store", copy], "is no database"),
        (&["serve", "--store", &url, "--database-writers", "65"], "at most 64"),
        (&["verify", "--store", "postgres://me:open-sesame@here:port/ledger"], "cannot be read"),
        (&["verify", "--store", "postgres://me:open-sesame@here/ledger?sslmode=none"], "sslmode is"),
    ] {
        let (code, said) = told(arguments);
        assert!(code == Some(2) && said.contains(sentence), "{arguments:?}: {said}");
    }
    assert!(fs::metadata(copy).is_err());
    let (code, said) = told(&["config", "--store", &url]);
    assert!(code == Some(0) && said.contains("store = \"postgres://hapax@127.0.0.1"), "{said}");
}
