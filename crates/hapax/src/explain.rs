//! `hapax explain`: every attempt of an event, and for each the rules one by one.

use clap::Args;
use hapax_client::Route;
use serde_json::Value;

use crate::field::{list, text};
use crate::outcome::Outcome;
use crate::remote::Remote;
use crate::{paint, say};

/// Say why an event got its verdict: every attempt, and the rules one by one.
///
/// Example: hapax explain --stream orders e-7
#[derive(Args)]
pub(crate) struct Explain {
    /// The stream.
    #[arg(long, short, value_name = "STREAM")]
    stream: String,
    /// The event's id.
    id: String,
    /// Its lane, where several lanes hold the id.
    #[arg(long, value_name = "LANE")]
    lane: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

impl Explain {
    pub(crate) fn run(self) -> anyhow::Result<Outcome> {
        let server = self.remote.server()?;
        let route = Route::stream(&self.stream, &["events", &self.id, "explain"]).with_some("lane", self.lane);
        let answer = server.get(route)?;
        server.show(&answer, |answer| {
            let attempts = list(answer, "/attempts");
            if attempts.is_empty() {
                say::line(format_args!("There is no attempt of {} on record.", self.id));
            }
            attempts.iter().flat_map(|attempt| in_lines(&self.id, attempt)).for_each(say::line);
        })?;
        Ok(Outcome::Fine)
    }
}

/// The same lines as `hapax test --explain` prints.
fn in_lines(id: &str, attempt: &Value) -> Vec<String> {
    let at = |pointer| text(attempt, pointer);
    let code = if at("/code").is_empty() { String::new() } else { format!(", {}", at("/code")) };
    let mut lines = vec![format!(
        "attempt {} of {}: {}{code} (contract {}, {})",
        at("/attempt"),
        paint::bold(id),
        paint::verdict(&at("/verdict")),
        at("/contract"),
        at("/at"),
    )];
    for rule in list(attempt, "/rules") {
        let [name, outcome, compared, because] =
            ["/rule", "/outcome", "/compared", "/because"].map(|pointer| text(rule, pointer));
        let because = if because.is_empty() { because } else { format!("  {}", paint::dim(&format!("[{because}]"))) };
        lines.push(format!("  {name:<18} {outcome:<12} {compared}{because}"));
    }
    if attempt.get("agrees") == Some(&Value::Bool(false)) {
        lines.push("  derived again, the decision comes out otherwise: this is a bug".to_owned());
    }
    lines
}
