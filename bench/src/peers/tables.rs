//! The results as tables: events a second with what Hapax is to each peer, latency, and what the processor did.

use std::fmt::Write as _;

use comfy_table::presets::ASCII_MARKDOWN;
use comfy_table::{CellAlignment, Table};

use super::column::Column;
use super::peer::Peer;
use super::results::{Results, Run};

/// For whoever waits at the terminal.
pub(super) fn shown(results: &Results) -> String {
    let mut text = about(results);
    for duplicates in results.duplicates() {
        _ = write!(text, "\n{}\n\n{}\n", heading(duplicates), rates(results, duplicates));
    }
    text + &absent(results)
}

/// For whoever was not there: `results.md`.
pub(super) fn page(results: &Results) -> String {
    let mut text = format!("# Hapax beside its peers\n\n{}\n", about(results));
    _ = writeln!(text, "![Events a second](results.svg)");
    for duplicates in results.duplicates() {
        _ = write!(text, "\n## {}\n\n{}\n", heading(duplicates), rates(results, duplicates));
        _ = write!(text, "\nLatency of a request in ms, p50 / p99 / max:\n\n{}\n", latencies(results, duplicates));
        _ = write!(
            text,
            "\nProcessor seconds per million events, server + client:\n\n{}\n",
            processors(results, duplicates)
        );
    }
    _ = write!(text, "\n## Who was measured, and how\n\n{}\n{}", methods(results), absent(results));
    _ = write!(text, "\nRun as `hapax-bench {}`.\n", results.arguments.join(" "));
    text
}

fn heading(duplicates: u64) -> String {
    match duplicates {
        0 => "Events a second, none of them a repeat".to_owned(),
        percent => format!("Events a second, {percent} % of them repeats"),
    }
}

fn about(results: &Results) -> String {
    let rounds = results.runs.iter().map(|run| run.round).max().unwrap_or(0);
    let mut text = format!("{}\n{}\n", results.date, results.machine);
    _ = writeln!(
        text,
        "Medians of {rounds} round{}. A column is connections x events of a request; \"hapax/\" is how many times as many \
         events Hapax takes. Clients and servers share the machine. After every run each event was there exactly once.",
        if rounds == 1 { "" } else { "s" }
    );
    let disturbed = results.runs.iter().filter(|run| run.disturbed).count();
    if disturbed > 0 {
        _ = writeln!(text, "Of {} runs, {disturbed} were disturbed: others used the machine, too.", results.runs.len());
    }
    text
}

/// Whoever should have been measured and was not.
fn absent(results: &Results) -> String {
    results.missing.iter().fold(String::new(), |text, (peer, why)| format!("{text}\nNot measured: {peer} ({why})\n"))
}

fn rates(results: &Results, duplicates: u64) -> Table {
    let heads = |column: Column| [format!("{column}"), "hapax/".to_owned()];
    let cells = |peer: Peer, column: Column| {
        let rate = results.rate(peer, column, duplicates);
        let hapax =
            results.rate(Peer::Hapax, column, duplicates).filter(|_| !matches!(peer, Peer::Hapax | Peer::HapaxBrief));
        let ratio = hapax.zip(rate).map(|(hapax, rate)| format!("{:.2}", hapax / rate));
        [rate.map(grouped).unwrap_or_default(), ratio.unwrap_or_default()]
    };
    table(results, heads, cells)
}

fn latencies(results: &Results, duplicates: u64) -> Table {
    let cells = |peer: Peer, column: Column| {
        let median = |of: fn(&Run) -> f64| results.spread(peer, column, duplicates, of).map(|it| it.median);
        let all = [|run: &Run| run.latency.p50_ms, |run: &Run| run.latency.p99_ms, |run: &Run| run.latency.max_ms];
        let shown: Option<Vec<_>> = all.into_iter().map(|of| Some(format!("{:.2}", median(of)?))).collect();
        [shown.map(|it| it.join(" / ")).unwrap_or_default()]
    };
    table(results, |column| [column.to_string()], cells)
}

fn processors(results: &Results, duplicates: u64) -> Table {
    let cells = |peer: Peer, column: Column| {
        let median = |of: fn(&Run) -> f64| results.spread(peer, column, duplicates, of).map(|it| it.median);
        let server = median(|run| run.spent.server_seconds * 1e6 / run.sent as f64);
        let client = median(|run| run.spent.client_seconds * 1e6 / run.sent as f64);
        [server.zip(client).map(|(server, client)| format!("{server:.1} + {client:.1}")).unwrap_or_default()]
    };
    table(results, |column| [column.to_string()], cells)
}

/// A row for each peer, and some cells for each column.
fn table<const N: usize>(
    results: &Results,
    heads: impl Fn(Column) -> [String; N],
    cells: impl Fn(Peer, Column) -> [String; N],
) -> Table {
    let mut table = Table::new();
    let columns = results.columns();
    let head = columns.iter().flat_map(|column| heads(*column));
    table.load_style(ASCII_MARKDOWN).set_header([String::new()].into_iter().chain(head));
    for peer in results.peers() {
        let cells = columns.iter().flat_map(|column| cells(peer, *column));
        table.add_row([peer.name().to_owned()].into_iter().chain(cells));
    }
    table.column_iter_mut().skip(1).for_each(|column| column.set_cell_alignment(CellAlignment::Right));
    table
}

fn methods(results: &Results) -> Table {
    let mut table = Table::new();
    table.load_style(ASCII_MARKDOWN).set_header(["", "version", "how", "when it answers"]);
    for peer in results.peers() {
        let version = results.versions.get(peer.name()).map(String::as_str).unwrap_or_default();
        table.add_row([peer.name(), version, peer.how(), peer.answers_when()]);
    }
    table
}

/// `1 234 567`: figures of several lengths under each other are read by their groups.
fn grouped(rate: f64) -> String {
    let digits = format!("{rate:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::results::tests::results;

    #[test]
    fn the_ratio_says_how_many_times_as_much_hapax_takes() {
        let text = shown(&results());
        let row = |peer: &str| {
            let line = text.lines().find(|line| line.contains(&format!("| {peer} "))).expect("a row");
            line.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(row("hapax"), ["", "hapax", "500 000", "", "50 000", "", ""]);
        assert_eq!(row("redis"), ["", "redis", "100 000", "5.00", "100 000", "0.50", ""]);
        assert!(text.contains("Not measured: nats (not installed)"), "{text}");
        assert!(text.contains("Of 12 runs, 3 were disturbed"), "{text}");
    }

    #[test]
    fn the_page_says_what_was_measured_how_and_where() {
        let text = page(&results());
        for part in
            ["appendfsync always", "Redis 7", "p50 / p99 / max", "peers --runs 3", "Linux", "1.00 / 2.00 / 3.00"]
        {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }

    #[test]
    fn digits_are_grouped() {
        assert_eq!([0.4, 999.0, 1000.0, 1_234_567.0].map(grouped), ["0", "999", "1 000", "1 234 567"]);
    }
}
