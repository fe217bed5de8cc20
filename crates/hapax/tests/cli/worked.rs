//! `hapax work` and `hapax handlers` against the real server.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::served::Served;

/// A server whose stream `s` has three events in two lanes.
fn served(test: &str) -> Served {
    let served = Served::new(test);
    served.file("c.toml", "[identity]\nrequired = true\n[sequence]\nsource = \"producer\"\n");
    served.ok(&["streams", "put", "s", "c.toml"]);
    let events = "{\"id\":\"a-1\",\"lane\":\"a\",\"seq\":1}\n{\"id\":\"a-2\",\"lane\":\"a\",\"seq\":2}\n{\"id\":\"b-1\",\"lane\":\"b\",\"seq\":1}\n";
    assert_eq!(served.run_with(&["send", "--stream", "s"], events).code, 0);
    served
}

const WORK: [&str; 7] = ["work", "--handler", "h", "--stream", "s", "--create", "--once"];

fn work<'a>(options: &[&'a str], script: &'a str) -> Vec<&'a str> {
    [&WORK[..], options, &["--", "sh", "-c", script]].concat()
}

#[test]
fn a_command_runs_once_for_each_entry_and_is_told_about_it() {
    let served = served("worked-once");
    let script = "read -r entry; echo \"$HAPAX_OFFSET $HAPAX_EVENT_ID $HAPAX_LANE $HAPAX_ATTEMPT $HAPAX_FENCE $entry\" >> log; echo '{\"ok\":1.0}'";
    let said = served.run(&work(&[], script));
    assert_eq!((said.code, said.err.as_str()), (0, "3 done\n"), "{said:?}");
    assert_eq!(said.out, "1 a-1: done\n2 a-2: done\n3 b-1: done\n");
    let log = fs::read_to_string(served.folder.join("log")).expect("the log");
    let lines: Vec<_> = log.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[0].starts_with("1 a-1 a 1 1 {") && lines[0].contains("\"document\":{\"id\":\"a-1\""), "{log}");
    let said = served.run(&work(&[], script));
    assert_eq!(said.code, 0);
    assert_eq!(fs::read_to_string(served.folder.join("log")).expect("the log"), log, "nothing is done twice");
    let list = served.ok(&["handlers"]);
    assert!(
        list.lines().any(|line| line.split_whitespace().eq(["h", "s", "none", "at_least_once", "0", "0"])),
        "{list}"
    );
}

#[test]
fn what_fails_comes_again_until_it_is_given_up_and_a_person_decides() {
    let served = served("worked-dead");
    let options = ["--order", "in-order", "--attempts-max", "2", "--backoff", "10ms"];
    let script = "case $HAPAX_EVENT_ID in a-1) echo 'no such address' >&2; exit 1;; esac";
    let said = served.run(&work(&options, script));
    assert_eq!(said.code, 1, "{said:?}");
    assert_eq!(said.out, "3 b-1: done\n");
    assert!(said.err.ends_with("1 done, 2 failed attempts, 1 given up, 1 held back\n"), "{said:?}");
    let dead = served.ok(&["handlers", "dead", "h"]);
    assert!(dead.contains("a-1") && dead.contains("no such address"), "{dead}");
    assert_eq!(served.ok(&["handlers", "retry", "h", "a-1"]), "a-1 will be tried again\n");
    let said = served.run(&work(&options, script));
    assert_eq!(said.code, 1, "{said:?}");
    assert_eq!(served.ok(&["handlers", "skip", "h", "a-1", "--reason", "gone"]), "a-1 was let go\n");
    let said = served.run(&work(&options, script));
    assert_eq!((said.code, said.out.as_str()), (0, "2 a-2: done\n"), "{said:?}");
    assert_eq!(served.ok(&["handlers", "dead", "h"]), "Nothing was given up.\n");
}

#[test]
fn asked_to_stop_it_finishes_what_it_does() {
    let served = served("worked-stopped");
    let script = "echo started >&2; while [ ! -e go ]; do sleep 0.02; done; touch finished-$HAPAX_EVENT_ID";
    let mut command =
        served.command(&["work", "--handler", "h", "--stream", "s", "--create", "--", "sh", "-c", script]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the worker");
    let held = || served.ok(&["handlers", "show", "h"]).contains("lag           3");
    // The handler is declared before the first claim, so this waits for the worker to have begun.
    while served.run(&["handlers", "show", "h"]).code != 0 {}
    assert!(held());
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
    fs::write(served.folder.join("go"), "").expect("a file");
    let status = child.wait().expect("the worker ends");
    assert_eq!(status.code(), Some(0));
    let printed: Vec<String> =
        BufReader::new(child.stdout.take().expect("output")).lines().map(|line| line.expect("text")).collect();
    let finished = served.folder.join("finished-a-1").exists();
    assert_eq!(printed, if finished { vec!["1 a-1: done"] } else { vec![] }, "what was begun was finished and marked");
    assert!(!served.folder.join("finished-a-2").exists(), "and nothing more was begun");
}

#[test]
fn a_handler_that_reads_another_stream_is_refused() {
    let served = served("worked-other");
    served.ok(&["streams", "put", "t", "c.toml"]);
    served.ok(&["handlers", "put", "h", "--stream", "t"]);
    let said = served.run(&work(&[], "true"));
    assert_eq!((said.code, said.err.as_str()), (2, "hapax: handler h reads stream t, not s\n"));
    let said = served.run(&["work", "--handler", "nobody", "--stream", "s", "--", "true"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("HANDLER_NOT_FOUND"), "{said:?}");
}

#[test]
fn two_workers_share_the_work_in_the_order_of_each_lane() {
    let served = served("worked-shared");
    let more: String = (3..=20)
        .flat_map(|n| ["a", "b"].map(|lane| (lane, n)))
        .map(|(lane, n)| format!("{{\"id\":\"{lane}-{n}\",\"lane\":\"{lane}\",\"seq\":{n}}}\n"))
        .collect();
    assert_eq!(served.run_with(&["send", "--stream", "s"], &more).code, 0);
    served.ok(&["handlers", "put", "h", "--stream", "s", "--order", "in-order"]);
    let script = "echo $HAPAX_EVENT_ID >> log-$HAPAX_LANE";
    let workers: Vec<_> = (0..2)
        .map(|_| {
            let mut command = served.command(&work(&[], script));
            command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("a worker")
        })
        .collect();
    for worker in workers {
        let output = worker.wait_with_output().expect("a worker ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let lane = |lane: &str| fs::read_to_string(served.folder.join(format!("log-{lane}"))).expect("the log");
    let ids = |lane: &str, numbers: &mut dyn Iterator<Item = u64>| -> String {
        numbers.map(|n| format!("{lane}-{n}\n")).collect()
    };
    assert_eq!(lane("a"), ids("a", &mut (1..=20)));
    assert_eq!(lane("b"), ids("b", &mut (1..=20).filter(|n| *n != 2)));
}
