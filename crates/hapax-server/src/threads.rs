//! The threads of a server: one for each processor, and bound to it.
//!
//! Whoever is woken on some systems, virtual machines among them, is put on the processor of whoever woke it, however busy that is; then the
//! threads of a server take turns on one processor, and the next one has nothing to do. Bound, each has its own. If
//! something else takes a processor, what waits there is taken over by the other threads.

pub mod awake;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};

use rustix::thread::{CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};
use tokio::runtime::{Builder, Runtime};

use self::awake::Awake;

/// The runtime of a server. There are two threads at least: while one waits for the disk another goes on.
pub fn runtime(bound: bool) -> std::io::Result<Runtime> {
    let processors = processors(&allowed());
    let share = std::thread::available_parallelism().map_or(2, usize::from);
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(share.max(2)).enable_all();
    // Who has only a share of them, or a part of one, shares all with others, and is better moved about.
    if !(bound && processors.len() == share && share > 1) {
        return builder.build();
    }
    ALL.get_or_init(allowed);
    let started = AtomicUsize::new(0);
    let (tells, told) = channel();
    // Those who work are started first. Others wait for disks, and may run anywhere.
    builder.on_thread_start(move || match processors.get(started.fetch_add(1, Ordering::Relaxed)) {
        Some(processor) => {
            let mut own = CpuSet::new();
            own.set(*processor);
            // Who may not be bound works all the same.
            _ = sched_setaffinity(None, &own);
            _ = tells.send(());
        }
        None => free(),
    });
    let runtime = builder.build()?;
    // Nobody else is started before they have their places, or it would take one of them.
    told.iter().take(share).for_each(drop);
    Ok(runtime)
}

/// What the process could use before any of its threads was bound; none as long as none is.
static ALL: OnceLock<CpuSet> = OnceLock::new();

/// What keeps the threads of this runtime awake, where each has a processor of its own.
pub fn awake() -> Option<Awake> {
    ALL.get().and_then(|all| Awake::start(processors(all).len()))
}

/// A thread beside those that work, for a part of what one of them has to do.
#[derive(Debug)]
pub struct Beside {
    jobs: Sender<Job>,
    thread: Pid,
    is_busy: Arc<AtomicBool>,
    /// The processor that it is kept away from.
    away_from: AtomicUsize,
}

type Job = Box<dyn FnOnce() + Send>;

impl Beside {
    /// Starts one, if there is another processor for it and a thread can be had. It ends when this is dropped.
    pub fn start() -> Option<Self> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        if processors > 1 { Self::on_any_machine() } else { None }
    }

    pub(crate) fn on_any_machine() -> Option<Self> {
        let (jobs, waiting) = channel::<Job>();
        let (tells, told) = channel();
        let is_busy = Arc::new(AtomicBool::new(false));
        let busy = Arc::clone(&is_busy);
        let run = move || {
            free();
            _ = tells.send(gettid());
            for job in waiting {
                // What panics was for one request, and is told by its silence.
                _ = catch_unwind(AssertUnwindSafe(job));
                busy.store(false, Ordering::Release);
            }
        };
        std::thread::Builder::new().name("beside".to_owned()).spawn(run).ok()?;
        Some(Self { jobs, thread: told.recv().ok()?, is_busy, away_from: AtomicUsize::new(usize::MAX) })
    }

    /// Lets it do something on another processor than this. Answers whether it does; it does not if it is busy.
    pub fn run(&self, job: impl FnOnce() + Send + 'static) -> bool {
        if self.is_busy.swap(true, Ordering::Acquire) {
            return false;
        }
        if let Some(all) = ALL.get() {
            let here = sched_getcpu();
            if self.away_from.swap(here, Ordering::Relaxed) != here {
                let mut others = *all;
                others.unset(here);
                _ = sched_setaffinity(Some(self.thread), &others);
            }
        }
        self.jobs.send(Box::new(job)).is_ok()
    }
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
    use std::sync::Barrier;

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
        let beside = Beside::on_any_machine().expect("a thread");
        let asks = async move {
            let (tells, told) = channel();
            assert!(beside.run(move || _ = tells.send(processors(&allowed()))));
            (processors(&allowed()), told.recv().expect("where it is"))
        };
        let (own, other) = runtime.block_on(runtime.spawn(asks)).expect("no panic");
        assert!(places.contains(&own), "who asks stays where it was: {own:?}");
        let elsewhere: Vec<_> = all.iter().copied().filter(|it| own.len() > 1 || !own.contains(it)).collect();
        assert_eq!(other, if elsewhere.is_empty() { all.clone() } else { elsewhere }, "who is asked is elsewhere");
        let blocking = runtime.spawn_blocking(|| processors(&allowed()));
        assert_eq!(runtime.block_on(blocking).expect("no panic"), all, "and so may who waits for a disk");
    }
}
