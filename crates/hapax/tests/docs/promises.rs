//! The scoreboard: every row names a test that is there, a command that finds it, and a figure with its date and commit.
//!
//! Not here: whether a figure is still true. `scripts/soak` measures them anew.

use std::path::{Path, PathBuf};

use crate::markdown::{code, page, root};

/// All Rust files under a folder.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The rows: what stands in each column, in the order of the page.
fn rows() -> Vec<Vec<String>> {
    let rows = page("docs/promises.md").rows("row");
    assert!(rows.len() >= 12, "the scoreboard has its rows");
    rows
}

#[test]
fn every_test_on_the_scoreboard_is_there() {
    let mut files = Vec::new();
    sources(&root().join("crates"), &mut files);
    sources(&root().join("fuzz/fuzz_targets"), &mut files);
    let texts: Vec<_> = files.iter().map(|path| std::fs::read_to_string(path).expect("a source")).collect();
    for row in rows() {
        for test in code(&row[2]) {
            let is_there = match test.strip_prefix("fuzz/fuzz_targets/") {
                Some(_) => root().join(test).exists(),
                None => texts.iter().any(|text| text.contains(&format!("fn {test}("))),
            };
            assert!(is_there, "{}: there is no test {test}", row[0]);
        }
    }
}

#[test]
fn every_command_on_the_scoreboard_runs_something_that_is_there() {
    for row in rows() {
        let commands = code(&row[3]);
        assert_eq!(commands.len(), 1, "{}: one command", row[0]);
        let words: Vec<_> = commands[0].split_whitespace().collect();
        let after = |flag: &str| words.iter().position(|word| *word == flag).and_then(|at| words.get(at + 1));
        if let Some(script) = words.iter().find(|word| word.starts_with("scripts/")) {
            assert!(root().join(script).exists(), "{}: there is no {script}", row[0]);
            continue;
        }
        let package = after("-p").unwrap_or_else(|| panic!("{}: a package", row[0]));
        let folder = root().join("crates").join(package);
        assert!(folder.is_dir(), "{}: there is no crate {package}", row[0]);
        if let Some(test) = after("--test") {
            let tests = folder.join("tests");
            let is_there = tests.join(format!("{test}.rs")).exists() || tests.join(test).is_dir();
            assert!(is_there, "{}: {package} has no test {test}", row[0]);
        }
    }
}

#[test]
fn every_figure_on_the_scoreboard_has_a_date_and_a_commit() {
    for row in rows() {
        let [_, _, _, _, figure, date, commit] = row.as_slice() else { panic!("{}: seven columns", row[0]) };
        assert!(figure.chars().any(|letter| letter.is_ascii_digit()), "{}: a figure has a number", row[0]);
        let is_date = date.len() == 10 && date.split('-').map(str::len).eq([4, 2, 2]);
        assert!(is_date, "{}: {date} is a date", row[0]);
        let commit = commit.trim_matches('`');
        let is_commit = commit.len() >= 7 && commit.chars().all(|letter| letter.is_ascii_hexdigit());
        assert!(is_commit, "{}: {commit} is a commit", row[0]);
    }
}
