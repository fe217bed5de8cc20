//! Requests with keys of their own: the same key and the same request get the same bytes.
//!
//! An answer is kept for 24 hours by the server's clock. Once any clock has shown more than that, nothing is demanded.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::Auditor;
use crate::check::Check;
use crate::plan::{DAY, Plan};
use crate::words::{Asked, Told, What};

/// Tenant, target and key.
type Scope = (usize, String, String);

/// What was told to whom.
#[derive(Debug, Default)]
pub(super) struct Requests(BTreeMap<Scope, Record>);

/// What was asked, when, and the answer.
type Kept = ([u8; 32], i64, u16, Arc<[u8]>);

#[derive(Debug)]
struct Record {
    /// Every request that was ever sent with this key, and when it first was.
    asked: BTreeMap<[u8; 32], i64>,
    told: Option<Kept>,
}

impl Requests {
    pub(super) fn asked(&mut self, plan: &Plan, asked: &Asked, now: i64) {
        let Some(scope) = scope(plan, asked) else { return };
        let record = self.0.entry(scope).or_insert_with(|| Record { asked: BTreeMap::new(), told: None });
        let first = record.asked.entry(asked.what.fingerprint()).or_insert(now);
        *first = now.min(*first);
    }
}

/// A dry run neither reads nor writes request records.
fn scope(plan: &Plan, asked: &Asked) -> Option<Scope> {
    if matches!(asked.what, What::Events { dry: true, .. }) {
        return None;
    }
    Some((asked.what.tenant(plan), asked.what.target(plan), asked.key.clone()?))
}

impl Auditor {
    /// Answers whether this very answer was told before.
    pub(super) fn answered(&mut self, asked: &Asked, now: i64, told: &Told, body: &Value, is_problem: bool) -> bool {
        let Some(scope) = scope(&self.plan, asked) else {
            if told.replayed {
                self.note(Check::Replay, format!("request {} has no key and was answered from memory", asked.number));
            }
            return false;
        };
        let fingerprint = asked.what.fingerprint();
        let max_now = self.max_now;
        let Some(record) = self.requests.0.get_mut(&scope) else { return false };
        if is_problem {
            if body["code"] == "IDEMPOTENCY_KEY_REUSED" && record.asked.len() < 2 {
                self.note(Check::Replay, format!("key {} was called used, and never was", scope.2));
            }
            return false;
        }
        let first = record.asked.get(&fingerprint).copied().unwrap_or(now);
        let same =
            |(before, _, status, bytes): &Kept| *before == fingerprint && *status == told.status && *bytes == told.body;
        let is_known = told.replayed && record.told.as_ref().is_some_and(same);
        let mut wrong = None;
        match record.told.as_ref().filter(|(_, at, ..)| max_now - at <= DAY) {
            Some(known) if same(known) => {}
            Some((before, _, status, bytes)) if *before == fingerprint => {
                let (one, other) = (String::from_utf8_lossy(bytes), String::from_utf8_lossy(&told.body));
                wrong = Some(format!("key {} got two answers: {status} {one}, {} {other}", scope.2, told.status));
            }
            Some(_) => wrong = Some(format!("key {} was good for two requests", scope.2)),
            None => {
                let at = if told.replayed { first } else { now };
                record.told = Some((fingerprint, at, told.status, Arc::clone(&told.body)));
            }
        }
        wrong.into_iter().for_each(|what| self.note(Check::Replay, what));
        is_known
    }
}
