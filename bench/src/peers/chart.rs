//! The results as a chart: bars of events a second, grouped by column, as SVG.
//!
//! The scale is logarithmic, because the slowest and the fastest are a thousand times apart; every bar has its figure.

use std::fmt::Write as _;

use super::column::Column;
use super::peer::Peer;
use super::results::Results;
use crate::machine::Machine;

const BAR: f64 = 30.0;
const BETWEEN_GROUPS: f64 = 36.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 124.0;
const PLOT: f64 = 260.0;
/// From one panel to the next: room for the names of the columns and a title.
const PANEL: f64 = PLOT + 96.0;
/// For the line that says where it is from.
const WIDTH_MIN: f64 = 700.0;

/// Draws them.
pub(super) fn draw(results: &Results) -> String {
    let (peers, columns, duplicates) = (results.peers(), results.columns(), results.duplicates());
    let group = peers.len() as f64 * BAR + BETWEEN_GROUPS;
    let legend_width: f64 = peers.iter().map(|peer| place_of(*peer)).sum();
    let width = (LEFT + legend_width.max(group * columns.len() as f64) + RIGHT).max(WIDTH_MIN);
    let height = TOP + PANEL * duplicates.len() as f64 - 20.0;
    let rates = results.runs.iter().map(|run| run.events_per_second);
    let scale = Scale::of(rates);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    text(&mut svg, (LEFT, 30.0), "start", "font-size=\"18\" font-weight=\"bold\"", "Events a second, each stored once");
    let disturbed = if results.runs.iter().any(|run| run.disturbed) { "; others used the machine, too" } else { "" };
    let Machine { cores, processor, commit, .. } = &results.machine;
    let where_from = format!("{cores} cores ({processor}), commit {commit}; medians{disturbed}");
    text(&mut svg, (LEFT, 50.0), "start", "font-size=\"12\" fill=\"#555\"", &where_from);
    legend(&mut svg, &peers);
    for (panel, percent) in duplicates.iter().enumerate() {
        let top = TOP + PANEL * panel as f64;
        axes(&mut svg, &scale, *percent, top, width);
        for (place, column) in columns.iter().enumerate() {
            let left = LEFT + BETWEEN_GROUPS / 2.0 + group * place as f64;
            let middle = left + peers.len() as f64 * BAR / 2.0;
            text(&mut svg, (middle, top + PLOT + 18.0), "middle", "", &in_words(*column));
            for (number, peer) in peers.iter().enumerate() {
                if let Some(rate) = results.rate(*peer, *column, *percent) {
                    bar(&mut svg, *peer, rate, left + BAR * number as f64, top, &scale);
                }
            }
        }
    }
    svg + "</svg>\n"
}

/// From one power of ten to another.
struct Scale {
    least: i32,
    most: i32,
}

impl Scale {
    fn of(rates: impl Iterator<Item = f64>) -> Scale {
        let (least, most) = rates.fold((f64::MAX, 1.0), |(least, most), rate| (rate.min(least), rate.max(most)));
        let least = least.min(most).max(1.0).log10().floor() as i32;
        Scale { least, most: (most.log10().ceil() as i32).max(least + 1) }
    }

    /// How high above the axis.
    fn height(&self, rate: f64) -> f64 {
        let share = (rate.max(1.0).log10() - f64::from(self.least)) / f64::from(self.most - self.least);
        PLOT * share.clamp(0.0, 1.0)
    }
}

fn axes(svg: &mut String, scale: &Scale, percent: u64, top: f64, width: f64) {
    let title = if percent == 0 { "No repeats".to_owned() } else { format!("{percent} % repeats") };
    text(svg, (LEFT, top - 22.0), "start", "font-weight=\"bold\"", &title);
    for power in scale.least..=scale.most {
        let y = top + PLOT - scale.height(10_f64.powi(power));
        let right = width - RIGHT;
        _ = writeln!(svg, "<line x1=\"{LEFT}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ccc\"/>");
        text(svg, (LEFT - 8.0, y + 4.0), "end", "font-size=\"11\"", &short(10_f64.powi(power)));
    }
    let (x, y) = (24.0, top + PLOT / 2.0);
    let turned = format!("font-size=\"12\" transform=\"rotate(-90 {x} {y})\"");
    text(svg, (x, y), "middle", &turned, "events a second (log scale)");
}

fn bar(svg: &mut String, peer: Peer, rate: f64, x: f64, top: f64, scale: &Scale) {
    // Also the slowest has a bar.
    let height = scale.height(rate).max(1.0);
    let (y, width, fill) = (top + PLOT - height, BAR - 3.0, colour(peer));
    _ = writeln!(
        svg,
        "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width}\" height=\"{height:.1}\" fill=\"{fill}\"><title>{}: {rate:.0}</title></rect>",
        peer.name()
    );
    text(svg, (x + width / 2.0, y - 4.0), "middle", "font-size=\"10\"", &short(rate));
}

fn legend(svg: &mut String, peers: &[Peer]) {
    let mut x = LEFT;
    for peer in peers {
        _ = writeln!(svg, "<rect x=\"{x}\" y=\"60\" width=\"12\" height=\"12\" fill=\"{}\"/>", colour(*peer));
        text(svg, (x + 17.0, 71.0), "start", "", &label(*peer));
        x += place_of(*peer);
    }
}

/// How wide its place in the legend is.
fn place_of(peer: Peer) -> f64 {
    36.0 + 7.5 * label(peer).len() as f64
}

/// Whoever answers before anything is synced is not compared without a word.
fn label(peer: Peer) -> String {
    let name = peer.name();
    if peer == Peer::Nats { format!("{name} (not synced)") } else { name.to_owned() }
}

fn text(svg: &mut String, (x, y): (f64, f64), anchor: &str, attributes: &str, text: &str) {
    let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {attributes}>{text}</text>");
}

fn in_words(column: Column) -> String {
    let Column { clients, batch } = column;
    format!("{clients} client{}, {batch} at once", if clients == 1 { "" } else { "s" })
}

/// Three digits are as exact as a bar.
fn short(rate: f64) -> String {
    match rate {
        ..1e3 => format!("{rate:.0}"),
        ..1e4 => format!("{:.1}k", rate / 1e3).replace(".0k", "k"),
        ..1e6 => format!("{:.0}k", rate / 1e3),
        _ => format!("{:.2}M", rate / 1e6),
    }
}

/// Told apart also by those who do not see all colours (after Okabe and Ito).
fn colour(peer: Peer) -> &'static str {
    match peer {
        Peer::Hapax => "#111111",
        Peer::HapaxBrief => "#777777",
        Peer::Postgres => "#0072b2",
        Peer::PostgresEach => "#56b4e9",
        Peer::Redis => "#d55e00",
        Peer::Sqlite => "#009e73",
        Peer::Nats => "#cc79a7",
        Peer::NatsSynced => "#e69f00",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::results::Run;
    use crate::peers::results::tests::results;

    /// Every element that is opened is closed, in order, and every attribute has its quotes.
    fn check_form(svg: &str) {
        let mut open = Vec::new();
        for piece in svg.split('<').skip(1) {
            let (tag, text) = piece.split_once('>').expect("a tag ends");
            assert!(!text.contains('&') || text.contains("&lt;") || text.contains("&amp;"), "{text}");
            assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
            match (tag.strip_prefix('/'), tag.ends_with('/')) {
                (Some(name), _) => assert_eq!(open.pop(), Some(name)),
                (None, true) => {}
                (None, false) => open.push(tag.split(' ').next().expect("a name")),
            }
        }
        assert!(open.is_empty(), "{open:?} are not closed");
    }

    #[test]
    fn every_peer_has_a_bar_in_every_column_and_a_place_in_the_legend() {
        let mut results = results();
        results.machine.processor = "<a & b>".to_owned();
        let svg = draw(&results);
        check_form(&svg);
        assert!(svg.contains("&lt;a &amp; b&gt;"));
        for (peer, rates) in [("hapax", ["500000", "50000"]), ("redis", ["100000", "100000"])] {
            assert!(svg.contains(&format!(">{peer}</text>")), "{peer} is not in the legend");
            for rate in rates {
                assert!(svg.contains(&format!("<title>{peer}: {rate}</title>")), "{peer} has no bar of {rate}");
            }
        }
        for column in ["1 client, 1000 at once", "64 clients, 1000 at once"] {
            assert!(svg.contains(column));
        }
    }

    #[test]
    fn the_legend_fits_whoever_is_measured_in_however_few_columns() {
        let mut results = results();
        let one = results.runs[0];
        results.runs = Peer::ALL.map(|peer| Run { peer, ..one }).into();
        let svg = draw(&results);
        let number = |text: &str, name: &str| -> f64 {
            let (_, rest) = text.split_once(&format!("{name}=\"")).expect("an attribute");
            rest.split('"').next().and_then(|it| it.parse().ok()).expect("a number")
        };
        let last = svg.lines().find(|line| line.ends_with(">nats-synced</text>")).expect("the last of them");
        assert!(number(last, "x") + 7.5 * "nats-synced".len() as f64 <= number(&svg, "width"), "{svg}");
    }

    #[test]
    fn a_chart_of_nothing_is_a_chart() {
        let mut results = results();
        results.runs.clear();
        check_form(&draw(&results));
    }

    #[test]
    fn ten_times_as_much_is_as_much_higher_everywhere() {
        let scale = Scale::of([2_000.0, 900_000.0].into_iter());
        let step = |rate: f64| scale.height(rate * 10.0) - scale.height(rate);
        assert!((step(1_000.0) - step(50_000.0)).abs() < 0.01);
        assert_eq!((scale.height(1_000.0), scale.height(1e6)), (0.0, PLOT));
    }

    #[test]
    fn figures_are_short() {
        assert_eq!([800.0, 1_000.0, 4_321.0, 56_789.0, 1_234_567.0].map(short), ["800", "1k", "4.3k", "57k", "1.23M"]);
    }
}
