//! Writes of every shape. Names come from few, so that they repeat; numbers lie at the ends as often as between.

use std::sync::Arc;

use hapax_core::access::{Access, Patterns, Rates, Role};
use hapax_core::amount::Amount;
use hapax_core::contract::{Contract, Version};
use hapax_core::counter::{Adjustment, Counter, CounterKey, Last, Tally};
use hapax_core::entry::SharedEntry;
use hapax_core::event::NonceKey;
use hapax_core::facts::{Acknowledgement, Changes, Head};
use hapax_core::lane::{Gap, GapChange, GapCounts, GapKind, Lane};
use hapax_core::period::{Period, PeriodStart};
use hapax_core::time::Time;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::{any_claim, any_entry};
use crate::seam::{Key, RequestKey, RequestRecord, StreamKey, StreamWrite, Write};

pub(crate) fn name() -> impl Strategy<Value = Arc<str>> {
    prop_oneof![4 => "[abc]{1,2}", 1 => "\\PC{0,12}"].prop_map(Arc::from)
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![3 => "[a-z]{0,6}", 1 => "\\PC{0,40}"]
}

pub(crate) fn number() -> impl Strategy<Value = u64> {
    prop_oneof![3 => 0..200u64, 1 => any::<u64>(), 1 => select(vec![0, 1, 127, 128, u64::MAX - 1, u64::MAX])]
}

pub(crate) fn short() -> impl Strategy<Value = u32> {
    prop_oneof![3 => 0..4u32, 1 => any::<u32>()]
}

pub(crate) fn time() -> impl Strategy<Value = Time> {
    let near = 1_767_225_600_000_000_000..1_767_225_600_000_000_050i64;
    let ends = select(vec![Time::EARLIEST, Time::LATEST, Time::from_nanos(0), Time::from_nanos(-1)]);
    prop_oneof![3 => near.prop_map(Time::from_nanos), 1 => any::<i64>().prop_map(Time::from_nanos), 1 => ends]
}

pub(crate) fn amount() -> impl Strategy<Value = Amount> {
    let limit = 10i128.pow(38) - 1;
    let scaled = prop_oneof![Just(0), -1_000..1_000i128, -limit..=limit, Just(limit), Just(-limit)];
    scaled.prop_map(|scaled| Amount::from_scaled(scaled).expect("within the limit"))
}

pub(crate) fn gap() -> impl Strategy<Value = Gap> {
    (short(), number(), number(), select(GapKind::ALL), time())
        .prop_map(|(generation, from, to, kind, opened_at)| Gap { generation, from, to, kind, opened_at })
}

pub(crate) fn period() -> impl Strategy<Value = PeriodStart> {
    let kinds = vec![Period::Hour, Period::Day, Period::Week, Period::Month, Period::None];
    (select(kinds), time()).prop_map(|(period, time)| period.of(time))
}

pub(crate) fn lane() -> impl Strategy<Value = Lane> {
    let numbering = (short(), number(), short(), of(number()), of(number()));
    let history = (of(time()), of(time()), number(), number(), any::<bool>());
    let counts = prop_oneof![Just([0; 4]), [number(), number(), number(), number()]];
    (numbering, history, counts).prop_map(|(numbering, history, [open, acknowledged, abandoned, unlisted])| {
        let (baseline, epoch, generation, highest, floor) = numbering;
        let (last_time, last_arrival, last_offset, events, out_of_order) = history;
        let counts = GapCounts { open, acknowledged, abandoned, unlisted };
        Lane {
            baseline,
            epoch,
            generation,
            highest,
            floor,
            last_time,
            last_arrival,
            last_offset,
            events,
            out_of_order,
            counts,
        }
    })
}

fn gap_change() -> impl Strategy<Value = GapChange> {
    prop_oneof![
        gap().prop_map(GapChange::Put),
        (short(), number()).prop_map(GapChange::Remove),
        (gap(), time()).prop_map(|(gap, at)| GapChange::Filled(gap, at)),
    ]
}

fn tally() -> impl Strategy<Value = Tally> {
    let last = (time(), name(), amount()).prop_map(|(ts, id, amount)| Last { ts, id, amount });
    let some = (number(), amount(), of(amount()), of(amount()), of(last));
    let some = some.prop_map(|(count, sum, min, max, last)| Tally { count, sum, min, max, last });
    prop_oneof![Just(Tally::default()), some]
}

pub(crate) fn counter() -> impl Strategy<Value = Counter> {
    (tally(), tally(), amount(), of(time()), any::<bool>()).prop_map(
        |(folded, adjusted, corrected, watermark, closed)| Counter { folded, adjusted, corrected, watermark, closed },
    )
}

pub(crate) fn counter_key() -> impl Strategy<Value = CounterKey> {
    (name(), name(), period()).prop_map(|(name, key, period)| CounterKey { name, key, period })
}

pub(crate) fn adjustment() -> impl Strategy<Value = Adjustment> {
    (name(), amount(), name(), number(), time()).prop_map(|(id, amount, reason, offset, at)| Adjustment {
        id,
        amount,
        reason,
        offset,
        at,
    })
}

fn loss() -> impl Strategy<Value = Acknowledgement> {
    (name(), number(), number(), name(), time()).prop_map(|(lane, from, to, reason, at)| Acknowledgement {
        lane,
        from,
        to,
        reason,
        at,
    })
}

fn changes() -> impl Strategy<Value = Changes> {
    let nonce = (any::<[u8; 32]>().prop_map(NonceKey), time());
    let judged = (vec(any_entry::entry(), 0..4), vec(any_entry::attempt(), 0..4), vec(nonce, 0..3));
    let lanes = (vec((name(), lane()), 0..4), vec((name(), gap_change()), 0..6), vec(loss(), 0..3));
    let closing = (name(), period());
    let counted = (vec((counter_key(), counter()), 0..3), vec((counter_key(), adjustment()), 0..3), vec(closing, 0..3));
    (judged, lanes, counted).prop_map(|(judged, lanes, counted)| Changes {
        entries: judged.0.into_iter().map(SharedEntry::from).collect(),
        attempts: judged.1.into_iter().map(Arc::new).collect(),
        nonces: judged.2,
        lanes: lanes.0,
        gaps: lanes.1,
        acknowledgements: lanes.2,
        counters: counted.0,
        adjustments: counted.1,
        closed: counted.2,
    })
}

pub(crate) fn head() -> impl Strategy<Value = Head> {
    (number(), any::<[u8; 32]>(), of(time()), number(), number())
        .prop_map(|(offset, hash, at, events, attempts)| Head { offset, hash, at, events, attempts })
}

pub(crate) fn version() -> impl Strategy<Value = Version> {
    let presets = ["telemetry-strict", "telemetry-tolerant", "event-sourcing", "metering", "measurements"];
    (select(presets.to_vec()), short(), short()).prop_map(|(preset, number, baseline)| {
        let read = Contract::from_toml(&format!("preset = {preset:?}")).expect("a preset is a contract");
        Version { number, baseline, contract: read.contract.into() }
    })
}

fn stream() -> impl Strategy<Value = StreamWrite> {
    let key = (name(), name()).prop_map(|(tenant, stream)| StreamKey { tenant, stream });
    let version = prop_oneof![4 => Just(None), 1 => (version(), time()).prop_map(Some)];
    (key, head(), head(), version, changes()).prop_map(|(key, before, after, version, mut changes)| {
        // Half of the lanes stand as some entry left them, as most do.
        for ((name, lane), entry) in changes.lanes.iter_mut().zip(&changes.entries).step_by(2) {
            *name = Arc::clone(&entry.lane);
            lane.last_offset = entry.offset;
            (lane.epoch, lane.highest, lane.last_arrival) = (entry.epoch, entry.seq, Some(entry.at));
        }
        StreamWrite { key, before, after, version, changes }
    })
}

pub(crate) fn request() -> impl Strategy<Value = (RequestKey, RequestRecord)> {
    let key = (name(), name(), name()).prop_map(|(tenant, target, key)| RequestKey { tenant, target, key });
    let record = (any::<[u8; 32]>(), any::<u16>(), vec(any::<u8>(), 0..40), time());
    let record =
        record.prop_map(|(fingerprint, status, body, at)| RequestRecord { fingerprint, status, body: body.into(), at });
    (key, record)
}

pub(crate) fn key() -> impl Strategy<Value = Key> {
    let access = (select(Role::ALL.to_vec()), vec(name(), 0..3), vec(name(), 0..3));
    let access = access.prop_map(|(role, streams, lanes)| Access {
        role,
        streams: Patterns::new(streams),
        lanes: Patterns::new(lanes),
    });
    let life = (time(), proptest::option::of(time()), proptest::option::of(name()));
    let rates = any::<(Option<u32>, Option<u32>)>().prop_map(|(requests, events)| Rates { requests, events });
    (name(), name(), any::<[u8; 32]>(), access, rates, life).prop_map(|(id, tenant, hash, access, rates, life)| {
        let (created_at, revoked_at, note) = life;
        Key { id, tenant, hash, access, rates, note, created_at, revoked_at }
    })
}

/// Any write at all.
pub(crate) fn write() -> impl Strategy<Value = Write> {
    let registry = (
        vec((any_claim::key(), any_claim::handler()), 0..3),
        vec((any_claim::key(), any_claim::state()), 0..3),
        vec(((any_claim::key(), name()), any_claim::lane()), 0..3),
        vec(((any_claim::key(), any_entry::identity()), any_claim::claim()), 0..3),
    );
    let tenants = vec((name(), any::<[u8; 32]>()), 0..3);
    let rest = (vec(request(), 0..3), vec(key(), 0..3));
    (tenants, vec(stream(), 0..3), registry, rest).prop_map(|(tenants, streams, registry, (requests, keys))| {
        let (handlers, states, handler_lanes, claims) = registry;
        Write { rests_on: None, tenants, streams, handlers, states, handler_lanes, claims, requests, keys, askers: 0 }
    })
}
