//! Receipts and answers of every shape.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;
use crate::batch::Answer;

/// Of characters that JSON escapes, that look as if it did, and that take one to four bytes.
fn text() -> impl Strategy<Value = String> {
    let awkward =
        "\"\\/\u{0}\u{1}\u{8}\t\n\u{b}\u{c}\r\u{1f} \u{7f}\u{80}\u{9f}\u{a2}\u{dc}é\u{2028}\u{2029}\u{fffd}𝄞😀";
    let awkward: Vec<_> = awkward.chars().collect();
    let one = prop_oneof![8 => prop::char::range('a', 'z'), 1 => select(awkward), 1 => any::<char>()];
    prop_oneof![
        1 => "[a-z0-9-]{0,40}",
        1 => vec(one, 0..40).prop_map(String::from_iter),
    ]
}

fn name() -> impl Strategy<Value = Arc<str>> {
    text().prop_map(Arc::from)
}

/// Of every length.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        select(vec![0, 9, 10, 99, 100, u64::MAX - 1, u64::MAX]),
        (any::<u64>(), 0..64_u32).prop_map(|(it, by)| it >> by)
    ]
}

/// Few, so that those of a batch are sometimes alike and sometimes not.
fn time() -> impl Strategy<Value = Time> {
    let few = [0, 1, 1_767_261_600_000_000_000, 1_767_261_600_123_000_000, -1, i64::MIN, i64::MAX];
    prop_oneof![select(few.map(Time::from_nanos).to_vec()), any::<i64>().prop_map(Time::from_nanos)]
}

fn marks() -> impl Strategy<Value = Marks> {
    subsequence(Mark::ALL, 0..4).prop_map(|marks| marks.into_iter().fold(Marks::NONE, Marks::with))
}

fn states() -> impl Strategy<Value = States> {
    subsequence(State::ALL, 0..3).prop_map(|states| states.into_iter().fold(States::NONE, States::with))
}

fn why() -> impl Strategy<Value = Why> {
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

fn refusal() -> impl Strategy<Value = Box<Refusal>> {
    (select(Code::ALL), why()).prop_map(|(code, why)| Box::new(Refusal::new(code, why)))
}

/// Half of them as plain as most are.
fn any_entry() -> impl Strategy<Value = Entry> {
    let sources = select(vec![IdSource::Given, IdSource::Derived, IdSource::Assigned]);
    let place = (number(), any::<[u8; 32]>(), time(), any::<u32>(), name(), sources, name(), number(), of(number()));
    let gap = (number(), 0..1000_u64, any::<bool>());
    let gap =
        gap.prop_map(|(to, size, large)| GapDetail { from: to.saturating_sub(size).max(1), to: to.max(1), large });
    let rest = (of(time()), marks(), of(gap), vec((number(), number()), 0..3), of(refusal()));
    let rest = (rest, vec((name(), select(Class::ALL)), 0..3)).prop_map(
        |((observed_at, marks, gap, abandoned, refusal), classes)| Entry {
            observed_at,
            marks,
            gap,
            abandoned,
            refusal,
            classes,
            ..entry()
        },
    );
    let rest = prop_oneof![Just(entry()), rest];
    (place, states(), rest).prop_map(|((offset, hash, at, contract, id, id_source, lane, epoch, seq), states, rest)| {
        Entry { offset, hash, at, contract, id, id_source, lane, epoch, seq, states, ..rest }
    })
}

fn any_attempt() -> impl Strategy<Value = Attempt> {
    let place = (number(), time(), any::<u32>(), of(name()), of(name()), number(), of(number()));
    let outcome = (select(Verdict::ALL), select(Code::ALL), states(), of(refusal()), any::<bool>());
    (place, outcome).prop_map(|((number, at, contract, id, lane, epoch, seq), outcome)| {
        let (verdict, code, states, refusal, rejected) = outcome;
        let known = attempt(verdict, code, None);
        Attempt { number, at, contract, id, lane, epoch, seq, states, refusal, rejected, ..known }
    })
}

fn op() -> impl Strategy<Value = Op> {
    let kinds = select(vec![OpKind::Add, OpKind::Remove, OpKind::Replace]);
    let values = select(vec!["1.0", "[]", "{\"a\" : null}", "\"\\u0041\""]);
    (kinds, text(), of(values)).prop_map(|(op, path, value)| {
        let value = value.and_then(|json| serde_json::value::RawValue::from_string(json.to_owned()).ok());
        Op { op, path, value }
    })
}

fn receipt() -> impl Strategy<Value = Receipt> {
    let known = (any_attempt(), of(any_entry()), vec(op(), 0..3));
    prop_oneof![
        any_entry().prop_map(|entry| Receipt::Accepted(entry.into())),
        known.prop_map(|(attempt, original, diff)| other(attempt, original, diff)),
    ]
}

/// Batches in which some receipts come again, with an id of their own.
pub(super) fn answer() -> impl Strategy<Value = Answer> {
    let receipts = (vec(receipt(), 0..5), vec((any::<prop::sample::Index>(), name()), 0..5));
    let receipts = receipts.prop_map(|(first, again)| {
        let again = again.into_iter().filter(|_| !first.is_empty());
        let again: Vec<_> = again.map(|(index, id)| renamed(index.get(&first), id)).collect();
        [first, again].concat()
    });
    (receipts, vec(any::<usize>(), 0..3), any::<bool>(), any::<bool>(), number()).prop_map(
        |(receipts, retry_order, refused, dry_run, durable)| Answer {
            brief: false,
            receipts,
            retry_order,
            refused,
            dry_run,
            durable,
        },
    )
}

fn renamed(receipt: &Receipt, id: Arc<str>) -> Receipt {
    match receipt {
        Receipt::Accepted(entry) => Receipt::Accepted(Entry { id, ..(**entry).clone() }.into()),
        Receipt::Other { attempt, original, diff } => {
            let attempt = Arc::new(Attempt { id: Some(id), ..(**attempt).clone() });
            Receipt::Other { attempt, original: original.clone(), diff: diff.clone() }
        }
    }
}
