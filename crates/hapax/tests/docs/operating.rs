//! `docs/operating.md` and what is shipped for operators: settings, metrics and alerts are those that there are.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use hapax_core::words::{Code, Verdict};

use crate::console::run;
use crate::markdown::{code, page, root};
use crate::server::Server;

#[test]
fn every_setting_has_its_row_with_its_default() {
    let output = Command::new(env!("CARGO_BIN_EXE_hapax")).arg("config").env_clear().output().expect("hapax config");
    let printed = String::from_utf8(output.stdout).expect("UTF-8");
    let known: Vec<_> = printed
        .lines()
        .map(|line| {
            let (setting, from) = line.split_once('#').expect("a setting, and where it comes from");
            assert_eq!(from.trim(), "default", "{line}");
            let (name, value) = setting.split_once('=').expect("a name and its value");
            (name.trim().to_owned(), value.trim().to_owned())
        })
        .collect();
    let rows = page("docs/operating.md").rows("setting");
    let written: Vec<_> =
        rows.iter().map(|cells| (code(&cells[0])[0].to_owned(), code(&cells[1])[0].to_owned())).collect();
    assert_eq!(written, known);
}

/// Something of everything that is counted, so that every metric is there.
const BUSY: [&str; 4] = [
    "curl -s -X PUT --json '{\"sequence\": {\"source\": \"producer\"}, \"lanes\": {\"silence\": \"1h\"}}' \
     http://127.0.0.1:4090/v1/streams/s",
    "curl -s --json '[{\"id\": \"a\", \"lane\": \"l\", \"seq\": 1}, {\"id\": \"b\", \"lane\": \"l\", \"seq\": 3}]' \
     http://127.0.0.1:4090/v1/streams/s/events",
    "curl -s -X PUT --json '{\"stream\": \"s\"}' http://127.0.0.1:4090/v1/handlers/h",
    "curl -s --json '{\"event_id\": \"a\"}' http://127.0.0.1:4090/v1/handlers/h/claims",
];

/// Every metric by the name that one asks for, with its kind and its labels.
fn metrics() -> BTreeMap<String, (String, BTreeSet<String>)> {
    let server = Server::start();
    let scrape = "curl -s http://127.0.0.1:4090/metrics";
    let commands: Vec<_> = BUSY.iter().chain([&scrape]).map(|command| server.here(command)).collect();
    let text = run(&commands, server.folder.path()).pop().expect("what was scraped");
    let mut metrics = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (family, kind) = line.split_once(' ').expect("a name and its kind");
        let name = if kind == "counter" { format!("{family}_total") } else { family.to_owned() };
        let sample = text.lines().find(|line| line.starts_with(family)).unwrap_or_else(|| panic!("{family} is empty"));
        metrics.insert(name, (kind.to_owned(), labels(sample)));
    }
    metrics
}

/// The names of a sample's labels; `le` belongs to histograms and says nothing.
fn labels(sample: &str) -> BTreeSet<String> {
    let Some((_, inside)) = sample.split_once('{') else { return BTreeSet::new() };
    let mut pieces: Vec<_> = inside.split("=\"").collect();
    // Behind the last name there is only its value.
    pieces.pop();
    let names = pieces.into_iter().filter_map(|piece| piece.rsplit([',', '"']).next());
    names.filter(|name| *name != "le").map(str::to_owned).collect()
}

#[test]
fn every_metric_has_its_row_and_what_is_shipped_names_no_other() {
    let metrics = metrics();
    let mut written = BTreeMap::new();
    for cells in page("docs/operating.md").rows("metric") {
        let labels = code(&cells[2]).into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
        written.insert(code(&cells[0])[0].to_owned(), (cells[1].clone(), labels));
    }
    assert_eq!(written, metrics, "the metrics in docs/operating.md, and those of a server");

    for path in ["ops/alerts.yaml", "ops/grafana.json", "docs/operating.md", "docs/knobs.md"] {
        let text = fs::read_to_string(root().join(path)).expect(path);
        for name in metric_names(&text) {
            let family = ["_bucket", "_sum", "_count"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
            assert!(metrics.contains_key(name) || metrics.contains_key(family), "{path}: there is no metric {name}");
        }
    }
}

/// The words that begin as metrics do; the names of crates and targets of the log do, too.
fn metric_names(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("hapax_") && *word != "hapax_server")
}

fn alerts() -> String {
    fs::read_to_string(root().join("ops/alerts.yaml")).expect("ops/alerts.yaml")
}

#[test]
fn every_alert_has_its_row_and_the_reverse() {
    let alerts = alerts();
    let known: Vec<_> = alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let rows = page("docs/operating.md").rows("alert");
    let written: Vec<_> = rows.iter().map(|cells| code(&cells[0])[0]).collect();
    assert_eq!(written, known);
}

#[test]
fn the_words_that_alerts_and_dashboard_ask_for_are_there() {
    let dashboard = fs::read_to_string(root().join("ops/grafana.json")).expect("ops/grafana.json");
    serde_json::from_str::<serde_json::Value>(&dashboard).expect("the dashboard is JSON");
    for text in [alerts(), dashboard.replace("\\\"", "\"")] {
        for (label, known) in [
            ("code", Code::ALL.iter().map(|it| it.name()).collect::<Vec<_>>()),
            ("verdict", Verdict::ALL.iter().map(|it| it.name()).collect()),
        ] {
            for asked in text.split(&format!("{label}=")).skip(1) {
                let values =
                    asked.trim_start_matches('~').trim_start_matches('"').split('"').next().unwrap_or_default();
                let unknown: Vec<_> = values.split('|').filter(|value| !known.contains(value)).collect();
                assert!(unknown.is_empty(), "there is no {label} {unknown:?}");
            }
        }
    }
}

#[test]
fn the_certificate_of_the_page_is_good_for_the_clients_of_the_page() {
    let blocks = page("docs/operating.md").blocks();
    let block = blocks.iter().find(|block| block.info == "sh tls").expect("how to try TLS");
    let lines = block.body.replace("\\\n", "");
    let lines: Vec<_> = lines.lines().collect();
    let [openssl, serve, streams, curl] = lines.as_slice() else { panic!("four commands: {lines:?}") };
    let folder = tempfile::tempdir().expect("a directory");
    let made = run(&[(*openssl).to_owned()], folder.path());
    let file = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    assert!(fs::exists(file("cert.pem")).is_ok_and(|there| there), "{made:?}");
    assert_eq!(*serve, "hapax serve --tls-cert cert.pem --tls-key key.pem");
    let server = Server::with(&["--tls-cert", &file("cert.pem"), "--tls-key", &file("key.pem")]);
    let program = root().join(env!("CARGO_BIN_EXE_hapax"));
    let path = format!("PATH={}:$PATH", program.parent().expect("its folder").display());
    let printed = run(&[path, server.here(streams), server.here(curl)], folder.path());
    assert!(printed[1].contains("There are no streams") && printed[2].contains("\"status\":\"ok\""), "{printed:?}");
}

#[test]
fn neither_keys_nor_documents_are_logged() {
    let server = Server::with(&["--log", "trace", "--log-format", "json"]);
    let commands = [
        "curl -s -X PUT --json '{}' http://127.0.0.1:4090/v1/streams/s",
        "KEY=$(curl -s --json '{\"role\": \"admin\"}' http://127.0.0.1:4090/v1/keys | grep -o 'hapax_[0-9a-f]*'); echo $KEY",
        "curl -s -H \"Authorization: Bearer $KEY\" --json '{\"id\": \"e-1\", \"told\": \"in confidence\"}' \
         http://127.0.0.1:4090/v1/streams/s/events",
        "curl -s -H \"Authorization: Bearer $KEY\" --json '{\"id\": \"e-1\", \"told\": \"otherwise\"}' \
         http://127.0.0.1:4090/v1/streams/s/events",
    ];
    let printed = run(&commands.map(|command| server.here(command)), server.folder.path());
    assert!(printed[3].contains("PAYLOAD_CONFLICT"), "{printed:?}");
    let key = printed[1].trim();
    let log = server.end();
    assert!(log.iter().any(|line| line.contains("e-1")), "{log:?}");
    for word in [key, "in confidence", "otherwise"] {
        assert!(!log.iter().any(|line| line.contains(word)), "{word} is in the log: {log:?}");
    }
}
