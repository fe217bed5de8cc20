//! All pages: links resolve, paths and crates exist, decision records have their form, and the pages speak of the product
//! alone.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::markdown::{Page, code, listed, page, pages, root};

#[test]
fn every_relative_link_resolves() {
    for page in pages() {
        for link in page.links().into_iter().filter(|link| !link.contains("://")) {
            let (target, anchor) = link.split_once('#').unwrap_or((link, ""));
            let folder = page.path.parent().unwrap_or(Path::new(""));
            let path = if target.is_empty() { page.path.clone() } else { folder.join(target) };
            assert!(root().join(&path).exists(), "{}: there is no {link}", page.path.display());
            if !anchor.is_empty() {
                let text = std::fs::read_to_string(root().join(&path)).expect("the linked page");
                let anchors = Page { path, text }.anchors();
                assert!(anchors.iter().any(|it| it == anchor), "{}: there is no {link}", page.path.display());
            }
        }
    }
}

/// The map and the decisions: pages that name parts of the code.
fn maps() -> Vec<Page> {
    let decisions = pages().into_iter().filter(|page| page.path.starts_with("docs/decisions"));
    decisions.chain([page("ARCHITECTURE.md")]).collect()
}

#[test]
fn every_path_on_the_map_exists() {
    let rooms = ["crates/", "contracts/", "docs/", "ops/", "scenarios/", "scripts/", ".ci/"];
    for page in maps() {
        for path in page.inline_code().into_iter().filter(|text| rooms.iter().any(|room| text.starts_with(room))) {
            assert!(root().join(path).exists(), "{}: there is no {path}", page.path.display());
        }
    }
}

#[test]
fn every_crate_is_on_the_map_and_the_reverse() {
    let folders = listed(Path::new("crates"));
    let name = |path: &Path| path.file_name().and_then(|name| name.to_str()).map(str::to_owned);
    let crates: BTreeSet<_> = folders.iter().filter_map(|path| name(path)).collect();
    let rows = page("ARCHITECTURE.md").rows("crate");
    let rooms: BTreeSet<_> = rows.iter().map(|cells| code(&cells[0])[0].to_owned()).collect();
    assert_eq!(rooms, crates, "the rooms in ARCHITECTURE.md, and the crates");
    for page in maps() {
        for named in page.inline_code().into_iter().filter(|text| text.starts_with("hapax-")) {
            assert!(crates.contains(named), "{}: there is no crate {named}", page.path.display());
        }
    }
}

#[test]
fn a_decision_record_has_its_four_parts() {
    let parts = ["Context", "Decision", "What we gave up", "How we would notice that it was wrong"];
    let records = pages().into_iter().filter(|page| page.path.starts_with("docs/decisions"));
    for (index, page) in records.enumerate() {
        let path = page.path.display();
        let number = format!("docs/decisions/{:04}-", index + 1);
        assert!(path.to_string().starts_with(&number), "{path}: numbers are given in order, without gaps");
        let found: Vec<_> = page.prose().into_iter().filter_map(|line| line.strip_prefix("## ")).collect();
        assert_eq!(found, parts, "{path}");
        assert!(page.text.lines().count() <= 80, "{path} is longer than a page");
    }
}

#[test]
fn the_changelog_has_a_place_for_what_is_new() {
    let page = page("CHANGELOG.md");
    let first = page.prose().into_iter().find(|line| line.starts_with("## ")).map(str::to_owned);
    assert_eq!(first.as_deref(), Some("## Unreleased"));
}

#[test]
fn the_pages_speak_of_the_product_alone() {
    // How the work was organised, and with what, tells a reader of the product nothing.
    let foreign =
        ["issue", "issues", "session", "sessions", "assistant", "chatbot", "llm", "claude", "copilot", "codex"];
    for page in pages() {
        let lower = page.text.to_lowercase();
        let mut words = lower.split(|letter: char| !letter.is_alphanumeric());
        let found = words.find(|word| foreign.contains(word));
        assert_eq!(found, None, "{}", page.path.display());
    }
}

/// The commands that a page names: a line of a block of `sh`, or inline code.
fn commands(page: &Page) -> Vec<String> {
    let blocks = page.blocks().into_iter().filter(|block| block.info == "sh");
    let lines: Vec<_> = blocks.flat_map(|block| block.body.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    let inline = page.inline_code().into_iter().map(str::to_owned);
    lines.into_iter().chain(inline).filter(|text| text.starts_with("hapax ")).collect()
}

#[test]
fn every_command_and_flag_that_a_page_names_is_there() {
    for page in pages() {
        for command in commands(&page) {
            let words: Vec<_> = command.split_whitespace().skip(1).take_while(|word| *word != "--").collect();
            let is_name = |word: &&&str| word.chars().all(|letter| letter.is_ascii_lowercase());
            let names = words.iter().take_while(is_name).copied();
            let help = Command::new(env!("CARGO_BIN_EXE_hapax")).args(names).arg("--help").output().expect("it runs");
            assert!(help.status.success(), "{}: `{command}` is no command", page.path.display());
            let help = String::from_utf8_lossy(&help.stdout);
            for flag in words.iter().filter(|word| word.starts_with("--")) {
                assert!(help.contains(flag), "{}: `{command}` takes no {flag}", page.path.display());
            }
        }
    }
}
