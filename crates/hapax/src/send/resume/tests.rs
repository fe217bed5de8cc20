//! Stopping and going on.

use std::path::Path;

use super::super::input::{Event, Format, Input};
use super::super::tally::Tally;
use super::Resume;

fn input(text: &str) -> Input {
    Input::new("f", std::io::Cursor::new(text.as_bytes().to_vec()), Format::Ndjson, &[]).expect("an input")
}

fn take(input: &mut Input, many: usize) -> Vec<Event> {
    input.take(many).map(|event| event.expect("an event")).collect()
}

/// Sends two of the events, and says what a second run with this text would do.
fn second_run(folder: &Path, text: &str) -> Result<Vec<u64>, String> {
    let file = folder.join("state");
    let mut first = input("{\"a\":1}\n\n{\"a\":2}\n{\"a\":3}\n");
    let mut resume = Resume::open(Some(&file), "s").expect("the beginning");
    resume.skip(&mut first).expect("nothing to skip");
    resume.advance(&take(&mut first, 2), &Tally::default()).expect("the state is written");
    let mut resume = Resume::open(Some(&file), "s").expect("the state");
    let mut rest = input(text);
    resume.skip(&mut rest).map_err(|error| format!("{error:#}"))?;
    Ok(take(&mut rest, 9).into_iter().map(|event| event.line).collect())
}

#[test]
fn a_second_run_goes_on_after_what_was_answered() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(second_run(folder.path(), "{\"a\":1}\n\n{\"a\":2}\n{\"a\":3}\n{\"a\":4}"), Ok(vec![4, 5]));
    assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1, "nothing is left beside the state");
}

#[test]
fn a_file_that_has_changed_is_not_gone_on_with() {
    let folder = tempfile::tempdir().expect("a folder");
    let changed = second_run(folder.path(), "{\"a\":1}\n{\"a\":0}\n{\"a\":3}\n").expect_err("another file");
    assert!(changed.contains("has changed before line 3; remove the state to send all of it"), "{changed}");
    let short = second_run(folder.path(), "{\"a\":1}\n");
    assert!(short.is_err_and(|it| it.contains("fewer events than were sent")));
}

#[test]
fn a_state_belongs_to_its_stream() {
    let folder = tempfile::tempdir().expect("a folder");
    second_run(folder.path(), "").expect_err("a short file");
    let other = Resume::open(Some(&folder.path().join("state")), "t").err().expect("another stream");
    assert!(other.to_string().ends_with("is about stream s, not t; name another file for --resume"));
    std::fs::write(folder.path().join("state"), "{}").expect("a file");
    assert!(Resume::open(Some(&folder.path().join("state")), "s").is_err());
}

#[test]
fn a_batch_has_the_same_key_in_every_run_and_another_in_every_place() {
    let keys = |batches: &[usize]| -> Vec<String> {
        let mut input = input("{}\n{}\n{}\n{}\n");
        let mut resume = Resume::open(None, "s").expect("the beginning");
        let mut keys = Vec::new();
        for many in batches {
            let batch = take(&mut input, *many);
            keys.push(resume.key(&batch, false));
            resume.advance(&batch, &Tally::default()).expect("nothing is written");
        }
        keys
    };
    assert_eq!(keys(&[2, 2]), keys(&[2, 2]));
    let [first, second] = &keys(&[2, 2])[..] else { panic!("two batches") };
    assert_ne!(first, second, "the same events at another place");
    assert!(!keys(&[1, 3]).contains(second));
    let resume = Resume::open(None, "s").expect("the beginning");
    let batch = take(&mut input("{}\n"), 1);
    assert_ne!(resume.key(&batch, false), resume.key(&batch, true));
}
