//! Two servers do the same thing at the same moment: it is done once, and both are told the same.

use std::collections::BTreeMap;
use std::sync::Arc;

use hapax_core::contract::Contract;
use hapax_store::postgres::migrate;
use hapax_store::postgres::{Options, Postgres};
use hapax_store::seam::{Read, RequestKey, Store};
use hapax_store::turn::{Ask, RequestId};
use serde_json::Value;

use crate::servers::{Ledger, at_once, json};
use crate::world::{claim, event, request, stream, submit, take};

/// How often each is tried: the moment is another one each time.
const ROUNDS: u64 = 30;

fn tally(values: impl Iterator<Item = Value>) -> BTreeMap<String, usize> {
    let mut tally = BTreeMap::new();
    values.for_each(|value| *tally.entry(value.as_str().unwrap_or_default().to_owned()).or_default() += 1);
    tally
}

#[test]
fn an_event_that_two_servers_get_at_once_is_accepted_once() {
    let ledger = Ledger::new();
    let mut servers = ledger.servers(2);
    let one = stream("t", "one");
    for round in 1..=ROUNDS {
        let answers = at_once(&mut servers, |_| submit(&one, &[event(round)]));
        let results: Vec<Value> = answers.iter().map(|answer| json(answer)["results"][0].clone()).collect();
        let verdicts = tally(results.iter().map(|result| result["verdict"].clone()));
        assert_eq!(verdicts, BTreeMap::from([("accepted".into(), 1), ("duplicate".into(), 1)]), "round {round}");
        let accepted = results.iter().find(|it| it["verdict"] == "accepted").expect("one");
        let duplicate = results.iter().find(|it| it["verdict"] == "duplicate").expect("one");
        assert_eq!(accepted["offset"], round);
        assert_eq!(
            (&duplicate["original"]["offset"], &duplicate["original"]["hash"]),
            (&accepted["offset"], &accepted["hash"])
        );
    }
    let head = servers[0].reader().head(&one).expect("a head");
    assert_eq!((head.offset, head.events, head.attempts), (ROUNDS, ROUNDS, 2 * ROUNDS));
}

#[test]
fn an_event_that_two_servers_give_out_at_once_is_given_to_one() {
    let ledger = Ledger::new();
    let mut servers = ledger.servers(2);
    for round in 1..=ROUNDS {
        take(&mut servers[0], vec![submit(&stream("t", "one"), &[event(round)])]);
        let answers = at_once(&mut servers, |_| claim("t", &format!("e{round}")));
        let decisions = tally(answers.iter().map(|answer| json(answer)["decision"].clone()));
        assert_eq!(decisions, BTreeMap::from([("claimed".into(), 1), ("in_progress".into(), 1)]), "round {round}");
    }
}

#[test]
fn a_request_that_two_servers_get_at_once_is_answered_once_and_then_repeated() {
    let ledger = Ledger::new();
    let mut servers = ledger.servers(2);
    let one = stream("t", "one");
    for round in 1..=ROUNDS {
        let answers = at_once(&mut servers, |_| {
            let target = Arc::from("POST /v1/streams/one/events");
            let key = RequestKey { tenant: Arc::from("t"), target, key: Arc::from(format!("k{round}")) };
            let id = Some(RequestId { key, fingerprint: [1; 32] });
            hapax_store::turn::Request { id, ..submit(&one, &[event(round)]) }
        });
        assert_eq!(answers[0].body, answers[1].body, "round {round}");
        assert_eq!(answers.iter().filter(|answer| answer.replayed).count(), 1, "round {round}");
        assert_eq!(json(&answers[0])["results"][0]["verdict"], "accepted");
    }
    // The second time nothing was judged.
    let head = servers[0].reader().head(&one).expect("a head");
    assert_eq!((head.offset, head.attempts), (ROUNDS, ROUNDS));
}

#[test]
fn of_two_first_contracts_of_a_stream_one_is_the_first() {
    let ledger = Ledger::new();
    let mut servers = ledger.servers(2);
    for round in 0..ROUNDS {
        let name = stream("t", &format!("new-{round}"));
        // Every other time they are the same, and then there is one version.
        let same = round % 2 == 0;
        let answers = at_once(&mut servers, |index| {
            let required = same || index == 0;
            let text = format!("identity.required = {required}");
            let contract = Box::new(Contract::from_toml(&text).unwrap_or_else(|problems| panic!("{problems:?}")));
            request(Ask::PutContract { stream: name.clone(), contract })
        });
        for answer in &answers {
            assert!(!answer.problem, "{}", String::from_utf8_lossy(&answer.body));
        }
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1, "round {round}");
        for server in &servers {
            let numbers: Vec<u32> =
                server.reader().versions(&name).expect("versions").iter().map(|it| it.number).collect();
            assert_eq!(numbers, if same { vec![1] } else { vec![1, 2] }, "round {round}");
        }
    }
}

#[test]
fn of_two_first_salts_of_a_tenant_one_is_the_salt() {
    let ledger = Ledger::empty();
    let mut servers = ledger.servers(2);
    for round in 0..ROUNDS {
        let name: Arc<str> = Arc::from(format!("tenant-{round}"));
        let gate = std::sync::Barrier::new(2);
        let (name_of, gate) = (&name, &gate);
        let make = |server: &mut Postgres, salt| {
            gate.wait();
            server.tenant(name_of, salt).expect("a salt")
        };
        let [first, second] = &mut servers[..] else { panic!("two servers") };
        let salts = std::thread::scope(|scope| {
            let other = scope.spawn(|| make(second, [2; 32]));
            [make(first, [1; 32]), other.join().expect("a salt")]
        });
        assert_eq!(salts[0], salts[1], "round {round}");
        assert_eq!(servers[0].reader().salt(&name), Ok(Some(salts[0])));
    }
}

#[test]
fn tables_that_several_make_at_once_are_made_once() {
    let ledger = Ledger::empty();
    let made: Vec<_> = std::thread::scope(|scope| {
        let address = &ledger.address;
        let threads: Vec<_> =
            (0..4).map(|_| scope.spawn(move || migrate::migrate(address, &Options::default()))).collect();
        threads.into_iter().map(|thread| thread.join().expect("an end").expect("a migration")).collect()
    });
    assert_eq!(made.iter().filter(|it| it.from == 0 && it.to > 0).count(), 1, "{made:?}");
    assert_eq!(made.iter().filter(|it| it.from == it.to).count(), 3, "{made:?}");
    let mut server = ledger.server();
    crate::world::fill(&mut server, "t");
    migrate::remove(&ledger.address, &Options::default()).expect("nothing is left");
    assert_eq!(migrate::migrate(&ledger.address, &Options::default()).expect("from the beginning").from, 0);
}
