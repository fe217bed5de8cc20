//! Contracts that nobody would write: whatever can be read can be shown, and reads back as the same.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::contract::*;
use crate::duration::Span;
use crate::number::Number;
use crate::payload::{Decimals, Units};
use crate::source::Node;

fn any_pointer() -> impl Strategy<Value = Pointer> {
    prop::collection::vec("[a-z~/é \"]{0,4}", 1..3).prop_map(Pointer::from)
}

fn any_pointers() -> impl Strategy<Value = Vec<Pointer>> {
    prop::collection::vec(any_pointer(), 0..3)
}

fn any_bound() -> impl Strategy<Value = Bound> {
    prop_oneof![Just(Bound::None), any_span().prop_map(Bound::Within)]
}

fn any_span() -> impl Strategy<Value = Span> {
    prop_oneof![0..=Span::MAX.millis(), 0..100_000u64].prop_map(Span::from_millis)
}

fn any_number() -> impl Strategy<Value = Number> {
    "-?[1-9][0-9]{0,20}(\\.[0-9]{1,12})?(e-?[0-9])?".prop_map(|text| Number::parse(&text).expect("a number"))
}

fn any_when() -> impl Strategy<Value = Option<When>> {
    let value = prop_oneof![
        any::<bool>().prop_map(Value::Bool),
        any::<String>().prop_map(Value::String),
        any_number().prop_map(Value::Number),
    ];
    prop::option::of(
        (any_pointer(), prop::collection::vec(value, 0..3)).prop_map(|(field, values)| When { field, values }),
    )
}

fn any_payload() -> impl Strategy<Value = PayloadRules> {
    let decimals = (any_pointer(), 0..=100u32).prop_map(|(field, places)| Decimals { field, places });
    let factors = prop::collection::btree_map("\\PC{0,3}", any_number(), 0..3);
    let units = (any_pointer(), any_pointer(), "\\PC{0,3}", factors)
        .prop_map(|(field, unit, to, factors): (_, _, _, BTreeMap<_, _>)| Units { field, unit, to, factors });
    let lists = (any_pointers(), any_pointers(), any_pointers(), any_pointers());
    (lists, prop::collection::vec(decimals, 0..2), prop::collection::vec(units, 0..2)).prop_map(
        |((include, exclude, lowercase, utc), decimals, units)| PayloadRules {
            include,
            exclude,
            lowercase,
            utc,
            decimals,
            units,
        },
    )
}

fn any_envelope() -> impl Strategy<Value = Envelope> {
    let field = || prop::option::of(any_pointer());
    (field(), any_pointers(), field(), field(), field(), field(), field()).prop_map(
        |(id, lane, seq, time, nonce, epoch, expected)| Envelope { id, lane, seq, time, nonce, epoch, expected },
    )
}

fn any_identity() -> impl Strategy<Value = Identity> {
    let words = (
        prop::sample::select(vec![Scope::Stream, Scope::Lane]),
        prop::sample::select(vec![Same::Replay, Same::Reject]),
        prop::sample::select(vec![Different::Reject, Different::Warn]),
    );
    (any::<bool>(), any_pointers(), any_bound(), words, any_payload()).prop_map(
        |(required, derive, keep, (scope, same, different), payload)| Identity {
            required,
            derive,
            keep,
            scope,
            same,
            different,
            payload,
        },
    )
}

fn any_sequence() -> impl Strategy<Value = Sequence> {
    let on = || prop::sample::select(vec![OnNumber::Mark, OnNumber::Reject, OnNumber::Stale]);
    (
        prop::sample::select(vec![Source::None, Source::Producer, Source::Server]),
        prop::sample::select(vec![First::Any, First::Number(0), First::Number(1)]),
        prop::sample::select(vec![OnGap::Mark, OnGap::Reject]),
        any::<u64>(),
        (on(), on()),
        1..=1_000_000u64,
        any_when(),
    )
        .prop_map(|(source, first, gap, gap_large, (regression, repeat), gaps_open_max, when)| Sequence {
            source,
            first,
            gap,
            gap_large,
            regression,
            repeat,
            gaps_open_max,
            expected_required_for: when,
        })
}

fn any_time() -> impl Strategy<Value = TimeRules> {
    let regression = prop::sample::select(vec![OnTime::Ignore, OnTime::Mark, OnTime::Reject]);
    (any::<(bool, bool)>(), any_bound(), any_bound(), any_bound(), regression, any_span()).prop_map(
        |((required, utc_only), future, past, late, regression, grace)| TimeRules {
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

fn any_counters() -> impl Strategy<Value = Vec<CounterRules>> {
    let periods = vec![Period::Hour, Period::Day, Period::Week, Period::Month, Period::None];
    let rules = (any_pointers(), any_pointer(), prop::sample::select(periods), any_bound(), any_when());
    let name = prop_oneof!["[A-Za-z0-9][A-Za-z0-9._-]{0,5}", Just("field".to_owned())];
    prop::collection::btree_map(name, rules, 0..3).prop_map(|counters| {
        let one =
            |(name, (key, amount, period, lateness, when))| CounterRules { name, key, amount, period, lateness, when };
        counters.into_iter().map(one).collect()
    })
}

fn any_contract() -> impl Strategy<Value = Contract> {
    let mode = prop::sample::select(vec![Mode::Enforce, Mode::Shadow, Mode::Off]);
    let order = prop::sample::select(vec![BatchOrder::AsSent, BatchOrder::Time, BatchOrder::Sequence]);
    let rest = (any::<(bool, bool, bool)>(), any_bound(), any_bound(), any_bound(), order, any_counters());
    (mode, any_envelope(), any_identity(), any_sequence(), any_time(), rest).prop_map(
        |(
            mode,
            envelope,
            identity,
            sequence,
            time,
            ((required, stop, forced), nonce, silence, audit, order, counters),
        )| {
            // The server's numbers are read from nowhere.
            let seq = if sequence.source == Source::Server { None } else { envelope.seq.clone() };
            Contract {
                preset: None,
                mode,
                envelope: Envelope { seq, ..envelope },
                identity,
                sequence,
                time,
                nonce: NonceRules { required, keep: nonce },
                silence,
                batch: BatchRules { order, stop_on_ordering: stop },
                override_allowed: forced,
                audit_keep: audit,
                counters,
            }
        },
    )
}

proptest! {
    #[test]
    fn a_shown_contract_reads_back_as_the_same_contract(contract in any_contract()) {
        let text = serde_json::to_string(&contract).expect("JSON");
        prop_assert_eq!(&text, &to_json(&contract));
        // Whether it is safe is another matter: reading comes before checking.
        let node = Node::from_json(text.as_bytes()).expect("what is shown is JSON");
        let (back, problems) = crate::contract::read::read(node.clone());
        prop_assert!(problems.is_empty(), "{:?}", problems);
        prop_assert_eq!(&back, &contract);
        prop_assert_eq!(&Contract::from_kept(text.as_bytes()).expect("what is kept is a contract"), &contract);
        prop_assert_eq!(back.node().to_json(), text);
        prop_assert!(!in_words(&back).is_empty());
        // What passes the check is what was read, and a contract never forbids itself.
        if let Ok(checked) = Contract::from_node(node) {
            prop_assert_eq!(&checked.contract, &contract);
        }
        prop_assert!(forbidden_changes(&[&contract], &contract).is_empty());
    }
}
