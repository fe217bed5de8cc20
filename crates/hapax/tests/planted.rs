//! No bug that tests plant is in the program: neither its name, nor the variable that would choose one.

use std::fs;

/// The table of the bugs, as it stands in the source: the program has no such module to ask.
const TABLE: &str = include_str!("../../hapax-core/src/planted/bug.rs");

#[test]
fn no_planted_bug_is_in_the_program() {
    let program = fs::read(env!("CARGO_BIN_EXE_hapax")).expect("the program");
    let program = String::from_utf8_lossy(&program);
    let rows = TABLE.lines().filter_map(|line| line.strip_prefix("    ")?.split_once(" = \"")?.1.split_once("\": \""));
    let names: Vec<&str> = rows.map(|(name, _)| name).collect();
    assert!(names.len() >= 24, "the table is read: {names:?}");
    // What the program does say is found in this way, so what is not found is not there.
    assert!(program.contains("TIMESTAMP_FUTURE_BEYOND_TOLERANCE"));
    for name in names.into_iter().chain(["HAPAX_PLANTED"]) {
        assert!(!program.contains(name), "{name} is in the program: it was built with the feature `planted`");
    }
}
