//! The rules of a step, one by one: what was compared with what, and what followed.

use hapax_core::explain::{Explanation, explain_attempt, explain_entry};
use hapax_core::view::AttemptView;
use hapax_store::seam::{Read, StoreError, StreamKey};

/// Explains every attempt of the stream after this many.
pub(super) fn explain(store: &impl Read, stream: &StreamKey, after: u64) -> Result<Vec<String>, StoreError> {
    let salt = store.salt(&stream.tenant)?.unwrap_or_default();
    let versions = store.versions(stream)?;
    let mut lines = Vec::new();
    for attempt in store.attempts(stream, &Default::default(), 0, usize::MAX)?.items {
        if attempt.number() <= after {
            continue;
        }
        let number = match &attempt {
            AttemptView::Accepted(entry) => entry.contract,
            AttemptView::Other(attempt) => attempt.contract,
        };
        let Some(version) = versions.iter().find(|version| version.number == number) else { continue };
        let explanation = match &attempt {
            AttemptView::Accepted(entry) => explain_entry(entry, version, &salt),
            AttemptView::Other(attempt) => {
                let original = attempt.basis.original.map(|offset| store.entries(stream, offset - 1, 1)).transpose()?;
                let original = original.and_then(|mut entries| entries.pop());
                explain_attempt(attempt, version, original.as_ref(), &salt)
            }
        };
        lines.extend(in_lines(&explanation, attempt.id()));
    }
    Ok(lines)
}

fn in_lines(explanation: &Explanation, id: Option<&str>) -> Vec<String> {
    let code = explanation.code.map(|code| format!(", {code}")).unwrap_or_default();
    let mut lines = vec![format!(
        "attempt {} of {}: {}{code} (contract {}, {})",
        explanation.attempt,
        id.unwrap_or("an event without a readable id"),
        explanation.verdict,
        explanation.contract,
        explanation.at,
    )];
    for rule in &explanation.rules {
        let because = if rule.because.is_empty() { String::new() } else { format!("  [{}]", rule.because) };
        lines.push(format!("  {:<18} {:<12} {}{because}", rule.rule, rule.outcome.name(), rule.compared));
    }
    if !explanation.agrees {
        lines.push("  derived again, the decision comes out otherwise: this is a bug".to_owned());
    }
    lines
}
