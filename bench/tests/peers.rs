//! The real thing, made small: servers are started, events sent and found again, and the three files written.
//!
//! Not here: figures. A run this short measures nothing; that every event was there once is what its success says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// The program under measurement is built beside this one whenever the whole workspace is.
fn hapax() -> PathBuf {
    let program = Path::new(env!("CARGO_BIN_EXE_hapax-bench")).with_file_name("hapax");
    assert!(program.is_file(), "there is no {}: `cargo build -p hapax` makes it", program.display());
    program
}

fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    // What an earlier run left would otherwise be found by this one.
    _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

fn peers(folder: &Path, arguments: &[&str]) -> Output {
    let mut program = Command::new(env!("CARGO_BIN_EXE_hapax-bench"));
    program.arg("peers").args(arguments).arg("--folder").arg(folder).arg("--out").arg(folder.join("out"));
    program.output().expect("the program runs")
}

#[test]
fn two_peers_are_measured_one_is_named_as_missing_and_all_is_written_down() {
    let folder = folder("peers");
    let hapax = hapax().display().to_string();
    let nowhere = folder.join("no-redis").display().to_string();
    let output = peers(
        &folder,
        &[
            ["--peers", "hapax,sqlite,redis", "--columns", "2x50,5x1", "--duplicates", "0,10"],
            ["--events", "1000", "--runs", "2", "--payload", "300"],
            ["--hapax", &hapax, "--redis", &nowhere, "--client-threads", "2"],
        ]
        .concat(),
    );
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("Not measured: redis (not installed)"), "{said}");

    let read = |name: &str| fs::read_to_string(folder.join("out").join(name)).expect(name);
    let results: Value = serde_json::from_str(&read("results.json")).expect("JSON");
    assert_eq!(results["missing"]["redis"], "not installed");
    let runs = results["runs"].as_array().expect("runs");
    let who: Vec<_> = runs.iter().map(|run| run["peer"].as_str().expect("a peer")).collect();
    // Two columns with and without repeats; whoever was first in the first round is second in the second.
    assert_eq!(who[..8], ["hapax", "sqlite"].repeat(4));
    assert_eq!(who[8..], ["sqlite", "hapax"].repeat(4));
    for run in runs {
        let [sent, new, percent, batch] =
            [&run["sent"], &run["new"], &run["duplicates_percent"], &run["column"]["batch"]]
                .map(|it| it.as_u64().expect("a number"));
        assert_eq!(sent, if batch == 1 { 100 } else { 1000 });
        assert_eq!(sent == new, percent == 0, "{run}");
        assert!(
            run["events_per_second"].as_f64() > Some(0.0) && run["latency"]["max_ms"].as_f64() > Some(0.0),
            "{run}"
        );
        assert_eq!(run["latency"]["requests"].as_u64(), Some(sent / batch));
    }
    let (page, chart) = (read("results.md"), read("results.svg"));
    assert!(page.contains("10 % of them repeats") && page.contains("SQLite 3."), "{page}");
    assert!(chart.starts_with("<svg ") && chart.contains("5 clients, 1 at once"), "{chart}");
    let left: Vec<_> = fs::read_dir(&folder).expect("the folder").flatten().map(|it| it.file_name()).collect();
    assert_eq!(left, ["out"], "what the peers wrote is gone");
}

#[test]
fn where_nobody_is_installed_nothing_is_measured() {
    let folder = folder("nobody");
    let output = peers(&folder, &["--peers", "redis,nats", "--redis", "/nowhere/redis", "--nats", "/nowhere/nats"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("--install"), "{said}");
}
