//! Colours, for people at a terminal who did not ask for none (`NO_COLOR`).

use std::io::IsTerminal as _;
use std::sync::OnceLock;

/// A verdict in its colour.
pub(crate) fn verdict(verdict: &str) -> String {
    let code = match verdict {
        "accepted" => "32",
        "duplicate" | "stale" => "36",
        "conflict" | "rejected" => "31",
        "not_evaluated" => "33",
        _ => return verdict.to_owned(),
    };
    painted(code, verdict)
}

/// What is beside the point.
pub(crate) fn dim(text: &str) -> String {
    painted("2", text)
}

/// What stands out.
pub(crate) fn bold(text: &str) -> String {
    painted("1", text)
}

/// A remark.
pub(crate) fn mark(text: &str) -> String {
    painted("33", text)
}

fn painted(code: &str, text: &str) -> String {
    if !wanted() || text.is_empty() { text.to_owned() } else { format!("\u{1b}[{code}m{text}\u{1b}[0m") }
}

fn wanted() -> bool {
    static WANTED: OnceLock<bool> = OnceLock::new();
    *WANTED.get_or_init(|| {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        !refused && !dumb && std::io::stdout().is_terminal()
    })
}
