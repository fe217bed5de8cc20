//! Random contracts that the contract check of section 2 lets pass.

use proptest::prelude::*;
use proptest::sample::select;

use super::super::model::{
    Batch, Different, First, Gap, Identity, Late, Mode, Nonce, Order, Period, Rules, Same, Scope, Sequence, Source,
    StopOn, Time, TimeRegression, Usage,
};

const S: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * S;
const HOUR: i64 = 60 * MINUTE;

pub(crate) fn rules() -> impl Strategy<Value = Rules> {
    let mode = prop_oneof![6 => Just(Mode::Enforce), 3 => Just(Mode::Shadow), 1 => Just(Mode::Off)];
    let parts = (mode, identity(), sequence(), time(), nonce(), batch(), any::<bool>(), usage());
    parts.prop_map(|(mode, identity, sequence, time, nonce, batch, override_allowed, usage)| {
        made_safe(Rules { mode, identity, sequence, time, nonce, batch, override_allowed, usage })
    })
}

/// What was drawn part by part, changed where the parts together would be refused.
fn made_safe(mut rules: Rules) -> Rules {
    if let (Some(late), Some(past)) = (rules.time.late, rules.time.past) {
        rules.time.late = Some(late.min(past));
    }
    // Half of the worlds that were drawn with a finite `keep` would lose it for want of bounds: give them bounds.
    if rules.identity.keep.is_some() {
        rules.time.required = true;
        rules.time.past = rules.time.past.or(Some(10 * S));
        rules.time.future = rules.time.future.or(Some(5 * S));
        rules.time.late = rules.time.late.min(rules.time.past);
    }
    let reach = rules.time.past.zip(rules.time.future).map(|(past, future)| past + future);
    if let (Some(keep), Some(reach)) = (rules.identity.keep, reach) {
        rules.identity.keep = Some(keep.max(reach));
    }
    if rules.nonce.required {
        rules.nonce.keep = rules.nonce.keep.zip(reach).map(|(keep, reach)| keep.max(reach));
    }
    if rules.sequence.source != Source::Server {
        rules.sequence.expected_required_for = None;
    }
    if rules.sequence.source != Source::Producer && rules.batch.order == Order::Sequence {
        rules.batch.order = Order::AsSent;
    }
    if rules.usage.is_some() {
        rules.identity.exclude.retain(|name| name != "amount");
    }
    rules
}

fn identity() -> impl Strategy<Value = Identity> {
    let keep = prop_oneof![6 => Just(None), 1 => Just(Some(0)), 2 => Just(Some(30 * S))];
    let exclude = select(vec![vec![], vec!["sent_at"], vec!["nonce", "sent_at"], vec!["seq", "epoch"], vec!["amount"]]);
    let same = select(vec![Same::Replay, Same::Reject]);
    let different = prop_oneof![3 => Just(Different::Reject), 1 => Just(Different::Warn)];
    let scope = prop_oneof![2 => Just(Scope::Stream), 1 => Just(Scope::Lane)];
    (prop::bool::weighted(0.3), same, different, scope, keep, exclude).prop_map(
        |(required, same, different, scope, keep, exclude)| Identity {
            required,
            same,
            different,
            scope,
            keep,
            exclude: exclude.into_iter().map(String::from).collect(),
        },
    )
}

fn sequence() -> impl Strategy<Value = Sequence> {
    let source = prop_oneof![1 => Just(Source::None), 6 => Just(Source::Producer), 2 => Just(Source::Server)];
    let late = || select(vec![Late::Mark, Late::Mark, Late::Reject, Late::Stale]);
    let gap = prop_oneof![4 => Just(Gap::Mark), 1 => Just(Gap::Reject)];
    let gaps_open_max = prop_oneof![9 => 1_usize..=3, 1 => Just(10_000)];
    let for_kind = select(vec![None, Some(vec!["update"]), Some(vec!["update", "delete"])]);
    let first = select(vec![First::Any, First::Any, First::Zero, First::One]);
    (source, first, gap, select(vec![0_u64, 2, 1000]), late(), late(), gaps_open_max, for_kind).prop_map(
        |(source, first, gap, gap_large, regression, repeat, gaps_open_max, for_kind)| Sequence {
            source,
            first,
            gap,
            gap_large,
            regression,
            repeat,
            gaps_open_max,
            expected_required_for: for_kind
                .map(|values| ("kind".to_string(), values.into_iter().map(String::from).collect())),
        },
    )
}

fn time() -> impl Strategy<Value = Time> {
    let bound = |choices: &[Option<i64>]| select(choices.to_vec());
    let future = bound(&[None, Some(0), Some(5 * S), Some(5 * S), Some(HOUR)]);
    let past = bound(&[None, None, None, Some(0), Some(10 * S), Some(5 * MINUTE), Some(5 * MINUTE), Some(48 * HOUR)]);
    let late = bound(&[None, Some(0), Some(5 * S), Some(HOUR)]);
    let regression = select(vec![TimeRegression::Ignore, TimeRegression::Mark, TimeRegression::Reject]);
    let grace = select(vec![0, 2 * S, 5 * MINUTE]);
    (prop::bool::weighted(0.3), prop::bool::weighted(0.7), future, past, late, regression, grace).prop_map(
        |(required, utc_only, future, past, late, regression, grace)| Time {
            required,
            utc_only,
            future,
            past,
            late,
            regression,
            grace,
        },
    )
}

fn nonce() -> impl Strategy<Value = Nonce> {
    let keep = select(vec![None, Some(0), Some(10 * S), Some(HOUR)]);
    (prop::bool::weighted(0.25), keep).prop_map(|(required, keep)| Nonce { required, keep })
}

fn batch() -> impl Strategy<Value = Batch> {
    let order = select(vec![Order::AsSent, Order::AsSent, Order::Time, Order::Sequence]);
    (order, select(vec![StopOn::Never, StopOn::Ordering])).prop_map(|(order, stop_on)| Batch { order, stop_on })
}

fn usage() -> impl Strategy<Value = Option<Usage>> {
    let key = select(vec![vec!["customer"], vec!["customer", "metric"], vec![]]);
    let period = select(vec![Period::Month, Period::Day, Period::None]);
    let usage = (key, period, select(vec![0, 5 * S, HOUR])).prop_map(|(key, period, lateness)| Usage {
        key: key.into_iter().map(String::from).collect(),
        amount: "amount".to_string(),
        period,
        lateness,
    });
    prop::option::weighted(0.4, usage)
}
