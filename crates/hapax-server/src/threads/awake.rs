//! Keeps the processors of a small machine awake while many small requests are answered.
//!
//! A processor that has nothing to do for a moment goes to sleep, and to wake it takes 30 to 50 µs on a virtual machine: as long as two
//! single events take altogether. While many of them wait for a sync, the thread that writes sleeps twice, and so do those that answer.
//!
//! So there is a thread for each processor that does nothing, with the system's lowest priority (`SCHED_IDLE`): it has only what nobody
//! else wants, and whoever is woken takes the processor from it at once. It goes to sleep itself as soon as there are few requests, or none
//! has come for [a while](QUIET_LOOKS): then nobody waits for a processor, but for a disk or a client.
//!
//! Not here: anything that decides. Without these threads everything is the same, and a little later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{JoinHandle, park};

use rustix::thread::{CpuSet, sched_setaffinity};
use thread_priority::{
    NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy, set_thread_priority_and_policy, thread_native_id,
};

/// So many small requests are worth it. Fewer leave a processor idle however quickly it wakes.
const MANY: usize = 8;
/// On a machine with more processors one is more likely awake anyway, and to keep all of them so takes more power. Measured with two.
const PROCESSORS_MAX: usize = 4;
/// How often it is looked whether something came before it is quiet: about a fifth of a millisecond, as long as a sync takes.
const QUIET_LOOKS: u32 = 128;
/// A look is so many pauses of the processor: one to two microseconds.
const LOOK_PAUSES: u32 = 32;

/// Threads that stay awake. They end when this is dropped.
#[derive(Debug)]
pub struct Awake {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Small requests that are not answered yet.
    under_way: AtomicUsize,
    /// How many there ever were.
    begun: AtomicU64,
    /// Are some of the threads asleep, and to be woken when it is worth it?
    asleep: AtomicBool,
    ends: AtomicBool,
}

/// One small request, until it is dropped.
#[derive(Debug)]
pub struct Mark<'a>(&'a Shared);

impl Awake {
    /// For these processors, each of which has a thread of the server.
    pub(super) fn start(processors: &[usize]) -> Option<Self> {
        if processors.len() > PROCESSORS_MAX {
            return None;
        }
        let shared = Arc::new(Shared::default());
        let start = |processor: &usize| {
            let (shared, mut own) = (Arc::clone(&shared), CpuSet::new());
            own.set(*processor);
            let run = move || {
                // With the priority of others it would take from them what it wants to save.
                if sched_setaffinity(None, &own).is_ok() && is_last_of_all() {
                    shared.stay_awake();
                }
            };
            std::thread::Builder::new().name("awake".to_owned()).spawn(run).ok()
        };
        let threads = processors.iter().filter_map(start).collect();
        Some(Self { shared, threads })
    }

    /// A small request is under way.
    pub fn begin(&self) -> Mark<'_> {
        self.shared.begun.fetch_add(1, Ordering::Relaxed);
        let under_way = self.shared.under_way.fetch_add(1, Ordering::Relaxed) + 1;
        if under_way >= MANY && self.shared.asleep.load(Ordering::Relaxed) {
            self.shared.asleep.store(false, Ordering::Relaxed);
            self.wake();
        }
        Mark(&self.shared)
    }

    fn wake(&self) {
        self.threads.iter().for_each(|thread| thread.thread().unpark());
    }
}

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.shared.ends.store(true, Ordering::Relaxed);
        self.wake();
        for thread in self.threads.drain(..) {
            _ = thread.join();
        }
    }
}

impl Shared {
    fn stay_awake(&self) {
        let mut quiet = Quiet::default();
        while !self.ends.load(Ordering::Relaxed) {
            (0..LOOK_PAUSES).for_each(|_| std::hint::spin_loop());
            if quiet.is_it(self.under_way.load(Ordering::Relaxed), self.begun.load(Ordering::Relaxed)) {
                self.asleep.store(true, Ordering::Relaxed);
                // Whoever comes from here on wakes it; who came just before is missed, and the next is not.
                park();
                quiet = Quiet::default();
            }
        }
    }
}

/// Whether it has been quiet for so long that there is nothing to stay awake for.
#[derive(Debug, Default)]
struct Quiet {
    begun: u64,
    looks: u32,
}

impl Quiet {
    fn is_it(&mut self, under_way: usize, begun: u64) -> bool {
        let is_busy = under_way >= MANY && begun != self.begun;
        self.looks = if is_busy { 0 } else { self.looks + 1 };
        self.begun = begun;
        self.looks > QUIET_LOOKS
    }
}

/// Gives this thread only what nobody else wants. False if the system does not.
fn is_last_of_all() -> bool {
    let policy = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, policy).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_quiet_when_few_ask_or_nobody_has_asked_for_a_while() {
        let mut quiet = Quiet::default();
        assert!((1..1000).all(|begun| !quiet.is_it(MANY, begun)), "many ask");
        let looks = |quiet: &mut Quiet, under_way| (1..).find(|_| quiet.is_it(under_way, 1000)).expect("an end");
        assert_eq!(looks(&mut quiet, MANY) - 1, u64::from(QUIET_LOOKS) + 1, "nobody has asked, though many wait");
        let mut quiet = Quiet::default();
        let few = (1..).find(|begun| quiet.is_it(MANY - 1, *begun)).expect("an end");
        assert_eq!(few, u64::from(QUIET_LOOKS) + 1, "few ask");
    }

    #[test]
    fn its_threads_sleep_until_many_ask_and_end_with_it() {
        let here = super::super::processors(&super::super::allowed());
        let awake = Awake::start(&here[..1]).expect("a small machine");
        let is_asleep = || awake.shared.asleep.load(Ordering::Relaxed);
        let wait_until_asleep = || {
            while !is_asleep() {
                std::thread::yield_now();
            }
        };
        wait_until_asleep();
        let few: Vec<_> = (1..MANY).map(|_| awake.begin()).collect();
        assert!(is_asleep(), "few wake nobody");
        let last = awake.begin();
        assert_eq!(awake.shared.under_way.load(Ordering::Relaxed), MANY);
        // It was woken, and as nobody comes any more it sleeps again.
        wait_until_asleep();
        drop((few, last));
        assert_eq!(awake.shared.under_way.load(Ordering::Relaxed), 0);
        let shared = Arc::downgrade(&awake.shared);
        drop(awake);
        assert!(shared.upgrade().is_none(), "no thread is left");
    }

    #[test]
    fn the_system_gives_it_what_nobody_else_wants() {
        let policy = std::thread::spawn(|| {
            assert!(is_last_of_all());
            thread_priority::thread_schedule_policy().expect("a policy")
        });
        let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
        assert_eq!(policy.join().expect("no panic"), idle);
    }
}
