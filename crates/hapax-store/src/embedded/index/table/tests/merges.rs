//! Which runs are merged, and what a filter lets through.

use super::*;
use crate::embedded::index::table::filter::Filter;
use crate::embedded::index::table::merge::choose;

/// Runs of so many records, and those that are merged in brackets; nothing is merged without brackets.
fn check(runs: &str) {
    let records: Vec<u64> = runs.split_whitespace().map(|it| it.trim_matches(['[', ']']).parse().unwrap()).collect();
    let begin = runs.split_whitespace().position(|it| it.starts_with('['));
    let end = runs.split_whitespace().position(|it| it.ends_with(']'));
    let expected = begin.zip(end).map(|(begin, end)| begin..end + 1);
    assert_eq!(choose(&records, 4), expected, "{runs}");
}

#[test]
fn runs_of_one_tier_are_merged_when_there_are_enough_of_them() {
    check("500 500 500");
    check("[500 500 500 500]");
    check("[500 500 500 500 500]");
    check("2000 2000 2000 500 500 500");
    check("2000 2000 2000 [500 500 500 500]");
    check("[2000 2000 2000 2000] 500 500 500");
    check("[2000 2000 2000 2000] 500 500 500 0 0 0");
    check("9000 2000 500 100 20 5 1");
}

#[test]
fn the_smallest_tier_comes_first() {
    check("2000 2000 2000 2000 [500 500 500 500]");
}

#[test]
fn a_small_run_between_large_ones_does_not_keep_them_apart() {
    check("[2000 7 2000 2000]");
    check("[0 0 0 2000]");
    check("2000 2000 7");
}

#[test]
fn runs_without_records_are_merged_too() {
    check("0 0 0");
    check("500 [0 0 0 0]");
}

#[test]
fn there_are_never_many_runs() {
    let mut runs: Vec<u64> = Vec::new();
    let mut written = 0;
    for flushed in 1..=4000_u64 {
        runs.push(if flushed % 7 == 0 { 10 } else { 500 });
        while let Some(chosen) = choose(&runs, 4) {
            let sum = runs[chosen.clone()].iter().sum();
            written += sum;
            runs.splice(chosen, [sum]);
        }
        assert!(runs.len() <= 24, "{runs:?}");
    }
    let amplification = written as f64 / runs.iter().sum::<u64>() as f64;
    assert!(amplification < 7.0, "{amplification}");
}

#[test]
fn a_filter_lets_through_what_is_there_and_little_else() {
    let mut filter = Filter::new(10_000, 7);
    let hashing = Hashing::new(ID, "ids");
    let hash = |number: u32| {
        let mut key = [0; KEY];
        key[..4].copy_from_slice(&number.to_be_bytes());
        hashing.of(&Key(key))
    };
    (0..10_000).for_each(|it| filter.add(hash(it)));
    assert!((0..10_000).all(|it| filter.perhaps(hash(it))));
    let wrong = (10_000..110_000).filter(|it| filter.perhaps(hash(*it))).count();
    assert!(wrong < 200, "{wrong} of 100 000");
}
