//! `docs/http.md`: its routes, limits and roles are the server's, and its examples are run on one, in order.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use hapax_core::access::{Deed, Rates, Role};
use hapax_core::claim::Handler;
use hapax_server::config::Limits;
use hapax_server::http::routes;

use crate::console::check_examples;
use crate::markdown::{code, page, root};
use crate::server::Server;

/// Method and path.
type Place = (String, String);

/// The rows of routes: each with who may ask and its parameters.
fn rows() -> BTreeMap<Place, (Vec<String>, BTreeSet<String>)> {
    let mut rows = BTreeMap::new();
    for cells in page("docs/http.md").rows("method") {
        let [method, path, role, parameters, _] = cells.as_slice() else { panic!("a row of a route: {cells:?}") };
        let owned = |text: &str| code(text).into_iter().map(str::to_owned).collect::<Vec<_>>();
        let place = (owned(method)[0].clone(), owned(path)[0].clone());
        let row = (owned(role), owned(parameters).into_iter().collect());
        assert!(rows.insert(place.clone(), row).is_none(), "{place:?} has two rows");
    }
    rows
}

/// Those who may, as the page writes it: nobody is named where nobody needs a key.
fn roles(deed: Option<Deed>) -> Vec<String> {
    let Some(deed) = deed else { return Vec::new() };
    Role::ALL.iter().filter(|role| role.may(deed)).map(|role| role.name().to_owned()).collect()
}

#[test]
fn every_route_has_its_row_and_the_reverse() {
    let written = rows();
    let known = routes().map(|route| {
        let parameters = route.takes.iter().map(|(name, _)| (*name).to_owned()).collect();
        ((route.method.to_owned(), route.path.to_owned()), (roles(route.deed), parameters))
    });
    let known: BTreeMap<_, _> = known.collect();
    for (place, row) in &known {
        assert_eq!(written.get(place), Some(row), "the row of {place:?} in docs/http.md: roles and parameters");
    }
    let gone: Vec<_> = written.keys().filter(|place| !known.contains_key(*place)).collect();
    assert!(gone.is_empty(), "docs/http.md has rows of routes that are not there: {gone:?}");
}

#[test]
fn every_example_prints_what_is_shown() {
    check_examples("docs/http.md", 66);
}

/// Every limit with its default. A new one does not compile here until it is listed.
fn limits() -> Vec<(&'static str, u64)> {
    let Limits {
        body_bytes_max,
        batch_events_max,
        event_bytes_max,
        header_bytes_max,
        waiting_bytes_max,
        waiting_requests_max,
        turn_events_max,
        connections_max,
        connections_per_address_max,
        followers_max,
        rates: Rates { requests, events },
        handshake_timeout,
        header_timeout,
        body_timeout,
        body_rate_min,
        body_rate_window,
        write_timeout,
        idle_timeout,
        stop_timeout,
    } = Limits::default();
    vec![
        ("body_bytes_max", body_bytes_max as u64),
        ("batch_events_max", batch_events_max as u64),
        ("event_bytes_max", event_bytes_max as u64),
        ("header_bytes_max", header_bytes_max as u64),
        ("waiting_bytes_max", waiting_bytes_max as u64),
        ("waiting_requests_max", waiting_requests_max as u64),
        ("turn_events_max", turn_events_max as u64),
        ("connections_max", connections_max as u64),
        ("connections_per_address_max", connections_per_address_max as u64),
        ("followers_max", followers_max as u64),
        ("rate_requests", requests.map_or(0, u64::from)),
        ("rate_events", events.map_or(0, u64::from)),
        ("handshake_timeout", handshake_timeout.as_secs()),
        ("header_timeout", header_timeout.as_secs()),
        ("body_timeout", body_timeout.as_secs()),
        ("body_rate_min", body_rate_min as u64),
        ("body_rate_window", body_rate_window.as_secs()),
        ("write_timeout", write_timeout.as_secs()),
        ("idle_timeout", idle_timeout.as_secs()),
        ("stop_timeout", stop_timeout.as_secs()),
    ]
}

#[test]
fn every_limit_has_its_row_with_its_default() {
    let rows = page("docs/http.md").rows("limit");
    let written: Vec<_> = rows.iter().map(|cells| (code(&cells[0])[0].to_owned(), cells[1].clone())).collect();
    let known: Vec<_> = limits().into_iter().map(|(name, value)| (name.to_owned(), value.to_string())).collect();
    assert_eq!(written, known);
}

#[test]
fn every_role_has_its_row() {
    let rows = page("docs/http.md").rows("role");
    let written: Vec<_> = rows.iter().map(|cells| code(&cells[0])[0].to_owned()).collect();
    assert_eq!(written, Role::ALL.iter().map(|role| role.name()).collect::<Vec<_>>());
}

#[test]
fn every_setting_of_a_handler_has_its_row_with_its_default() {
    let known = serde_json::to_value(Handler::new("mailer")).expect("a handler as JSON");
    let mut known: BTreeMap<_, _> = known.as_object().expect("an object").clone().into_iter().collect();
    known.remove("name");
    for cells in page("docs/http.md").rows("setting") {
        let setting = code(&cells[0])[0].to_owned();
        let default = code(&cells[1]).first().map(|text| (*text).to_owned());
        let value = known.remove(&setting).map(|value| value.to_string().trim_matches('"').to_owned());
        assert_eq!(default, value, "the default of {setting}");
    }
    assert!(known.is_empty(), "settings without a row: {known:?}");
}

/// The Python of the page, and what it is said to print.
fn python() -> (String, String) {
    let blocks = page("docs/http.md").blocks();
    let place = blocks.iter().position(|block| block.info == "python").expect("an example in Python");
    assert_eq!(blocks[place + 1].info, "text", "what it prints follows");
    (blocks[place].body.clone(), blocks[place + 1].body.clone())
}

#[test]
fn the_cloudevents_sdk_of_python_gets_the_receipts_that_are_shown() {
    // scripts/test makes it; CARGO_TARGET_TMPDIR is beside it.
    let interpreter = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../python/bin/python");
    assert!(interpreter.exists(), "there is no {}: run scripts/test, which installs it", interpreter.display());
    let server = Server::start();
    let (code, shown) = python();
    let file = server.folder.path().join("example.py");
    fs::write(&file, server.here(&code)).expect("the example");
    let output = Command::new(interpreter).arg(file).output().expect("Python runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), shown, "{said}");
}

#[test]
fn the_packages_of_the_page_are_the_ones_that_are_tested() {
    let script = fs::read_to_string(root().join("scripts/test")).expect("scripts/test");
    let page = page("docs/http.md");
    let command = page.inline_code().into_iter().find_map(|text| text.strip_prefix("pip install ")).expect("pip");
    assert!(script.contains(&format!("python_packages=\"{command}\"")), "scripts/test does not install {command}");
}
