use hapax_core::contract::Contract;

use super::*;

fn contract() -> Checked {
    Contract::from_toml("").expect("a contract")
}

/// A ledger with so many events of about a kilobyte each.
fn ledger(events: usize) -> (Memory, StreamKey) {
    let mut store = Memory::new();
    let stream = StreamKey { tenant: Arc::from("t"), stream: Arc::from("s") };
    store.tenant(&stream.tenant, [0; 32]).expect("a tenant");
    let put = Ask::PutContract { stream: stream.clone(), contract: Box::new(contract()) };
    turn(&mut store, &mut [request(Time::from_nanos(0), put)]).expect("a turn");
    let document = |number: usize| format!(r#"{{"id":"{number}","x":"{}"}}"#, "y".repeat(1_000));
    let documents = (0..events).map(|it| Arc::from(document(it).into_bytes())).collect();
    let (caller, lanes) = (Caller::default(), Patterns::all());
    let terms = Terms { atomic: false, dry_run: false, brief: false, caller, lanes };
    let (events, event_bytes_max) = (Arc::default(), usize::MAX);
    let submission = Submission { stream: stream.clone(), documents, events, terms, single: false, event_bytes_max };
    turn(&mut store, &mut [request(Time::from_nanos(1), Ask::Submit(submission))]).expect("a turn");
    (store, stream)
}

fn told(attempts_max: u64, bytes_max: u64) -> (u64, bool) {
    let (store, stream) = ledger(3 * TOGETHER);
    let question = Question { contract: contract(), from: None, to: None, examples_max: 1, attempts_max, bytes_max };
    let told = whatif(store.reader(), &stream, question).expect("an answer");
    (told.judged, told.more)
}

#[test]
fn it_ends_at_so_many_attempts_or_so_many_bytes_and_says_so() {
    let (one, all) = (TOGETHER as u64, 3 * TOGETHER as u64);
    assert_eq!(told(u64::MAX, u64::MAX), (all, false));
    assert_eq!(told(one, u64::MAX), (one, true));
    assert_eq!(told(u64::MAX, 1_000), (one, true));
    assert_eq!(told(u64::MAX, one * 1_500), (2 * one, true));
}
