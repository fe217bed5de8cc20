//! Turns of a thousand events on a database: how long each takes.
use hapax_core::batch::Terms;
use hapax_core::claim::Jitter;
use hapax_core::contract::Contract;
use hapax_core::entry::Caller;
use hapax_core::time::Time;
use hapax_store::postgres::{Address, Options, Postgres};
use hapax_store::seam::{Store, StreamKey};
use hapax_store::turn::{Ask, Request, Submission, turn};
use std::sync::Arc;

#[allow(clippy::disallowed_methods)]
fn main() {
    let url = std::env::args().nth(1).expect("url");
    let address = Address::parse(&url).expect("address");
    let mut store = Postgres::open(&address, Options::default()).expect("open");
    let tenant: Arc<str> = "t".into();
    store.tenant(&tenant, [7; 32]).expect("tenant");
    let stream = StreamKey { tenant, stream: "s".into() };
    let request = |ask| Request {
        now: Time::from_nanos(1_760_000_000_000_000_000),
        spare: 1,
        jitter: Jitter::NONE,
        caller: Caller::default(),
        id: None,
        ask,
    };
    let contract =
        Contract::from_toml(&std::fs::read_to_string(std::env::args().nth(2).expect("contract")).expect("file"))
            .expect("contract");
    let answers =
        turn(&mut store, &mut [request(Ask::PutContract { stream: stream.clone(), contract: Box::new(contract) })])
            .expect("put");
    println!("{}", String::from_utf8_lossy(&answers[0].body).chars().take(200).collect::<String>());
    let base: u64 = std::process::id() as u64 * 1_000_000;
    let rounds: u64 = std::env::args().nth(3).map_or(20, |n| n.parse().expect("n"));
    let pad = "x".repeat(130);
    let mut times = Vec::new();
    for round in 0..rounds {
        let documents: Vec<Arc<[u8]>> = (0..1000u64).map(|i| {
            let n = round * 1000 + i;
            format!("{{\"id\":\"evt-{:x}\",\"device\":\"d{}\",\"seq\":{},\"time\":\"2025-10-09T08:53:20Z\",\"pad\":\"{pad}\"}}", (base + n).wrapping_mul(0x9E37_79B9_7F4A_7C15), n % 100, n / 100 + 1).into_bytes().into()
        }).collect();
        let begin = std::time::Instant::now();
        let ask = Ask::Submit(Submission {
            stream: stream.clone(),
            documents,
            events: vec![],
            terms: Terms::default(),
            single: false,
            event_bytes_max: 1 << 20,
        });
        let answers = turn(&mut store, &mut [request(ask)]).expect("turn");
        times.push(begin.elapsed());
        if round == 0 {
            println!("{}", String::from_utf8_lossy(&answers[0].body).chars().take(400).collect::<String>());
        }
    }
    times.sort();
    println!("median {:?} min {:?} max {:?}", times[times.len() / 2], times[0], times[times.len() - 1]);
}
