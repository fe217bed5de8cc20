//! One write with every kind of thing in it. It is what the fixture of format 1 was made from, so it never changes.

use std::sync::Arc;

use hapax_core::amount::Amount;
use hapax_core::audit::{Attempt, Submitted};
use hapax_core::counter::{Adjustment, Class, Counter, CounterKey, Last, Tally};
use hapax_core::entry::{Basis, Caller, CounterBasis, Entry, EntryKind, GapDetail, LaneBasis, SharedEntry};
use hapax_core::event::{IdSource, Identity, NonceKey, digest};
use hapax_core::facts::{Acknowledgement, Changes, Head};
use hapax_core::lane::{Gap, GapChange, GapCounts, GapKind, Lane};
use hapax_core::period::Period;
use hapax_core::refusal::{Refusal, Why};
use hapax_core::time::Time;
use hapax_core::words::{Code, Mark, Marks, State, States, Verdict};

use super::whole_registry;
use crate::seam::{RequestKey, RequestRecord, StreamKey, StreamWrite, Write};

/// So many words there were when format 1 was made.
const MARKS: usize = 10;
const STATES: usize = 27;
const CODES: usize = 20;

pub(super) fn time(after: i64) -> Time {
    Time::from_nanos(1_767_225_600_000_000_000 + after)
}

fn amount(scaled: i128) -> Amount {
    Amount::from_scaled(scaled).expect("it is small")
}

fn gap(kind: GapKind) -> Gap {
    Gap { generation: 2, from: 7, to: 300, kind, opened_at: time(-5_000_000_000) }
}

fn basis() -> Basis {
    let lane = LaneBasis {
        epoch: 3,
        highest: Some(900),
        floor: Some(6),
        last_time: Some(time(-1)),
        returned: true,
        known: true,
        hit: Some(Box::new(gap(GapKind::Abandoned))),
    };
    let counters = vec![
        CounterBasis::default(),
        CounterBasis { watermark: Some(time(9)), closed: true, folded: amount(1_500_000_000), other: amount(-1) },
    ];
    Basis { original: Some(12), nonce_used_at: Some(time(-60)), lane: Some(lane), counters }
}

fn caller() -> Caller {
    Caller { key: Some("key-1".into()), request: Some("request-1".into()), forced: true }
}

fn refusal(number: usize) -> Refusal {
    let text = str::to_owned;
    let whys = [
        Why::Schema { pointer: text("/a"), expected: text("a number"), found: text("\"é\"") },
        Why::Format { reason: text("no offset") },
        Why::Bounds { observed: time(1), ingested: time(2), bound: text("time.past = 5m") },
        Why::Regression { last: time(3), submitted: time(-3) },
        Why::Nonce { used_at: time(4) },
        Why::Number { expected: Some(5), got: 4, last_seen: None },
        Why::Epoch { current: 2, got: 1 },
        Why::Current { current: 9, expected: None },
        Why::Amount { counter: text("usage"), reason: text("absent") },
        Why::Lane,
        Why::Batch { index: 300 },
    ];
    let why = whys[number % whys.len()].clone();
    Refusal { code: Code::ALL[number % CODES], state: State::ALL[number % STATES], why }
}

/// The plainest of entries.
fn entry(offset: u64) -> Entry {
    let document: Arc<[u8]> = format!("{{\"id\":\"e-{offset}\",\"é\":1.0}}").into_bytes().into();
    Entry {
        offset,
        hash: [offset as u8; 32],
        kind: EntryKind::Event,
        at: time(0),
        contract: 1,
        id: format!("e-{offset}").into(),
        id_source: IdSource::Given,
        identity: Identity([!(offset as u8); 32]),
        lane: "component-1".into(),
        epoch: 0,
        seq: Some(offset + 100),
        observed_at: Some(time(-40_000_000)),
        digest: digest(&document),
        document,
        marks: Marks::NONE,
        states: States::NONE.with(State::SequenceContinuous),
        gap: None,
        abandoned: Vec::new(),
        refusal: None,
        classes: Vec::new(),
        basis: Basis {
            lane: Some(LaneBasis {
                epoch: 0,
                highest: Some(offset + 99),
                floor: None,
                last_time: Some(time(-50_000_000)),
                returned: false,
                known: true,
                hit: None,
            }),
            ..Basis::default()
        },
        ordinal: offset - 2,
        previous_in_lane: offset - 1,
        attempt: offset + 50,
        caller: Caller::default(),
    }
}

fn entries() -> Vec<SharedEntry> {
    let long: Arc<[u8]> = vec![b' '; 2_000].into();
    let rich = Entry {
        at: time(-7),
        contract: 4,
        id: "not in the document".into(),
        id_source: IdSource::Derived,
        lane: "[\"a\",1]".into(),
        epoch: 5,
        digest: digest(&long),
        document: long,
        marks: Mark::ALL[..MARKS].iter().copied().fold(Marks::NONE, Marks::with),
        states: State::ALL[..STATES].iter().copied().fold(States::NONE, States::with),
        gap: Some(GapDetail { from: 3, to: 5_000, large: true }),
        abandoned: vec![(1, 2), (u64::MAX, 0)],
        refusal: Some(Box::new(refusal(0))),
        classes: Class::ALL[..3].iter().map(|class| ("usage".into(), *class)).collect(),
        basis: basis(),
        caller: caller(),
        ..entry(12)
    };
    let correction = Entry {
        kind: EntryKind::Correction,
        id_source: IdSource::Assigned,
        lane: "".into(),
        seq: None,
        observed_at: None,
        basis: Basis::default(),
        ordinal: 0,
        previous_in_lane: 0,
        ..entry(13)
    };
    let close = Entry { kind: EntryKind::Close, attempt: u64::MAX, ..correction.clone() };
    [entry(11), rich, correction, Entry { offset: 14, ..close }].map(SharedEntry::from).into()
}

fn attempts() -> Vec<Arc<Attempt>> {
    let attempt = |number: usize| Attempt {
        number: 61 + number as u64,
        at: time(number as i64 / 2),
        contract: 1 + number as u32 / 4,
        id: (!number.is_multiple_of(3)).then(|| format!("e-{number}").into()),
        lane: (!number.is_multiple_of(4)).then(|| "component-1".into()),
        epoch: number as u64 % 2,
        seq: (!number.is_multiple_of(5)).then_some(number as u64),
        verdict: Verdict::ALL[number % 6],
        code: Code::ALL[number % CODES],
        states: States::NONE.with(State::ALL[number % STATES]),
        refusal: (number < 22).then(|| Box::new(refusal(number))),
        document: match number % 2 {
            0 => Submitted::Document(format!("[{number}").into_bytes().into()),
            _ => Submitted::SameAs(number as u64),
        },
        basis: if number.is_multiple_of(7) { basis() } else { Basis::default() },
        rejected: number.is_multiple_of(8),
        caller: if number.is_multiple_of(2) { caller() } else { Caller::default() },
    };
    (0..28).map(attempt).map(Arc::new).collect()
}

fn lanes() -> Vec<(Arc<str>, Lane)> {
    let as_left = Lane {
        highest: Some(111),
        last_time: Some(time(-40_000_000)),
        last_arrival: Some(time(0)),
        last_offset: 11,
        events: 9,
        ..Lane::default()
    };
    let rich = Lane {
        baseline: 4,
        epoch: 5,
        generation: 2,
        highest: Some(u64::MAX),
        floor: Some(6),
        last_time: Some(time(-2)),
        last_arrival: Some(time(-1)),
        last_offset: 12,
        events: 1 << 40,
        out_of_order: true,
        counts: GapCounts { open: 1, acknowledged: 2, abandoned: 3, unlisted: 4 },
    };
    vec![("component-1".into(), as_left), ("[\"a\",1]".into(), rich), ("new".into(), Lane::default())]
}

fn changes() -> Changes {
    let periods = [Period::Hour, Period::Day, Period::Week, Period::Month, Period::None].map(|it| it.of(time(0)));
    let key = |period| CounterKey { name: "usage".into(), key: "[\"t\",\"m\"]".into(), period };
    let tally = Tally {
        count: 3,
        sum: amount(10i128.pow(38) - 1),
        min: Some(amount(-2_500_000_000)),
        max: Some(amount(7)),
        last: Some(Last { ts: time(8), id: "e-11".into(), amount: amount(7) }),
    };
    let counter = Counter {
        folded: tally.clone(),
        adjusted: tally,
        corrected: amount(-1),
        watermark: Some(time(8)),
        closed: true,
    };
    let puts = GapKind::ALL[..4].iter().map(|kind| GapChange::Put(gap(*kind)));
    let others = [GapChange::Filled(gap(GapKind::Open), time(1)), GapChange::Remove((2, 7))];
    let last = GapChange::Filled(gap(GapKind::Unlisted), time(2));
    Changes {
        entries: entries(),
        attempts: attempts(),
        lanes: lanes(),
        gaps: others.into_iter().chain(puts).chain([last]).map(|change| ("component-1".into(), change)).collect(),
        nonces: vec![(NonceKey([8; 32]), time(0)), (NonceKey([9; 32]), time(-3))],
        counters: vec![(key(periods[3]), counter), (key(periods[4]), Counter::default())],
        adjustments: vec![(
            key(periods[2]),
            Adjustment {
                id: "fix-1".into(),
                amount: amount(3),
                reason: "late_beyond_window".into(),
                offset: 12,
                at: time(-7),
            },
        )],
        closed: periods.iter().map(|period| ("usage".into(), *period)).collect(),
        acknowledgements: vec![Acknowledgement {
            lane: "component-1".into(),
            from: 7,
            to: 300,
            reason: "the disk was lost".into(),
            at: time(3),
        }],
    }
}

/// The write.
pub(super) fn write() -> Write {
    let before = Head { offset: 10, hash: [10; 32], at: Some(time(-90)), events: 8, attempts: 60 };
    let after = Head { offset: 14, hash: [13; 32], at: Some(time(0)), events: 10, attempts: 92 };
    let stream = |name: &str| StreamKey { tenant: "default".into(), stream: name.into() };
    let quiet = StreamWrite {
        key: stream("quiet"),
        before: Head::default(),
        after: Head { hash: [1; 32], ..Head::default() },
        version: None,
        changes: Changes::default(),
    };
    let request = RequestRecord { fingerprint: [6; 32], status: 201, body: b"{}"[..].into(), at: time(0) };
    let request_key =
        RequestKey { tenant: "default".into(), target: "POST /v1/streams/telemetry/events".into(), key: "k-1".into() };
    Write {
        tenants: vec![("default".into(), [5; 32])],
        streams: vec![
            quiet,
            StreamWrite { key: stream("telemetry"), before, after, version: None, changes: changes() },
        ],
        requests: vec![(request_key, request)],
        ..whole_registry::write()
    }
}
