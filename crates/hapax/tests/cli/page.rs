//! `docs/scenarios.md`: its example runs, and what it shows is what the program prints.

use std::fs;
use std::path::Path;

use crate::program::run;

/// The fenced blocks of the page that are in this language.
fn blocks(language: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenarios.md");
    let page = fs::read_to_string(path).expect("docs/scenarios.md");
    let mut parts = page.split("```");
    let mut blocks = Vec::new();
    // Text and blocks take turns, and a page begins with text.
    while let (Some(_), Some(block)) = (parts.next(), parts.next()) {
        let (info, body) = block.split_once('\n').expect("a block has a first line");
        if info == language {
            blocks.push(body.to_owned());
        }
    }
    blocks
}

#[test]
fn its_example_holds_and_prints_what_it_shows() {
    let example = &blocks("toml")[0];
    let shown = blocks("console").swap_remove(0);
    let said = run("page", &[("retry.toml", example.as_bytes())], &["test", "retry.toml"], "");
    assert_eq!((format!("$ hapax test retry.toml\n{}", said.out), said.code), (shown, 0), "{}", said.err);
}

#[test]
fn a_difference_looks_as_it_shows() {
    let story = "name = \"a lane without a second event\"\ncontract.sequence = { source = \"producer\", first = 1 }\n\n\
                 [[step]]\nat = \"2026-01-01T10:00:00Z\"\nevent = { id = \"e-1\", lane = \"a\", seq = 1 }\nexpect = { offset = 1 }\n\n\
                 [[step]]\nevent = { id = \"e-3\", lane = \"a\", seq = 3 }\n\
                 expect = { verdict = \"rejected\", marks = [], cod = \"SEQUENCE_GAP\" }\n";
    let said = run("page-difference", &[("wrong.toml", story.as_bytes())], &["test", "wrong.toml"], "");
    let hash = |line: &str| {
        if line.trim_start().starts_with("hash ") { "          hash         \"*\"".into() } else { line.to_owned() }
    };
    let printed: Vec<_> = said.out.lines().map(hash).collect();
    let shown = blocks("console").swap_remove(1);
    assert_eq!(printed, shown.lines().skip(1).collect::<Vec<_>>());
}

#[test]
fn it_names_every_action_and_nothing_else() {
    // The program lists its actions when a step has none.
    let story = "name = \"x\"\ncontract = {}\n[[step]]\nat = \"2026-01-01T10:00:00Z\"\n";
    let said = run("page-actions", &[("f.toml", story.as_bytes())], &["test", "f.toml"], "");
    let (_, list) = said.err.trim_end().split_once("expected one of ").expect("the actions");
    let mut known: Vec<_> = list.split(", ").map(str::to_owned).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scenarios.md");
    let page = fs::read_to_string(path).expect("docs/scenarios.md");
    let (_, table) = page.split_once("| action |").expect("the table of actions");
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let mut named: Vec<_> = rows.map(|row| row[3..].split(' ').next().unwrap_or_default().to_owned()).collect();
    known.sort();
    named.sort();
    assert_eq!(named, known);
}
