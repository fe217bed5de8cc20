use super::*;

/// Two peers in two columns, three rounds; Hapax is faster in the first and slower in the second, and one of its runs in
/// each is an outlier.
pub(in crate::peers) fn results() -> Results {
    let machine = Machine {
        cores: 2,
        processor: "a processor".to_owned(),
        memory_gib: 8.0,
        kernel: "Linux".to_owned(),
        postgres: String::new(),
        commit: "abc".to_owned(),
    };
    let mut runs = Vec::new();
    for round in 1..=3 {
        for (peer, clients, seconds) in [
            (Peer::Redis, 1, 1.0),
            (Peer::Hapax, 1, if round == 2 { 9.0 } else { 0.2 }),
            (Peer::Redis, 64, 1.0),
            (Peer::Hapax, 64, if round == 3 { 0.001 } else { 2.0 }),
        ] {
            let others_seconds = if peer == Peer::Hapax && seconds > 1.0 { 0.5 * seconds } else { 0.0 };
            let spent = Spent { seconds, server_seconds: 0.5, client_seconds: 0.1, others_seconds };
            let latency = Latency { requests: 100, p50_ms: 1.0, p99_ms: 2.0, max_ms: 3.0 };
            let column = Column { clients, batch: 1000 };
            runs.push(Run::new(peer, column, 0, round, (100_000, 100_000), spent, latency));
        }
    }
    Results {
        date: "2026-01-01T00:00:00Z".to_owned(),
        machine,
        versions: [("hapax", "hapax 0.1".to_owned()), ("redis", "Redis 7".to_owned())].into(),
        missing: [("nats", "not installed".to_owned())].into(),
        arguments: ["peers", "--runs", "3"].map(str::to_owned).to_vec(),
        runs,
    }
}

#[test]
fn an_outlier_does_not_move_the_median_and_peers_come_in_their_order() {
    let results = results();
    assert_eq!(results.peers(), [Peer::Hapax, Peer::Redis]);
    let [first, second] = results.columns()[..] else { panic!("two columns") };
    assert_eq!(results.rate(Peer::Hapax, first, 0), Some(500_000.0));
    assert_eq!(results.rate(Peer::Hapax, second, 0), Some(50_000.0));
    assert_eq!(results.rate(Peer::Hapax, first, 10), None);
}
