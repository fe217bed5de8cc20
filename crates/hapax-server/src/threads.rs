//! The threads of a server: one for each processor, and bound to it.
//!
//! Whoever is woken on some systems, virtual machines among them, is put on the processor of whoever woke it, however busy that is; then the
//! threads of a server take turns on one processor, and the next one has nothing to do. Bound, each has its own. If
//! something else takes a processor, what waits there is taken over by the other threads.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use tokio::runtime::{Builder, Runtime};

/// The runtime of a server. There are two threads at least: while one waits for the disk another goes on.
pub fn runtime(bound: bool) -> std::io::Result<Runtime> {
    let processors = processors(ALL.get_or_init(allowed));
    let share = std::thread::available_parallelism().map_or(2, usize::from);
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(share.max(2)).enable_all();
    // Who has only a share of them, or a part of one, shares all with others, and is better moved about.
    if bound && processors.len() == share && share > 1 {
        let started = AtomicUsize::new(0);
        // Those who work are started first. Others wait for disks, and may run anywhere.
        builder.on_thread_start(move || match processors.get(started.fetch_add(1, Ordering::Relaxed)) {
            Some(processor) => {
                let mut own = CpuSet::new();
                own.set(*processor);
                // Who may not be bound works all the same.
                _ = sched_setaffinity(None, &own);
            }
            None => free(),
        });
    }
    builder.build()
}

/// What the process could use before any of its threads was bound.
static ALL: OnceLock<CpuSet> = OnceLock::new();

/// Starts a thread that may run anywhere. It would begin bound to where the one that starts it is, and wait for that one to be done.
pub(crate) fn anywhere<T>(start: impl FnOnce() -> T) -> T {
    let own = allowed();
    free();
    let started = start();
    _ = sched_setaffinity(None, &own);
    started
}

/// Lets this thread run anywhere.
fn free() {
    if let Some(all) = ALL.get() {
        _ = sched_setaffinity(None, all);
    }
}

/// Where this thread may run.
fn allowed() -> CpuSet {
    sched_getaffinity(None).unwrap_or_else(|_| CpuSet::new())
}

fn processors(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU).filter(|processor| set.is_set(*processor)).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::{Arc, Barrier};

    use super::*;

    /// Where the threads that work may run, each by itself.
    fn places(bound: bool) -> (BTreeSet<Vec<usize>>, usize) {
        let runtime = runtime(bound).expect("a runtime");
        let threads = runtime.metrics().num_workers();
        let meeting = Arc::new(Barrier::new(threads));
        let look = || {
            let meeting = Arc::clone(&meeting);
            // Nobody goes on before all are here, so each is in another thread.
            runtime.spawn(async move {
                meeting.wait();
                processors(&allowed())
            })
        };
        let looks: Vec<_> = (0..threads).map(|_| look()).collect();
        let places = looks.into_iter().map(|look| runtime.block_on(look).expect("no panic")).collect();
        (places, threads)
    }

    #[test]
    fn each_thread_has_a_processor_of_its_own_unless_it_is_told_otherwise() {
        let share = std::thread::available_parallelism().map_or(2, usize::from);
        let all = processors(&allowed());
        let (places, threads) = places(true);
        assert!(threads >= 2);
        if all.len() == share && share > 1 {
            assert_eq!(places, all.iter().map(|processor| vec![*processor]).collect());
        } else {
            assert_eq!(places, BTreeSet::from([all.clone()]));
        }
        assert_eq!(self::places(false).0, BTreeSet::from([all.clone()]));
        let runtime = runtime(true).expect("a runtime");
        let starts = async || {
            let started = std::thread::scope(|scope| {
                let thread = anywhere(|| scope.spawn(|| processors(&allowed())));
                thread.join().expect("no panic")
            });
            (started, processors(&allowed()))
        };
        let (started, own) = runtime.block_on(runtime.spawn(starts())).expect("no panic");
        assert_eq!(started, all, "whom a bound thread starts may run anywhere");
        assert!(places.contains(&own), "and who started it is where it was: {own:?}");
        let blocking = runtime.spawn_blocking(|| processors(&allowed()));
        assert_eq!(runtime.block_on(blocking).expect("no panic"), all, "and so may who waits for a disk");
    }
}
