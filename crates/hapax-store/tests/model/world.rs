//! Contracts and histories in which things collide: few ids, few lanes, small numbers, times at the bounds.
//!
//! A world is drawn as *plans* ("the next number but one", "a nanosecond past the bound") and then written out event by
//! event, with the model run alongside to know what the next number or the bound is. So a plan that shrinks is still a
//! sensible plan, and deep histories do not wander off into refusals. Everything drawn is a valid contract.

mod plan;
mod rules;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use super::model::{Model, Opts, Rules};
pub(crate) use rules::rules;

use plan::{EventPlan, Step, event, step};

/// Ten seconds before the end of a day and a month, so that periods change under way.
pub(crate) const BEGINNING_NS: i64 = 1_769_903_990_000_000_000;

#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) rules: Rules,
    pub(crate) requests: Vec<Request>,
}

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) now_ns: i64,
    pub(crate) docs: Vec<Value>,
    pub(crate) opts: Opts,
}

/// May the server's clock step back between two requests?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    Forward,
    MayStepBack,
}

/// A contract and 1 to 60 requests of 1 to 8 events.
pub(crate) fn worlds(clock: Clock) -> impl Strategy<Value = World> {
    rules().prop_flat_map(move |rules| histories(rules, clock))
}

/// Histories under a given contract.
pub(crate) fn histories(rules: Rules, clock: Clock) -> impl Strategy<Value = World> {
    // Lanes that jump to 2^64−1 or raise their epochs soon refuse most of what follows; not every world has them.
    let traits = (prop::bool::weighted(0.15), prop::bool::weighted(0.4));
    traits.prop_flat_map(move |(near_top, epochs)| {
        let rules = rules.clone();
        let plans = vec(request(&rules, clock, near_top, epochs), 1..=60);
        plans.prop_map(move |plans| write_out(&rules, &plans))
    })
}

#[derive(Debug, Clone)]
struct RequestPlan {
    step: Step,
    events: Vec<EventPlan>,
    opts: Opts,
}

fn request(rules: &Rules, clock: Clock, near_top: bool, epochs: bool) -> impl Strategy<Value = RequestPlan> + use<> {
    let override_share = if rules.override_allowed { 0.15 } else { 0.0 };
    let opts = (prop::bool::weighted(0.1), prop::bool::weighted(0.07), prop::bool::weighted(override_share));
    let events = vec(event(rules, near_top, epochs), 1..=8);
    (step(clock), events, opts).prop_map(|(step, events, (atomic, dry_run, override_))| RequestPlan {
        step,
        events,
        opts: Opts { atomic, dry_run, override_ },
    })
}

fn write_out(rules: &Rules, plans: &[RequestPlan]) -> World {
    let mut model = Model::new(rules.clone());
    let mut written = Vec::new();
    let mut requests = Vec::new();
    let mut now_ns = BEGINNING_NS;
    for plan in plans {
        now_ns += plan.step.ns(rules);
        // Events of one request are planned against a trial of those before them, so that "next" means next in the batch.
        let mut trial = model.clone();
        let mut docs = Vec::new();
        for event in &plan.events {
            let doc = event.write(rules, &trial, now_ns, &written);
            trial.submit(
                now_ns,
                std::slice::from_ref(&doc),
                Opts { override_: plan.opts.override_, ..Opts::default() },
            );
            written.push(doc.clone());
            docs.push(doc);
        }
        model.submit(now_ns, &docs, plan.opts);
        requests.push(Request { now_ns, docs, opts: plan.opts });
    }
    World { rules: rules.clone(), requests }
}
