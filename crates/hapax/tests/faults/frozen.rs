//! A consumer that is frozen for longer than its lease, and thawed when another has done its work.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::ledger::{CONTRACT, EVENTS, event};
use crate::process::folder;
use crate::program::{Program, SMALL, serve, signal};

/// A real worker. It writes its fence down as its effect, after a file says that it may.
fn worker(url: &str, here: &Path, name: &str) -> Child {
    let script = format!(
        "echo $HAPAX_FENCE > {name}.started; while [ ! -e {name}.go ]; do sleep 0.01; done; echo {name} $HAPAX_FENCE >> effects"
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_hapax"));
    command.args(["work", "--server", url, "--handler", "h", "--stream", "s", "--once", "--owner", name]);
    command.args(["--", "sh", "-c", &script]).current_dir(here);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a worker")
}

fn allow(here: &Path, name: &str) {
    fs::write(here.join(format!("{name}.go")), "").expect("a file");
}

#[test]
fn a_consumer_that_froze_beyond_its_lease_marks_nothing() {
    let here = folder("faults-frozen");
    let mut program = Program::start(serve(&here.join("store"), &SMALL));
    program.ask("PUT", "/v1/streams/s", CONTRACT).expect("a contract");
    assert_eq!(program.ask("POST", EVENTS, &event(0)).expect("an answer").status, 201);
    let json = [("content-type", "application/json")];
    let handler = br#"{"stream": "s", "lease": "2s", "heartbeat": "500ms", "effect": "fenced"}"#;
    let declared = program.client().expect("a connection").send("PUT", "/v1/handlers/h", &json, handler);
    assert!(declared.status < 300, "{}", declared.text());
    let url = format!("http://{}", program.address.expect("an address"));

    let first = worker(&url, &here, "first");
    let started =
        |name: &str| fs::read_to_string(here.join(format!("{name}.started"))).is_ok_and(|it| it.ends_with('\n'));
    program.wait_for("the first worker's claim", || started("first"));
    signal(first.id(), "STOP");
    // While it is frozen its command goes on, as a process of its own would.
    let mut second = worker(&url, &here, "second");
    allow(&here, "second");
    program.wait_for("the second worker's claim", || started("second"));
    let status = second.wait().expect("the second worker ends");
    assert!(status.success(), "the second finishes what the first held: {status}");

    allow(&here, "first");
    signal(first.id(), "CONT");
    let output = first.wait_with_output().expect("the first worker ends");
    let (said, erred) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!said.contains("e-0: done"), "it marks nothing: {said}{erred}");
    assert!(erred.contains("another worker has it now"), "and is told so: {said}{erred}");
    let effects = fs::read_to_string(here.join("effects")).unwrap_or_default();
    let done: Vec<&str> = effects.lines().filter(|line| line.starts_with("second")).collect();
    assert_eq!(done, ["second 2"], "one of them was done under the fence that counts: {effects}");
    // A target that keeps the greatest fence it has seen lets nothing of the first in any more.
    let greatest = effects.lines().scan(0, |greatest: &mut u64, line| {
        let fence: u64 = line.rsplit(' ').next().and_then(|it| it.parse().ok()).expect("a fence");
        let takes = fence >= *greatest;
        *greatest = fence.max(*greatest);
        Some(takes)
    });
    assert_eq!(greatest.filter(|takes| *takes).count(), 1, "{effects}");

    let mut client = program.client().expect("a connection");
    let late = client.send("POST", "/v1/handlers/h/claims/e-0/done", &json, br#"{"fence": 1}"#);
    assert_eq!((late.status, late.code().as_str()), (409, "LEASE_LOST"), "{}", late.text());
    let claim = client.send("POST", "/v1/handlers/h/claims", &json, br#"{"event_id": "e-0"}"#).json();
    assert_eq!(claim["decision"], "done", "{claim}");
    println!("figure: frozen beyond its lease: taken over under fence 2, the first is refused, 1 done");
}
