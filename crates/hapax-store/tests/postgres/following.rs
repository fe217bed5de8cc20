//! Reading beside writing: offsets appear in their order, so that whoever asks for more after the last one misses nothing.

use std::sync::atomic::{AtomicUsize, Ordering};

use hapax_store::seam::{Read, Store};

use crate::servers::{Ledger, numbered};
use crate::world::{stream, submit, take};

const WRITERS: usize = 3;
const TURNS: u64 = 40;

/// One writer less, however it ends.
struct Ends<'w>(&'w AtomicUsize);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn a_follower_misses_nothing_while_several_write() {
    let ledger = Ledger::new();
    let one = stream("t", "one");
    let writing = AtomicUsize::new(WRITERS);
    let polls = std::thread::scope(|scope| {
        for (index, mut server) in ledger.servers(WRITERS).into_iter().enumerate() {
            let (one, writing) = (&one, &writing);
            scope.spawn(move || {
                let _ends = Ends(writing);
                for number in 1..=TURNS {
                    // Turns of different lengths, which overtake each other if anything can.
                    let event = |part: u64| {
                        let seq = number * 10 + part;
                        numbered(&format!("{index}-{seq}"), &format!("lane-{index}"), seq)
                    };
                    take(&mut server, vec![submit(one, &(0..1 + number % 4).map(event).collect::<Vec<_>>())]);
                }
            });
        }
        let follower = ledger.server();
        let (mut after, mut polls) = (0, 0_u64);
        loop {
            // Asked before reading: what was committed until then must be there.
            let over = writing.load(Ordering::SeqCst) == 0;
            let entries = follower.reader().entries(&one, after, 7).expect("entries");
            polls += 1;
            for entry in &entries {
                assert_eq!(entry.offset, after + 1, "one was missed");
                after = entry.offset;
            }
            if over && entries.is_empty() {
                break;
            }
        }
        let written: u64 = WRITERS as u64 * (1..=TURNS).map(|number| 1 + number % 4).sum::<u64>();
        assert_eq!(after, written, "all of it was seen");
        polls
    });
    println!("figure: {WRITERS} servers wrote, a follower polled {polls} times and missed nothing");
}
