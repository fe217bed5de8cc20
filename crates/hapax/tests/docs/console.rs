//! Examples in `console` blocks: commands behind `$ `, and what they print. They are run, and what is printed must fit
//! what is shown.
//!
//! To fit: white space outside of quotes does not count, so that a page can lay JSON out; `…` inside quotes stands for
//! any text without a quote; `…` elsewhere stands for anything. All else stands for itself.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::markdown::{Page, page};
use crate::server::Server;

/// A command and what it is shown to print.
struct Example {
    command: String,
    shown: String,
}

/// Runs the examples of a page that talk to a server, in order, on one with an empty store.
pub(crate) fn check_examples(path: &str, count: usize) {
    let examples = examples(&page(path));
    assert_eq!(examples.len(), count, "the examples in {path}: one that is not found is not run");
    let server = Server::start();
    let commands: Vec<_> = examples.iter().map(|example| server.here(&example.command)).collect();
    let printed = run(&commands, server.folder.path());
    for (Example { command, shown }, printed) in examples.iter().zip(&printed) {
        let printed = server.shown(printed);
        if let Err(fitting) = fits(shown, &printed) {
            panic!("{path} shows\n$ {command}\n{shown}\nit prints\n{printed}\nwhat fits is\n{fitting}");
        }
    }
}

fn examples(page: &Page) -> Vec<Example> {
    let blocks = page.blocks().into_iter().filter(|block| block.info == "console");
    let examples = blocks.flat_map(|block| parse(&block.body));
    // What the program prints by itself is the affair of others.
    examples.filter(|it| !it.command.starts_with("hapax ") && !it.command.starts_with("target/")).collect()
}

fn parse(body: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for line in body.lines() {
        match (line.strip_prefix("$ "), examples.last_mut()) {
            (Some(command), _) => examples.push(Example { command: command.to_owned(), shown: String::new() }),
            (None, Some(last)) if goes_on(&last.command) && last.shown.is_empty() => {
                last.command.extend(["\n", line]);
            }
            (None, Some(last)) => last.shown.extend([line, "\n"]),
            (None, None) => panic!("a console block begins with a command, not with {line}"),
        }
    }
    examples
}

/// Is a command not over at the end of its line?
fn goes_on(command: &str) -> bool {
    command.ends_with('\\') || command.matches('\'').count() % 2 == 1
}

/// Runs all of them in one shell, so that a variable set by one is there for the next. What each printed, in order.
pub(crate) fn run(commands: &[String], folder: &Path) -> Vec<String> {
    let mut script = String::new();
    for (number, command) in commands.iter().enumerate() {
        // A command that fails says so in what it prints.
        _ = writeln!(script, "{{ {command}\n}} > {number}.out 2>&1");
    }
    fs::write(folder.join("script"), script).expect("the script");
    let shell = Command::new("bash").arg("script").current_dir(folder).status();
    shell.expect("bash runs; scripts/test installs what the examples need");
    let read = |number| fs::read(folder.join(format!("{number}.out"))).expect("what a command printed");
    (0..commands.len()).map(|number| String::from_utf8_lossy(&read(number)).into_owned()).collect()
}

/// What one place of a shown text stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Letter(char),
    /// Any text inside of quotes.
    Some,
    /// Anything.
    Any,
}

/// The text without the white space that does not count.
fn pieces(text: &str) -> Vec<Piece> {
    let (mut quoted, mut escaped) = (false, false);
    let mut pieces = Vec::new();
    for letter in text.chars() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        match letter {
            '…' if quoted => pieces.push(Piece::Some),
            '…' => pieces.push(Piece::Any),
            _ if letter.is_whitespace() && !quoted => {}
            _ => pieces.push(Piece::Letter(letter)),
        }
    }
    pieces
}

/// Does what was printed fit what is shown? If not: how much of what is shown fits.
fn fits(shown: &str, printed: &str) -> Result<(), String> {
    let (shown, printed) = (pieces(shown), pieces(printed));
    // Which beginnings of what was printed fit the pieces so far.
    let mut reached = vec![false; printed.len() + 1];
    reached[0] = true;
    for (place, piece) in shown.iter().enumerate() {
        let mut next = vec![false; printed.len() + 1];
        for at in 0..=printed.len() {
            let before = at.checked_sub(1).map(|before| (before, printed[before]));
            next[at] = match piece {
                Piece::Letter(_) => before.is_some_and(|(before, letter)| reached[before] && letter == *piece),
                Piece::Some => {
                    reached[at] || before.is_some_and(|(before, letter)| next[before] && letter != Piece::Letter('"'))
                }
                Piece::Any => reached[at] || before.is_some_and(|(before, _)| next[before]),
            };
        }
        if !next.contains(&true) {
            return Err(written(&shown[..place]));
        }
        reached = next;
    }
    if reached[printed.len()] { Ok(()) } else { Err(written(&shown)) }
}

fn written(pieces: &[Piece]) -> String {
    let letter = |piece: &Piece| match piece {
        Piece::Letter(letter) => *letter,
        Piece::Some | Piece::Any => '…',
    };
    pieces.iter().map(letter).collect()
}

#[test]
fn what_fits_and_what_does_not() {
    for (shown, printed) in [
        ("{\n  \"a\": 1\n}", "{\"a\":1}\n"),
        ("{\"a\": \"…\", \"b\": 2}", "{\"a\":\"x y\",\"b\":2}"),
        ("{\"a\": \"2025-…Z\"}", "{\"a\":\"2025-01-01Z\"}"),
        ("{\"a\": 1, …}", "{\"a\":1,\"b\":{\"c\":[]}}"),
        ("a …\nz", "a b\nc z"),
        ("", ""),
    ] {
        assert_eq!(fits(shown, printed), Ok(()), "{shown} and {printed}");
    }
    for (shown, printed, fitting) in [
        ("{\"a\": 1}", "{\"a\":2}", "{\"a\":"),
        ("{\"a\": \"x y\"}", "{\"a\":\"xy\"}", "{\"a\":\"x"),
        ("{\"a\": \"…\", \"c\": 2}", "{\"a\":\"x\",\"b\":1,\"c\":2}", "{\"a\":\"…\",\""),
        ("a", "ab", "a"),
        ("", "a", ""),
    ] {
        assert_eq!(fits(shown, printed), Err(fitting.to_owned()), "{shown} and {printed}");
    }
}
