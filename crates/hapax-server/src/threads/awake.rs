//! Keeps the threads of a small machine awake while several requests with events are answered.
//!
//! A thread that has nothing to do for a moment goes to sleep, and to wake it takes 30 to 50 µs on a virtual machine: as long as two
//! single events take altogether. And one of them sleeps until something comes over a socket. If its processor has a client to run by then,
//! it waits until that has had enough, and all that came waits with it, while the other processor has nothing to do.
//!
//! So there is a task for each thread that does nothing, again and again. A thread that has one does not sleep: it looks what came, and
//! for what the others have not begun. Between two looks it lets go of its processor, so whoever else wants that waits for a look at most;
//! for the system it is busy all the same, and has its share. The tasks
//! sleep as soon as there are few requests, or none has come for [a while](QUIET_LOOKS): then nobody waits for a processor, but for a
//! disk or a client.
//!
//! Not here: anything that decides. Without these tasks everything is the same, and a little later.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;
use tokio::task::{JoinSet, yield_now};

/// So many requests are worth it. Fewer leave a processor idle however quickly it wakes, and one that is alone would have to share its own.
const MANY: usize = 4;
/// On a machine with more processors one is more likely awake anyway, and to keep all of them so takes more power. Measured with two.
const PROCESSORS_MAX: usize = 4;
/// How often it is looked whether something came before it is quiet: a fifth to half of a millisecond where nobody else wants the processor,
/// as long as a sync takes.
const QUIET_LOOKS: u32 = 128;
/// So long the processor rests between two looks: one to three microseconds. It may share a core with another one that has something to do.
const PAUSES: u32 = 64;

/// Tasks that keep threads awake. They end when this is dropped.
#[derive(Debug)]
pub struct Awake {
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Shared {
    /// Requests with the writer, that are not answered yet.
    under_way: AtomicUsize,
    /// How many there ever were.
    begun: AtomicU64,
    /// Are some of the tasks asleep, and to be woken when it is worth it?
    asleep: AtomicBool,
    wakes: Notify,
}

/// One request, until it is dropped.
#[derive(Debug)]
pub struct Mark<'a>(&'a Shared);

impl Awake {
    /// For so many threads of this runtime, each of which has a processor.
    pub(super) fn start(threads: usize) -> Option<Self> {
        if threads > PROCESSORS_MAX {
            return None;
        }
        let shared = Arc::new(Shared::default());
        let stay_awake = |_| {
            let shared = Arc::clone(&shared);
            async move { shared.stay_awake().await }
        };
        let tasks = (0..threads).map(stay_awake).collect();
        Some(Self { shared, _tasks: tasks })
    }

    /// A request is with the writer.
    pub fn begin(&self) -> Mark<'_> {
        self.shared.begun.fetch_add(1, Ordering::Relaxed);
        let under_way = self.shared.under_way.fetch_add(1, Ordering::Relaxed) + 1;
        if under_way >= MANY && self.shared.asleep.load(Ordering::Relaxed) {
            self.shared.asleep.store(false, Ordering::Relaxed);
            self.shared.wakes.notify_waiters();
        }
        Mark(&self.shared)
    }
}

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    async fn stay_awake(&self) {
        loop {
            let mut quiet = Quiet::default();
            while !quiet.is_it(self.under_way.load(Ordering::Relaxed), self.begun.load(Ordering::Relaxed)) {
                // The thread does all else that there is, and then looks what came.
                yield_now().await;
                std::thread::yield_now();
                (0..PAUSES).for_each(|_| std::hint::spin_loop());
            }
            // Whoever comes from here on wakes it; who came just before is missed, and the next is not.
            let woken = self.wakes.notified();
            self.asleep.store(true, Ordering::Relaxed);
            woken.await;
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

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn its_tasks_sleep_until_many_ask_and_end_with_it() {
        let awake = Awake::start(2).expect("a small machine");
        let is_asleep = || awake.shared.asleep.load(Ordering::Relaxed);
        while !is_asleep() {
            yield_now().await;
        }
        let few: Vec<_> = (1..MANY).map(|_| awake.begin()).collect();
        assert!(is_asleep(), "few wake nobody");
        let last = awake.begin();
        assert_eq!(awake.shared.under_way.load(Ordering::Relaxed), MANY);
        // They were woken, and as nobody comes any more they sleep again.
        while !is_asleep() {
            yield_now().await;
        }
        drop((few, last));
        assert_eq!(awake.shared.under_way.load(Ordering::Relaxed), 0);
        let shared = Arc::downgrade(&awake.shared);
        drop(awake);
        while shared.upgrade().is_some() {
            yield_now().await;
        }
    }

    #[test]
    fn on_a_large_machine_there_are_none() {
        assert!(Awake::start(PROCESSORS_MAX + 1).is_none());
    }
}
