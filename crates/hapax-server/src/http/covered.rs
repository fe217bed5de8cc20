//! Lists of named things, as far as the caller's key covers them.
//!
//! What holds: neither the list nor its `next` names anything that the key does not cover, and `next` is there exactly if
//! something that it covers follows. So a confined key reads on until it has its page; that is its own time.

use std::sync::Arc;

use hapax_core::problem::Problem;
use hapax_store::seam::{Page, StoreError};

use super::{Call, unread};

/// A page of what is covered. `reads` is asked for what follows a name.
pub(super) fn covered<T>(
    call: &Call,
    is_confined: bool,
    name: impl Fn(&T) -> Arc<str>,
    covers: impl Fn(&T) -> bool,
    mut reads: impl FnMut(&str, usize) -> Result<Page<T, Arc<str>>, StoreError>,
) -> Result<Page<T, Arc<str>>, Problem> {
    let limit = call.limit()?;
    let after = call.query("after").unwrap_or_default();
    if !is_confined {
        return reads(after, limit).map_err(unread);
    }
    tokio::task::block_in_place(|| {
        let mut after: Arc<str> = Arc::from(after);
        let mut found: Vec<T> = Vec::new();
        loop {
            let page = reads(&after, limit).map_err(unread)?;
            for item in page.items.into_iter().filter(|item| covers(item)) {
                if found.len() == limit {
                    let next = found.last().map(&name);
                    return Ok(Page { items: found, next });
                }
                found.push(item);
            }
            match page.next {
                Some(next) => after = next,
                None => return Ok(Page { items: found, next: None }),
            }
        }
    })
}
