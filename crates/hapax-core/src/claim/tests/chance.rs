//! Dice write the story: several workers, crashes, a clock that jumps ahead, persons. The auditor knows only what
//! callers were told, and holds the registry to what it promises.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::world::*;
use crate::claim::*;
use crate::duration::Span;
use crate::time::Time;

#[derive(Clone, Debug)]
enum Act {
    /// A worker asks for an event; what it held before, it forgets (a crash).
    Claim(usize, usize),
    Heartbeat(usize),
    Done(usize),
    /// Says it and goes on as if the answer was lost.
    DoneUnheard(usize),
    Failed(usize),
    Pass(u64),
    Retry(usize),
    Skip(usize),
    /// The store forgets what the low-water mark stands for.
    Drop,
}

const WORKERS: usize = 4;

fn acts(events: usize) -> impl Strategy<Value = Vec<Act>> {
    let act = prop_oneof![
        8 => (0..WORKERS, 0..events).prop_map(|(worker, event)| Act::Claim(worker, event)),
        2 => (0..WORKERS).prop_map(Act::Heartbeat),
        4 => (0..WORKERS).prop_map(Act::Done),
        1 => (0..WORKERS).prop_map(Act::DoneUnheard),
        3 => (0..WORKERS).prop_map(Act::Failed),
        // Below, at and just above the lease of ten seconds and the backoff of one.
        4 => prop::sample::select(vec![1u64, 500, 999, 1_000, 4_000, 9_999, 10_000, 10_001]).prop_map(Act::Pass),
        1 => (0..events).prop_map(Act::Retry),
        1 => (0..events).prop_map(Act::Skip),
        1 => Just(Act::Drop),
    ];
    prop::collection::vec(act, 1..120)
}

#[derive(Default)]
struct Audit {
    greatest_fence: u64,
    /// Per event, the last one told that it holds, and until when.
    holders: BTreeMap<String, (Fence, Time)>,
    /// Per event, the fences under which `done` was confirmed.
    done: BTreeMap<String, BTreeSet<Fence>>,
    /// Per lane, what was done or skipped first, in this order.
    order: BTreeMap<String, Vec<String>>,
    settled: BTreeSet<String>,
    stale: BTreeSet<String>,
}

impl Audit {
    fn claimed(&mut self, world: &World, work: &Work, fence: Fence, lease_until: Time) {
        assert!(fence.0 > self.greatest_fence, "fences grow");
        self.greatest_fence = fence.0;
        if let Some((_, until)) = self.holders.insert(work.event_id.clone(), (fence, lease_until)) {
            assert!(until < world.now, "{} has two live holders", work.event_id);
        }
        assert!(!self.settled.contains(&work.event_id), "{} was settled", work.event_id);
        let lane = |other: &&Work| other.lane == work.lane;
        let settled = |other: &Work| self.settled.contains(&other.event_id);
        match world.handler.order {
            Order::None => {}
            Order::LatestOnly => {
                let done = |other: &Work| self.done.contains_key(&other.event_id);
                let above =
                    world.stream.iter().filter(lane).filter(|other| (other.epoch, other.seq) >= (work.epoch, work.seq));
                assert!(!above.into_iter().any(done), "{} starts below what is done", work.event_id);
            }
            Order::InOrder => {
                let mut before = world.stream.iter().filter(lane).take_while(|other| other.event_id != work.event_id);
                assert!(before.all(settled), "{} overtakes", work.event_id);
            }
        }
    }

    /// `lease_until` moved, or the holder let go.
    fn lease(&mut self, work: &Work, fence: Fence, until: Option<Time>) {
        let holder = self.holders.get(&work.event_id).copied();
        assert_eq!(holder.map(|(fence, _)| fence), Some(fence), "an old fence was heard");
        match until {
            Some(until) => self.holders.insert(work.event_id.clone(), (fence, until)),
            None => self.holders.remove(&work.event_id),
        };
    }

    fn settle(&mut self, work: &Work) {
        if self.settled.insert(work.event_id.clone()) {
            self.order.entry(work.lane.clone().unwrap_or_default()).or_default().push(work.event_id.clone());
        }
    }

    fn done(&mut self, work: &Work, fence: Fence) {
        let fences = self.done.entry(work.event_id.clone()).or_default();
        fences.insert(fence);
        assert_eq!(fences.len(), 1, "{} is done under two fences", work.event_id);
        self.settle(work);
    }

    /// What holds between any two calls.
    fn check(&self, world: &World) {
        let dead = world.claims.values().filter(|claim| claim.is_dead()).count();
        assert_eq!(world.state.dead, dead as u64);
        if world.handler.stream.is_some() {
            let passed = self.settled.union(&self.stale).count() as u64;
            assert_eq!(world.state.passed.count(), passed);
            assert_eq!(world.state.lag(world.stream.len() as u64), world.stream.len() as u64 - passed);
        }
        if world.handler.order == Order::InOrder {
            for (lane, order) in &self.order {
                let all = world.stream.iter().filter(|work| work.lane.as_ref() == Some(lane));
                let expect: Vec<String> = all.map(|work| work.event_id.clone()).take(order.len()).collect();
                assert_eq!(*order, expect, "lane {lane}");
            }
            assert!(world.lanes.values().all(|lane| lane.held.len() <= 1));
        }
    }
}

/// Whoever holds something, as it was told itself.
type Hands = [Option<(Work, Fence)>; WORKERS];

fn play(world: &mut World, audit: &mut Audit, hands: &mut Hands, act: &Act) {
    match act {
        Act::Claim(worker, event) => {
            let work = world.stream[*event].clone();
            let decision = world.claim(&work).expect("the story's numbers are consistent");
            match decision {
                Decision::Claimed { fence, lease_until, .. } => {
                    audit.claimed(world, &work, fence, lease_until);
                    hands[*worker] = Some((work, fence));
                }
                Decision::Stale => drop(audit.stale.insert(work.event_id)),
                Decision::Done { .. } => {
                    assert!(audit.settled.contains(&work.event_id) || audit.stale.contains(&work.event_id));
                }
                Decision::Dead | Decision::InProgress { .. } | Decision::Waiting { .. } => {}
            }
        }
        Act::Heartbeat(worker) => {
            if let Some((work, fence)) = hands[*worker].clone()
                && let Ok(Status::Claimed { lease_until }) = world.heartbeat(&work, fence)
            {
                audit.lease(&work, fence, Some(lease_until));
            }
        }
        Act::Done(worker) | Act::DoneUnheard(worker) => {
            let Some((work, fence)) = hands[*worker].clone() else { return };
            // Odd fences bring no result, so that their claims can be forgotten.
            let said = if fence.0 % 2 == 1 { world.done_silently(&work, fence) } else { world.done(&work, fence) };
            if said == Ok(Status::Done) && world.claims.contains_key(&work.event_id) {
                audit.done(&work, fence);
            }
            if matches!(act, Act::Done(_)) {
                hands[*worker] = None;
            }
        }
        Act::Failed(worker) => {
            let Some((work, fence)) = hands[*worker].clone() else { return };
            if let Ok(Status::Failed { .. } | Status::Dead) = world.failed(&work, fence)
                && audit.holders.get(&work.event_id).is_some_and(|(holder, _)| *holder == fence)
            {
                audit.lease(&work, fence, None);
            }
        }
        Act::Pass(millis) => world.now = world.now.plus(Span::from_millis(*millis)),
        Act::Retry(event) => {
            if let Ok(claim) = world.retry(&world.stream[*event].clone()) {
                audit.greatest_fence = audit.greatest_fence.max(claim.fence.0);
                audit.holders.remove(&claim.work.event_id);
            }
        }
        Act::Skip(event) => {
            if let Ok(claim) = world.skip(&world.stream[*event].clone(), "known bad") {
                audit.greatest_fence = audit.greatest_fence.max(claim.fence.0);
                audit.holders.remove(&claim.work.event_id);
                audit.settle(&claim.work);
            }
        }
        Act::Drop => world.drop_forgettable(),
    }
    audit.check(world);
}

/// From here on everyone behaves: workers finish what they claim, time passes, and persons look after the dead.
fn end_fairly(world: &mut World, audit: &mut Audit) {
    let mut hands = Hands::default();
    let events = world.stream.len();
    for round in 0..4 * events {
        for event in 0..events {
            play(world, audit, &mut hands, &Act::Claim(0, event));
            let how = if (round + event) % 3 == 0 { Act::Failed(0) } else { Act::Done(0) };
            play(world, audit, &mut hands, &how);
            hands[0] = None;
            let person = if event % 2 == 0 { Act::Retry(event) } else { Act::Skip(event) };
            play(world, audit, &mut hands, &person);
        }
        play(world, audit, &mut hands, &Act::Pass(10_001));
    }
    for work in &world.stream {
        assert!(
            audit.settled.contains(&work.event_id) || audit.stale.contains(&work.event_id),
            "{} never ends",
            work.event_id
        );
    }
}

const EVENTS: &str = "a1 b1 a2 a3 b2 a4 b3 a1:1 a2:1";

fn story(order: &str, in_ledger: bool, acts: &[Act]) {
    let stream = if in_ledger { r#","stream":"s""# } else { "" };
    let settings = format!(r#""order":"{order}","lease":"10s","attempts_max":3{stream}"#);
    let mut world = World::new(&settings, EVENTS);
    if !in_ledger {
        for work in &mut world.stream {
            work.place = Place::Registry;
        }
        if order == "in_order" {
            // In a bare registry an epoch may begin before events that nobody has mentioned yet; those are then
            // refused, which is its own test.
            world.stream.retain(|work| work.epoch == 0);
        }
    }
    let (mut audit, mut hands) = (Audit::default(), Hands::default());
    for act in acts {
        let within = |event: &usize| *event < world.stream.len();
        let fits = match act {
            Act::Claim(_, event) | Act::Retry(event) | Act::Skip(event) => within(event),
            Act::Heartbeat(_) | Act::Done(_) | Act::DoneUnheard(_) | Act::Failed(_) | Act::Pass(_) | Act::Drop => true,
        };
        if fits {
            play(&mut world, &mut audit, &mut hands, act);
        }
    }
    end_fairly(&mut world, &mut audit);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn without_order_each_event_has_one_holder_and_one_end(acts in acts(9), in_ledger: bool) {
        story("none", in_ledger, &acts);
    }

    #[test]
    fn latest_only_never_starts_below_what_is_done(acts in acts(9), in_ledger: bool) {
        story("latest_only", in_ledger, &acts);
    }

    #[test]
    fn in_order_loses_and_overtakes_nothing(acts in acts(9), in_ledger: bool) {
        story("in_order", in_ledger, &acts);
    }
}
