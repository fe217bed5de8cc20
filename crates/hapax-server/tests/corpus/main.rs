//! The fuzz targets without a fuzzer: what is kept of each in `fuzz/corpus`, and every input of it in other shapes, drawn
//! from a seed.
//!
//! The shapes are blind, where libFuzzer goes by what an input reaches; for that there is `scripts/fuzz`, and what it finds
//! is kept in the corpus that begins here. This needs no build of its own. Not here: the meter of allocations, which is an
//! allocator. `CORPUS_SHAPES=100` draws so many of each input, another `CORPUS_SEED` others.

#[path = "../../../../fuzz/src/doors.rs"]
mod doors;

mod shapes;

mod allocations {
    pub(crate) fn at_most<T>(_bytes: usize, what: impl FnOnce() -> T) -> T {
        what()
    }
}

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use doors::{body, contract, document, frames, index, judge};
use shapes::Shapes;

/// What a target is called, what it does, and how many inputs it gets in a second or two.
type Target = (&'static str, fn(&[u8]), usize);

const TARGETS: [Target; 6] = [
    ("body", body::check, 20_000),
    ("contract", contract::check, 6_000),
    ("document", document::check, 60_000),
    ("frames", frames::check, 10_000),
    ("index", index::check, 4_000),
    ("judge", judge::check, 6_000),
];

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus")
}

/// The inputs of a target, by name.
fn inputs(target: &str) -> BTreeMap<String, Vec<u8>> {
    let files = std::fs::read_dir(corpus().join(target)).expect("a corpus");
    let files = files.map(|file| file.expect("a file").path());
    files.map(|path| (path.display().to_string(), std::fs::read(&path).expect("an input"))).collect()
}

fn asked(name: &str) -> Option<usize> {
    std::env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is a number, not {text}")))
}

#[test]
fn what_is_kept_of_every_target_holds_in_many_shapes() {
    let seed = asked("CORPUS_SEED").unwrap_or(20_261_115);
    let mut executions = 0;
    for (target, check, total) in TARGETS {
        let inputs = inputs(target);
        assert!(inputs.len() >= 6, "{target} has a corpus, and not {} inputs", inputs.len());
        let mut shapes = Shapes::new(seed as u64, inputs.values().cloned().collect());
        let count = asked("CORPUS_SHAPES").unwrap_or(total.div_ceil(inputs.len()));
        let mut run = 0;
        for (name, input) in &inputs {
            for shape in std::iter::once(input.clone()).chain((0..count).map(|_| shapes.of(input)).collect::<Vec<_>>())
            {
                run += 1;
                if catch_unwind(AssertUnwindSafe(|| check(&shape))).is_err() {
                    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{target}-crash"));
                    std::fs::write(&kept, &shape).expect("a place for it");
                    panic!("{target}: a shape of {name} breaks it; it is in {}", kept.display());
                }
            }
        }
        println!("{target}: {run} executions of {} inputs", inputs.len());
        executions += run;
    }
    println!("figure: {executions} executions, 0 crashes");
}

#[test]
fn every_target_is_one_that_is_fuzzed_and_has_a_corpus() {
    let names = |path: PathBuf| -> Vec<String> {
        let files = std::fs::read_dir(path).expect("a directory");
        let mut names: Vec<String> = files
            .map(|file| file.expect("a file").path().file_stem().expect("a name").to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    let here = TARGETS.map(|(name, ..)| name.to_owned());
    assert_eq!(names(corpus()), here);
    assert_eq!(names(corpus().join("../fuzz_targets")), here);
}

#[test]
fn an_input_takes_many_shapes_and_the_same_ones_from_the_same_seed() {
    let draw = |seed| {
        let mut shapes = Shapes::new(seed as u64, vec![b"{\"a\":1}".to_vec(), b"[1,2]".to_vec()]);
        (0..200).map(|_| shapes.of(b"{\"a\":1}")).collect::<Vec<_>>()
    };
    assert_eq!(draw(1), draw(1));
    assert_ne!(draw(1), draw(2));
    let different: std::collections::BTreeSet<_> = draw(1).into_iter().collect();
    assert!(different.len() > 150, "{} of 200 are different", different.len());
}
