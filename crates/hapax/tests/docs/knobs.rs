//! `docs/knobs.md` gives other designs' names their Hapax names: those are keys, words and values that exist, and the
//! defaults are the presets' own.
//!
//! Not here: whether the list of a design is whole, the names of headers, and metrics, which are checked with the others
//! in `operating`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use hapax_core::claim::Handler;
use hapax_core::contract::{Contract, PRESETS};
use hapax_core::problem::ProblemCode;
use hapax_core::words::{Code, LogClass, Mark, State};
use hapax_server::http::routes;

use crate::keys::{contract, known};
use crate::markdown::{Page, code, page};
use crate::words::FAULTS;

/// A row, and the preset whose section it stands in.
struct Knob {
    preset: String,
    name: String,
    hapax: String,
    default: String,
}

fn knobs() -> Vec<Knob> {
    sections()
        .into_iter()
        .flat_map(|(preset, section)| {
            let rows = section.rows("its name");
            rows.into_iter().map(move |cells| match <[String; 4]>::try_from(cells) {
                Ok([name, _, hapax, default]) => Knob { preset: preset.clone(), name, hapax, default },
                Err(cells) => panic!("a row of {preset} has not four cells: {cells:?}"),
            })
        })
        .collect()
}

/// The sections of the page, each with the preset that it is named after.
fn sections() -> Vec<(String, Page)> {
    let page = page("docs/knobs.md");
    let sections = page.text.split("\n## ").skip(1);
    sections
        .map(|text| {
            let heading = text.lines().next().unwrap_or_default();
            let preset = code(heading).first().map(|name| (*name).to_owned());
            let preset = preset.unwrap_or_else(|| panic!("the section \"{heading}\" has no preset"));
            (preset, Page { path: page.path.clone(), text: text.to_owned() })
        })
        .collect()
}

static KEYS: LazyLock<BTreeSet<String>> = LazyLock::new(known);

/// A key of the contract as the reference has it: the names of counters are the author's own.
fn is_key(text: &str) -> bool {
    let mut parts: Vec<_> = text.split('.').collect();
    if let ["counters", name, ..] = parts.as_mut_slice() {
        *name = "NAME";
    }
    KEYS.contains(&parts.join("."))
}

/// Does it look like `section.key`? Members of a receipt's detail look the same and are none.
fn is_dotted(text: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && part.chars().all(|it| it.is_ascii_alphabetic() || "_[]".contains(it));
    text.contains('.') && text.split('.').all(is_part) && !text.starts_with("detail.")
}

fn is_handler_setting(text: &str) -> bool {
    let shown = serde_json::to_value(Handler::new("")).expect("a handler as JSON");
    text != "name" && shown.get(text).is_some()
}

/// The handler that says one thing; the value is JSON and TOML alike.
fn handler(key: &str, value: &str) -> Handler {
    let text = format!("{{\"{key}\": {value}}}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text} is no handler: {error}"))
}

fn is_word(text: &str) -> bool {
    Code::named(text).is_some()
        || State::named(text).is_some()
        || Mark::named(text).is_some()
        || ProblemCode::named(text).is_some()
        || LogClass::named(text).is_some()
        || FAULTS.iter().any(|fault| fault.code() == text)
}

/// The words in capitals: the whole text if it is one, and inside it those with an underscore, such as a label's value.
fn capitals(text: &str) -> Vec<&str> {
    let is_capital = |letter: char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_';
    let begins = |word: &&str| word.starts_with(|letter: char| letter.is_ascii_uppercase());
    let words = text.split(|letter| !is_capital(letter)).filter(begins);
    words.filter(|word| *word == text || word.contains('_')).collect()
}

#[test]
fn every_design_has_its_section() {
    let found: Vec<_> = sections().into_iter().map(|(preset, _)| preset).collect();
    // CloudEvents is a standard with no settings of its own.
    let presets: Vec<_> = PRESETS.iter().map(|preset| preset.name).filter(|name| *name != "cloudevents").collect();
    assert_eq!(found, presets);
}

#[test]
fn no_knob_is_left_without_an_answer() {
    for Knob { preset, name, hapax, default } in knobs() {
        assert!(![&name, &hapax, &default].into_iter().any(String::is_empty), "{preset}: {name} has an empty cell");
    }
}

#[test]
fn every_key_in_it_is_a_key_of_the_contract() {
    for Knob { preset, name, hapax, .. } in knobs() {
        for key in code(&hapax).into_iter().filter(|text| is_dotted(text)) {
            assert!(is_key(key), "{preset}, {name}: a contract has no {key}");
        }
    }
}

/// A path without the names that each page gives to what varies.
fn shape(path: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { "{}" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

#[test]
fn every_path_in_it_is_a_route() {
    let routes: Vec<_> = routes().map(|route| (route, shape(route.path))).collect();
    for Knob { preset, name, hapax, .. } in knobs() {
        for text in code(&hapax) {
            let Some((method, address)) =
                text.split_once(' ').filter(|(method, _)| ["GET", "POST", "PUT"].contains(method))
            else {
                continue;
            };
            let (path, query) = address.split_once('?').unwrap_or((address, ""));
            let end = shape(path.trim_start_matches('…'));
            let found = routes.iter().find(|(route, shape)| route.method == method && shape.ends_with(&end));
            let (route, _) = found.unwrap_or_else(|| panic!("{preset}, {name}: there is no {text}"));
            let parameter = query.split('=').next().unwrap_or_default();
            let is_known = parameter.is_empty() || route.takes.iter().any(|(known, _)| *known == parameter);
            assert!(is_known, "{preset}, {name}: {route:?} takes no {parameter}");
        }
    }
}

#[test]
fn every_setting_in_it_can_be_written() {
    for Knob { preset, name, hapax, .. } in knobs() {
        for text in code(&hapax) {
            let Some((key, value)) = text.split_once(" = ") else { continue };
            if is_handler_setting(key) {
                handler(key, value);
                continue;
            }
            let problems = Contract::from_toml(&format!("{text}\npreset = \"{preset}\"")).err().unwrap_or_default();
            assert!(problems.is_empty(), "{preset}, {name}: {text} is not taken: {}", problems[0]);
        }
    }
}

#[test]
fn every_word_in_capitals_is_a_code_a_state_a_mark_or_a_problem() {
    for Knob { preset, name, hapax, .. } in knobs() {
        for word in code(&hapax).into_iter().flat_map(capitals) {
            assert!(is_word(word), "{preset}, {name}: there is no {word}");
        }
    }
}

#[test]
fn every_default_is_the_one_of_the_preset() {
    for Knob { preset, name, hapax, default } in knobs() {
        // The first key of a cell is the knob's own; a key of any counter has no value of its own.
        let Some(key) = code(&hapax).first().copied().filter(|key| !key.contains("NAME")) else { continue };
        let value = || *code(&default).first().unwrap_or_else(|| panic!("{preset}, {name}: {key} has no default"));
        if is_handler_setting(key) {
            assert_eq!(handler(key, value()), Handler::new(""), "{name}: the default of {key}");
        } else if is_key(key) {
            let base = format!("preset = \"{preset}\"");
            let written = contract(&format!("{key} = {}\n{base}", value()));
            assert_eq!(written, contract(&base), "{preset}, {name}: the default of {key}");
        }
    }
}
