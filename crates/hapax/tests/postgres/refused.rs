//! Databases that are not used: those that may lose what they have confirmed, and those that cannot be reached. Each is told in a
//! sentence, without the password.

use std::path::Path;

use crate::cluster::{Cluster, PASSWORD};
use crate::events::{CONTRACT, EVENTS, event};
use crate::process::{Server, run};

/// Starts a server that must not start, and gives what it says.
pub fn refusal(url: &str) -> String {
    let output = run(&["serve", "--listen", "127.0.0.1:0", "--log", "warn", "--store", url]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "it started: {said}");
    assert!(output.status.code().is_some(), "it ended by itself: {said}");
    assert!(!said.contains("panicked") && !said.contains(PASSWORD), "{said}");
    said
}

#[test]
fn a_database_that_may_lose_what_it_confirmed_is_refused_unless_told_otherwise() {
    let settings = ["fsync", "full_page_writes", "synchronous_commit"];
    let cluster = Cluster::new(&["fsync=off"]);
    let url = cluster.url("hapax");
    for (index, setting) in settings.iter().enumerate() {
        if index > 0 {
            cluster.stop_fast();
            cluster.start_with(&[&format!("{setting}=off")]);
        }
        let said = refusal(&url);
        assert!(said.contains(setting) && said.contains("--database-unsafe"), "{said}");
        let others = settings.iter().filter(|other| *other != setting).filter(|other| said.contains(*other)).count();
        assert_eq!(others, 0, "only {setting} is wrong: {said}");
        let server = Server::loud(Path::new(&url), "warn", &["--database-unsafe"]);
        server.put("s", CONTRACT);
        let reply = server.post(EVENTS, &event(0, index as u64 + 1).to_string());
        assert_eq!(reply.status, 201, "{}", reply.text());
        // Lines are gathered: all are there when it has ended.
        let (_, log) = server.stop_with_log();
        assert!(log.iter().any(|line| line.contains(setting)), "it warns: {log:?}");
    }
    cluster.stop_fast();
    cluster.start();
    let server = Server::loud(Path::new(&url), "warn", &[]);
    assert_eq!(server.get("/v1/streams/s/head").json()["offset"], 3);
    let (_, log) = server.stop_with_log();
    assert!(log.iter().all(|line| !settings.iter().any(|it| line.contains(it))), "{log:?}");
}

#[test]
fn a_database_that_cannot_be_used_is_told_in_a_sentence() {
    let cluster = Cluster::shared();
    let url = cluster.url("hapax");
    let said = refusal(&url.replace(PASSWORD, "wrong-word"));
    assert!(said.contains("password") && !said.contains("wrong-word"), "{said}");
    let said = refusal(&cluster.url_of("no_such_database", "hapax"));
    assert!(said.contains("no_such_database"), "{said}");
    let said = refusal(&url.replace("hapax:", "nobody-here:"));
    assert!(said.contains("nobody-here") || said.contains("password"), "{said}");
    // Nobody listens at port 1.
    let said = refusal(&url.replace(&format!(":{}/", cluster.port()), ":1/"));
    assert!(said.contains("127.0.0.1:1") || said.contains("refused"), "{said}");
}
