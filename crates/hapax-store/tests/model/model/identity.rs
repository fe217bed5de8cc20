//! Check 2: was this id accepted before, and is it still remembered?

use std::collections::BTreeSet;

use serde_json::Value;

use super::checks::age;
use super::document::Document;
use super::outcome::Outcome;
use super::readings::IDENTITY_KEPT_FROM_LATER_TIME;
use super::rules::{Different, Same, Scope};
use super::{Entry, Model, number};

impl Model {
    /// The latest entry with this id that is still remembered is the original.
    pub(super) fn identity(&self, now: i64, doc: &Value, document: &Document) -> Option<Outcome> {
        let id = document.id.as_ref()?;
        let rules = &self.rules.identity;
        let original = self.entries.iter().rev().find(|entry| {
            let same_scope = rules.scope == Scope::Stream || entry.lane == document.lane;
            entry.id.as_ref() == Some(id) && same_scope && self.remembers(now, entry)
        })?;
        let payload = |document: &Value| {
            let mut document = document.clone();
            for name in &rules.exclude {
                document.as_object_mut().expect("an accepted document is an object").remove(name);
            }
            document
        };
        let bytes = |document: &Value| serde_json::to_vec(document).expect("a value can be written");
        let same = number::same_value(&payload(doc), &payload(&original.document));
        let mut outcome = if same || rules.different == Different::Warn {
            let mut states = BTreeSet::new();
            if rules.same == Same::Reject {
                states.insert("EVENT_DUPLICATE_REJECTED".to_string());
            }
            if !same {
                states.insert("IDEMPOTENCY_MISMATCH".to_string());
            } else if bytes(doc) != bytes(&original.document) {
                states.insert("REENCODED".to_string());
            }
            let mut outcome = Outcome::refused("duplicate", "DUPLICATE_EVENT_ID", None);
            if !states.is_empty() {
                outcome.states = states;
            }
            outcome
        } else {
            Outcome::refused("conflict", "PAYLOAD_CONFLICT", None)
        };
        outcome.original_offset = Some(original.offset);
        Some(outcome)
    }

    fn remembers(&self, now: i64, entry: &Entry) -> bool {
        let Some(keep) = self.rules.identity.keep else {
            return true;
        };
        let from = match entry.observed_at {
            Some(observed) if IDENTITY_KEPT_FROM_LATER_TIME => observed.max(entry.ingested_at),
            Some(_) | None => entry.ingested_at,
        };
        age(now, from) <= i128::from(keep)
    }
}
