//! `docs/registry.md`: the tests of the acceptance list are those that there are, and its effects are those of a handler.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use hapax_core::claim::Effect;

use crate::markdown::{code, listed, page, root};

#[test]
fn every_test_of_the_list_is_there_and_the_reverse() {
    let rows = page("docs/registry.md").rows("point");
    assert_eq!(rows.len(), 8, "the list has eight points");
    let named: BTreeSet<_> = rows.iter().flat_map(|cells| code(&cells[2])).map(str::to_owned).collect();
    let mut found = BTreeSet::new();
    for file in listed(Path::new("crates/hapax/tests/registry")) {
        let text = fs::read_to_string(root().join(file)).expect("a file of tests");
        let tests = text.split("#[test]\nfn ").skip(1);
        found.extend(tests.filter_map(|rest| rest.split_once('(')).map(|(name, _)| name.to_owned()));
    }
    assert_eq!(named, found, "the tests in docs/registry.md, and those in crates/hapax/tests/registry");
}

#[test]
fn every_effect_has_its_row() {
    let written: BTreeSet<_> =
        page("docs/registry.md").rows("`effect`").iter().map(|cells| code(&cells[0])[0].to_owned()).collect();
    let effects = [Effect::Transactional, Effect::IdempotentTarget, Effect::Fenced, Effect::AtLeastOnce];
    let known = effects.map(|effect| serde_json::to_value(effect).expect("an effect as JSON"));
    assert_eq!(written, known.iter().filter_map(|it| it.as_str()).map(str::to_owned).collect());
}
