//! Planted bugs: a turn that is not one commit. Nothing calls this without the feature `planted`.

use hapax_core::facts::Changes;
use hapax_core::planted;

use crate::seam::{Commits, Store, StoreError, StreamWrite, Write};

/// Commits a turn in two pieces, or not at all.
pub(super) fn commit(store: &mut impl Store, mut write: Write) -> Result<(), StoreError> {
    if planted!(RefusalsNotWritten) && accepts_nothing(&write) {
        return Ok(());
    }
    let mut apart = Write::default();
    if planted!(RequestRecordedFirst) && !write.requests.is_empty() {
        apart = Write { rests_on: write.rests_on, requests: std::mem::take(&mut write.requests), ..apart };
        write.rests_on = write.rests_on.map(|commits| Commits(commits.0 + 1));
    }
    if planted!(CountersApart) {
        apart.streams = write.streams.iter_mut().filter_map(counters).collect();
    }
    let (first, second) = if planted!(RequestRecordedFirst) { (apart, write) } else { (write, apart) };
    [first, second].into_iter().filter(|it| !it.is_empty()).try_for_each(|it| store.commit(it))
}

fn accepts_nothing(write: &Write) -> bool {
    let only_refuses = |stream: &StreamWrite| stream.changes.entries.is_empty() && !stream.changes.attempts.is_empty();
    !write.streams.is_empty() && write.streams.iter().all(only_refuses)
}

fn counters(stream: &mut StreamWrite) -> Option<StreamWrite> {
    let counters = std::mem::take(&mut stream.changes.counters);
    let changes = Changes { counters, ..Changes::default() };
    let (key, before) = (stream.key.clone(), stream.after);
    changes.is_any().then_some(StreamWrite { key, before, after: before, version: None, changes })
}
