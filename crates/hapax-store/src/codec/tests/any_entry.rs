//! Entries and attempts of every shape.

use std::sync::Arc;

use hapax_core::audit::{Attempt, Submitted};
use hapax_core::counter::Class;
use hapax_core::entry::{Basis, Caller, CounterBasis, Entry, EntryKind, GapDetail, LaneBasis};
use hapax_core::event::{IdSource, Identity, digest};
use hapax_core::refusal::{Refusal, Why};
use hapax_core::words::{Code, Mark, Marks, State, States, Verdict};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::any::{amount, gap, name, number, short, text, time};

pub(crate) fn identity() -> impl Strategy<Value = Identity> {
    any::<[u8; 32]>().prop_map(Identity)
}

fn caller() -> impl Strategy<Value = Caller> {
    let some = (of(name()), of(name()), any::<bool>());
    prop_oneof![Just(Caller::default()), some.prop_map(|(key, request, forced)| Caller { key, request, forced })]
}

fn marks() -> impl Strategy<Value = Marks> {
    subsequence(Mark::ALL, 0..3).prop_map(|marks| marks.into_iter().fold(Marks::NONE, Marks::with))
}

fn states() -> impl Strategy<Value = States> {
    subsequence(State::ALL, 0..3).prop_map(|states| states.into_iter().fold(States::NONE, States::with))
}

/// With every kind of comparison.
pub(crate) fn why() -> impl Strategy<Value = Why> {
    prop_oneof![
        (text(), text(), text()).prop_map(|(pointer, expected, found)| Why::Schema { pointer, expected, found }),
        text().prop_map(|reason| Why::Format { reason }),
        (time(), time(), text()).prop_map(|(observed, ingested, bound)| Why::Bounds { observed, ingested, bound }),
        (time(), time()).prop_map(|(last, submitted)| Why::Regression { last, submitted }),
        time().prop_map(|used_at| Why::Nonce { used_at }),
        (of(number()), number(), of(number())).prop_map(|(expected, got, last_seen)| Why::Number {
            expected,
            got,
            last_seen
        }),
        (number(), number()).prop_map(|(current, got)| Why::Epoch { current, got }),
        (number(), of(number())).prop_map(|(current, expected)| Why::Current { current, expected }),
        (text(), text()).prop_map(|(counter, reason)| Why::Amount { counter, reason }),
        Just(Why::Lane),
        any::<usize>().prop_map(|index| Why::Batch { index }),
    ]
}

fn refusal() -> impl Strategy<Value = Option<Box<Refusal>>> {
    let some = (select(Code::ALL), select(State::ALL), why());
    of(some.prop_map(|(code, state, why)| Box::new(Refusal { code, state, why })))
}

fn lane_basis() -> impl Strategy<Value = LaneBasis> {
    (number(), of(number()), of(number()), of(time()), any::<bool>(), any::<bool>(), of(gap().prop_map(Box::new)))
        .prop_map(|(epoch, highest, floor, last_time, returned, known, hit)| LaneBasis {
            epoch,
            highest,
            floor,
            last_time,
            returned,
            known,
            hit,
        })
}

fn basis() -> impl Strategy<Value = Basis> {
    let counter = (of(time()), any::<bool>(), amount(), amount());
    let counter =
        counter.prop_map(|(watermark, closed, folded, other)| CounterBasis { watermark, closed, folded, other });
    (of(number()), of(time()), of(lane_basis()), vec(counter, 0..3))
        .prop_map(|(original, nonce_used_at, lane, counters)| Basis { original, nonce_used_at, lane, counters })
}

/// Short ones and such as are long enough to carry their digest.
fn document() -> impl Strategy<Value = Arc<[u8]>> {
    let long = (1020..1030usize, any::<u8>()).prop_map(|(length, byte)| vec![byte; length]);
    prop_oneof![4 => vec(any::<u8>(), 0..60), 1 => long].prop_map(Arc::from)
}

/// Any entry whose digest is that of its document.
pub(crate) fn entry() -> impl Strategy<Value = Entry> {
    let place = (number(), number(), number(), number(), short());
    let keys = (any::<[u8; 32]>(), identity(), select(EntryKind::ALL), time(), of(time()));
    let sources = select(vec![IdSource::Given, IdSource::Derived, IdSource::Assigned]);
    let ids = (name(), any::<bool>(), sources, name(), number(), of(number()), document());
    let gap = (number(), number(), any::<bool>()).prop_map(|(from, to, large)| GapDetail { from, to, large });
    let remarks = (marks(), states(), of(gap), vec((number(), number()), 0..3), refusal());
    let rest = (vec((name(), select(Class::ALL)), 0..3), basis(), caller());
    (place, keys, ids, remarks, rest).prop_map(|(place, keys, ids, remarks, rest)| {
        let (offset, ordinal, attempt, previous_in_lane, contract) = place;
        let (hash, identity, kind, at, observed_at) = keys;
        let (id, is_inside, id_source, lane, epoch, seq, document) = ids;
        let (marks, states, gap, abandoned, refusal) = remarks;
        let (classes, basis, caller) = rest;
        let document: Arc<[u8]> =
            if is_inside { [b"{\"id\":\"", id.as_bytes(), &*document].concat().into() } else { document };
        let digest = digest(&document);
        Entry {
            offset,
            hash,
            kind,
            at,
            contract,
            id,
            id_source,
            identity,
            lane,
            epoch,
            seq,
            observed_at,
            document,
            digest,
            marks,
            states,
            gap,
            abandoned,
            refusal,
            classes,
            basis,
            ordinal,
            previous_in_lane,
            attempt,
            caller,
        }
    })
}

pub(crate) fn attempt() -> impl Strategy<Value = Attempt> {
    let place = (number(), time(), short(), of(name()), of(name()), number(), of(number()));
    let outcome = (select(Verdict::ALL), select(Code::ALL), states(), refusal(), any::<bool>());
    let submitted = prop_oneof![document().prop_map(Submitted::Document), number().prop_map(Submitted::SameAs),];
    (place, outcome, submitted, basis(), caller()).prop_map(|(place, outcome, document, basis, caller)| {
        let (number, at, contract, id, lane, epoch, seq) = place;
        let (verdict, code, states, refusal, rejected) = outcome;
        Attempt {
            number,
            at,
            contract,
            id,
            lane,
            epoch,
            seq,
            verdict,
            code,
            states,
            refusal,
            document,
            basis,
            rejected,
            caller,
        }
    })
}
