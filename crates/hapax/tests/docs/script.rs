//! `scripts/test` says how it ended, also when somebody stops it.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};

use crate::markdown::root;

/// Stands in for cargo: the first step says that it runs, and then does so for longer than anybody waits.
const CARGO: &str = "#!/bin/sh\necho running; exec sleep 60\n";

#[test]
fn stopped_from_outside_it_says_so_and_fails() {
    let folder = tempfile::tempdir().expect("a directory");
    for (name, text) in [("cargo", CARGO), ("rustc", "#!/bin/sh\n")] {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a program");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can be run");
    }
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").expect("a path"));
    // What the tests need is installed beside the place for temporary files.
    let target = format!("{}/..", env!("CARGO_TARGET_TMPDIR"));
    let mut script = Command::new(root().join("scripts/test"))
        .envs([("PATH", path), ("CARGO_TARGET_DIR", target)])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("scripts/test runs");
    let mut lines = BufReader::new(script.stdout.take().expect("its output")).lines();
    let runs = lines.by_ref().any(|line| line.expect("a line") == "running");
    assert!(runs, "the first step runs");
    let kill = Command::new("kill").args(["-TERM", &script.id().to_string()]).status().expect("kill");
    assert!(kill.success());
    let ended = script.wait().expect("it ends");
    let mut said = String::new();
    script.stderr.take().expect("its errors").read_to_string(&mut said).expect("UTF-8");
    assert!(said.contains("test result: INTERRUPTED by SIGTERM. 0 steps passed; stopped in: cargo fmt"), "{said}");
    assert_eq!(ended.code(), Some(143), "128 and the number of the signal");
    // The step has ended with it: nobody holds its output any more.
    let rest: Vec<_> = lines.map(|line| line.expect("a line")).collect();
    assert!(!rest.iter().any(|line| line.contains("ok.")), "{rest:?}");
}
