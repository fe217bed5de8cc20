//! Proofs, copies and restarts of a ledger that a real server wrote.

use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{Server, folder, run};

/// A ledger of thirty entries in ten commits, written by a server that was stopped.
fn ledger(test: &str) -> PathBuf {
    let server = Server::new(test);
    server.put("s", "identity.required = true");
    for commit in 0..10 {
        let event = |index: usize| format!(r#"{{"id":"entry-{:02}-end","text":"unedited"}}"#, commit * 3 + index + 1);
        let body = format!("[{},{},{}]", event(0), event(1), event(2));
        assert_eq!(server.post("/v1/streams/s/events", &body).json()["summary"]["accepted"], 3);
    }
    server.stop()
}

fn verify(store: &Path, more: &[&str]) -> (bool, String) {
    let output = run(&[&["verify", "--store", store.to_str().expect("a path")], more].concat());
    (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
}

fn segment(store: &Path) -> PathBuf {
    let mut names: Vec<_> =
        fs::read_dir(store.join("log")).expect("a log").map(|it| it.expect("a name").path()).collect();
    names.retain(|name| name.extension().is_some_and(|it| it == "seg"));
    names.pop().expect("a segment")
}

#[test]
fn every_edited_entry_is_named() {
    let store = ledger("edited");
    let (fine, said) = verify(&store, &[]);
    assert!(fine && said.contains("30 entries in"), "{said}");
    let segment = segment(&store);
    let whole = fs::read(&segment).expect("a segment");
    for offset in 1..=30 {
        let id = format!("entry-{offset:02}-end");
        let at = whole.windows(id.len()).position(|it| it == id.as_bytes()).expect("the entry");
        let mut edited = whole.clone();
        let text = at + id.len() + r#"","text":""#.len();
        edited[text] ^= 1;
        fs::write(&segment, &edited).expect("an edit");
        let (fine, said) = verify(&store, &[]);
        assert!(!fine && said.contains(&format!("default/s entry {offset}: edited")), "{offset}: {said}");
        let others = (1..=30).filter(|other| *other != offset && said.contains(&format!("entry {other}:"))).count();
        assert_eq!(others, 0, "only {offset} is wrong: {said}");
    }
    fs::write(&segment, &whole).expect("as it was");
    assert!(verify(&store, &[]).0);
}

#[test]
fn a_ledger_that_was_cut_off_is_told_from_a_saved_head() {
    let store = ledger("cut");
    let heads = store.with_file_name("heads.json");
    let heads = heads.to_str().expect("a path");
    assert!(verify(&store, &["--save", heads]).0);
    assert!(verify(&store, &["--against", heads]).0);
    // As if nothing after the fifth commit had ever been.
    let segment = segment(&store);
    let whole = fs::read(&segment).expect("a segment");
    let sixth = whole.windows(14).position(|it| it == b"\"entry-16-end\"").expect("the sixth commit") / 512 * 512;
    let frame = (0..=sixth).rev().step_by(512).find(|at| whole[*at..].starts_with(b"HxFr")).expect("its frame");
    let mut shorter = whole;
    shorter[frame..].fill(0);
    fs::write(&segment, &shorter).expect("a shorter log");
    let (fine, said) = verify(&store, &[]);
    assert!(!fine && said.contains("truncated"), "the witness saw more: {said}");
    fs::remove_file(store.join("log/witness")).expect("the witness");
    let (fine, said) = verify(&store, &["--against", heads]);
    assert!(!fine && said.contains("default/s entry 16: truncated"), "{said}");
}

#[test]
fn a_copy_is_taken_while_the_server_runs_and_brings_everything_back() {
    let server = Server::new("copied");
    server.put("s", "identity.required = true");
    for number in 0..20 {
        server.post("/v1/streams/s/events", &format!(r#"{{"id":"e-{number}"}}"#));
    }
    let head = server.get("/v1/streams/s/head").text();
    let store = server.store.to_str().expect("a path").to_owned();
    let (copy, back) = (format!("{store}-copy"), format!("{store}-back"));
    let output = run(&["backup", "--store", &store, "--to", &copy]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && said.contains("20 entries"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    server.post("/v1/streams/s/events", r#"{"id":"after the copy"}"#);
    assert!(!run(&["backup", "--store", &store, "--to", &copy]).status.success(), "nothing is overwritten");
    server.kill();

    assert!(run(&["restore", "--from", &copy, "--store", &back]).status.success());
    let server = Server::on(Path::new(&back), &[]);
    assert_eq!(server.get("/v1/streams/s/head").text(), head);
    let again = server.post("/v1/streams/s/events", r#"{"id":"e-7"}"#);
    assert_eq!((again.status, again.json()["verdict"].as_str()), (200, Some("duplicate")));
}

#[test]
fn an_index_that_is_gone_is_built_again() {
    let store = ledger("rebuilt");
    let index = store.join("index");
    if index.is_dir() {
        fs::remove_dir_all(&index).expect("the index");
    }
    let server = Server::on(&store, &[]);
    let again = server.post("/v1/streams/s/events", r#"{"id":"entry-05-end","text":"unedited"}"#);
    assert_eq!(again.json()["original"]["offset"], 5);
    let store = server.stop();
    let output = run(&["rebuild", "--store", store.to_str().expect("a path")]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(Server::on(&store, &[]).get("/v1/streams/s/head").json()["offset"], 30);
}

#[test]
fn an_empty_folder_is_no_ledger() {
    let empty = folder("empty");
    let place = empty.to_str().expect("a path");
    for command in [["verify", "--store", place].as_slice(), &["backup", "--store", place, "--to", "/nowhere/x"]] {
        let output = run(command);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains("holds no ledger"), "{said}");
    }
}
