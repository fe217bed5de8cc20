use std::sync::mpsc;

use proptest::prelude::*;
use tracing_subscriber::fmt::format::{DefaultFields, FormatFields};

use super::*;

/// Hands each write over, so that it waits until the one before is taken.
struct Taken(mpsc::SyncSender<Vec<u8>>);

impl Write for Taken {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.0.send(text.to_vec()).map_err(io::Error::other)?;
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn lines_are_whole_and_in_order_and_none_is_left_behind() {
    let (taken, writes) = mpsc::sync_channel(1 << 16);
    let gathering = Gathering::into(Taken(taken)).expect("a thread");
    std::thread::scope(|threads| {
        for speaker in 0..4 {
            let mut log = Speaker(Arc::clone(&gathering.lines));
            threads
                .spawn(move || (0..1000).try_for_each(|line| log.write_all(format!("{speaker} {line}\n").as_bytes())));
        }
    });
    drop(gathering);
    let said = String::from_utf8(writes.into_iter().flatten().collect()).expect("text");
    let mut next = [0; 4];
    for line in said.lines() {
        let (speaker, number) = line.split_once(' ').expect("two numbers");
        let next = &mut next[speaker.parse::<usize>().expect("a number")];
        assert_eq!(number.parse(), Ok(*next));
        *next += 1;
    }
    assert_eq!(next, [1000; 4]);
}

#[test]
fn who_speaks_waits_while_nothing_is_taken() {
    let (taken, writes) = mpsc::sync_channel(0);
    let gathering = Gathering::into(Taken(taken)).expect("a thread");
    let mut log = Speaker(Arc::clone(&gathering.lines));
    let line = vec![b'x'; BYTES_MAX];
    let (said, all) = mpsc::channel();
    let speaker = std::thread::spawn(move || {
        for number in 0..8 {
            log.write_all(&line).expect("it cannot fail");
            said.send(number).expect("the test waits");
        }
    });
    let mut bytes = 0;
    for write in 1..=8 {
        let text = writes.recv().expect("a write");
        assert!(text.len() <= BYTES_MAX);
        bytes += text.len();
        // One was taken, one is held by the thread, and one more is gathered.
        assert!(all.try_iter().all(|number| number < write + 2));
    }
    speaker.join().expect("it said all");
    drop(gathering);
    assert_eq!(bytes, 8 * BYTES_MAX);
}

proptest! {
    /// Whatever an id holds, the line is the one that the subscriber would have written.
    #[test]
    fn a_line_is_what_the_subscriber_writes(text in any::<String>(), plain in "[ -~]{0,40}", number in any::<u64>()) {
        let ours = written(Fields, &text, &plain, number);
        prop_assert_eq!(&ours, &written(DefaultFields::new(), &text, &plain, number));
        prop_assert_eq!(ours.lines().count(), 1, "no text begins a line of its own");
    }
}

fn written(
    fields: impl for<'w> FormatFields<'w> + Send + Sync + 'static,
    text: &str,
    plain: &str,
    number: u64,
) -> String {
    let said = Arc::new(Lines::default());
    let lines = Arc::clone(&said);
    let log = tracing_subscriber::fmt().without_time().with_ansi(false).fmt_fields(fields);
    tracing::subscriber::with_default(log.with_writer(move || Speaker(Arc::clone(&lines))).finish(), || {
        tracing::info!(text, plain, missing = None::<&str>, number, error = %io::Error::other("no"), r#type = plain, "said");
    });
    let gathered = said.gathered();
    String::from_utf8_lossy(&gathered.text).into_owned()
}
