use super::*;

#[test]
fn a_median_is_in_the_middle_and_an_outlier_does_not_move_it() {
    let spread = |values: &[f64]| Spread::of(values.to_vec());
    assert_eq!(spread(&[]), None);
    assert_eq!(spread(&[3.0, 900.0, 1.0]), Some(Spread { median: 3.0, least: 1.0, most: 900.0 }));
    assert_eq!(spread(&[4.0, 1.0, 2.0, 3.0]), Some(Spread { median: 2.5, least: 1.0, most: 4.0 }));
}

fn run(round: usize, side: Side, seconds: f64) -> Run {
    let case = Case { clients: 4, duplicates_percent: 10, servers: 1, streams: 1, compared: true };
    let used = Used {
        seconds,
        postgres_seconds: 2.0,
        servers_seconds: 1.0,
        client_seconds: 0.5,
        others_seconds: if side == Side::Plain { 0.1 } else { 0.5 },
        wal_bytes: 50_000_000.0,
    };
    Run { case, side, round, sent: 100_000, used }
}

#[test]
fn the_ratio_is_hapax_to_plain_and_processor_time_is_per_million() {
    let machine = Machine {
        cores: 2,
        processor: String::new(),
        memory_gib: 1.0,
        kernel: String::new(),
        postgres: String::new(),
        commit: String::new(),
    };
    let times = [
        (0, Side::Plain, 1.0),
        (0, Side::Hapax, 1.25),
        (1, Side::Hapax, 1.25),
        (1, Side::Plain, 0.5),
        (2, Side::Plain, 1.0),
    ];
    let runs = times.map(|(round, side, seconds)| run(round, side, seconds)).to_vec();
    let text = Report { machine, arguments: Vec::new(), runs }.to_string();
    let row = text.lines().last().expect("a row").split('|').map(str::trim).collect::<Vec<_>>();
    let expected = [
        "",
        "4",
        "10",
        "1",
        "100 (100 to 200)",
        "80 (80 to 80)",
        "0.80",
        "0.60 (0.40 to 0.80)",
        "20.0",
        "20.0",
        "10.0",
        "500",
    ];
    assert_eq!(row[..12], expected);
    assert!(text.contains("Of 5 runs, 2 were disturbed"), "{text}");
}
