//! What an append costs, and what the one costs that begins a segment: the slowest column is that one.
//!
//! `cargo bench -p hapax-store --bench log`, on the disk that `TMPDIR` is on. Each append is a sample of its own; a
//! segment of 64 MiB is filled every 250th of them. With `ahead` another thread makes the next one, with `compacting`
//! it rewrites those before.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use divan::Bencher;
use divan::counter::BytesCount;
use hapax_store::embedded::disk::RealDisk;
use hapax_store::embedded::log::{FrameNumber, Log, LogId, Options};

fn main() {
    divan::main();
}

/// Large enough that a few hundred fill a segment.
const FRAME: usize = 256 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    /// No segment is begun: what the disk does by itself.
    NoSegment,
    Nothing,
    Ahead,
    Compacting,
}

#[divan::bench(args = [Beside::NoSegment, Beside::Nothing, Beside::Ahead, Beside::Compacting], sample_count = 1200, sample_size = 1)]
fn appending(bencher: Bencher<'_, '_>, beside: Beside) {
    let dir = tempfile::tempdir().expect("a directory");
    let disk = RealDisk::at(dir.path()).expect("a disk");
    let segment_bytes = if beside == Beside::NoSegment { 400 << 20 } else { 64 << 20 };
    let options = Options { segment_bytes, ..Options::default() };
    let mut log = Log::create(disk, options, LogId([7; 16])).expect("a log");
    let (spare, compactor, reader) = (log.spare(), log.compactor(), log.reader());
    let done = AtomicBool::new(false);
    let bytes = vec![7; FRAME / 2];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut compacted = FrameNumber::ORIGIN;
            while matches!(beside, Beside::Ahead | Beside::Compacting) && !done.load(Ordering::Relaxed) {
                spare.make().expect("a disk that writes");
                let sealed = reader.segments().into_iter().find(|it| it.sealed && it.first > compacted);
                if let (Beside::Compacting, Some(segment)) = (beside, sealed) {
                    compactor.compact(segment.first, |_, _, _| None).expect("a disk that writes");
                    compacted = segment.first;
                }
                std::thread::park_timeout(Duration::from_millis(2));
            }
        });
        let counter = BytesCount::new(FRAME);
        // A pause before each, outside of what is measured: 256 KiB every two milliseconds is half a million events a second.
        let pause = || std::thread::park_timeout(Duration::from_millis(2));
        let append = |()| log.append(&bytes, &bytes).expect("a disk that writes");
        bencher.counter(counter).with_inputs(pause).bench_local_values(append);
        done.store(true, Ordering::Relaxed);
    });
}
