//! Walking over rows in the order of an index, some at a time: a page is what a [`scan`] takes of the walk.
//!
//! So a page here ends where one of the store in memory does, and no statement is larger than a chunk.

use std::cell::Cell;

use crate::seam::{Page, SCAN_MAX, StoreError};
use crate::state::scan;

/// Rows that one statement reads, at most.
pub(super) const CHUNK: usize = 1_000;

/// How many rows to read at once for a page of so many: one more shows whether there are more.
pub(super) fn chunk(limit: usize, filtered: bool) -> usize {
    if filtered { CHUNK } else { limit.saturating_add(1).min(CHUNK) }
}

/// Why a walk ended early, if it did.
#[derive(Default)]
pub(super) struct Failure(Cell<Option<StoreError>>);

impl Failure {
    /// What was found, if nothing failed on the way.
    pub(super) fn or<T>(self, found: T) -> Result<T, StoreError> {
        self.0.into_inner().map_or(Ok(found), Err)
    }
}

/// Everything that `fetch` finds: after the place of the last, at most so many at once, until it finds fewer.
pub(super) fn walk<T, N>(
    size: usize,
    failure: &Failure,
    place: impl Fn(&T) -> N,
    mut fetch: impl FnMut(Option<&N>, i64) -> Result<Vec<T>, StoreError>,
) -> impl Iterator<Item = T> {
    let mut last = None;
    let mut is_over = false;
    let mut ready = Vec::new().into_iter();
    std::iter::from_fn(move || {
        if let Some(item) = ready.next() {
            return Some(item);
        }
        if is_over {
            return None;
        }
        // A chunk is small, so its size is one.
        let found = fetch(last.as_ref(), size as i64).unwrap_or_else(|error| {
            failure.0.set(Some(error));
            Vec::new()
        });
        is_over = found.len() < size;
        last = found.last().map(&place).or(last.take());
        ready = found.into_iter();
        ready.next()
    })
}

/// A page of all that `fetch` finds and `takes` takes.
pub(super) fn page<T, N>(
    limit: usize,
    filtered: bool,
    place: impl Fn(&T) -> N,
    takes: impl Fn(&T) -> bool,
    fetch: impl FnMut(Option<&N>, i64) -> Result<Vec<T>, StoreError>,
) -> Result<Page<T, N>, StoreError> {
    let failure = Failure::default();
    let found =
        scan(walk(chunk(limit, filtered), &failure, &place, fetch), limit, SCAN_MAX, &place, takes, |item| item);
    failure.or(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers up to so many, and how often was asked.
    fn numbers(up_to: u64, asked: &Cell<usize>) -> impl FnMut(Option<&u64>, i64) -> Result<Vec<u64>, StoreError> {
        move |after, count| {
            asked.set(asked.get() + 1);
            let first = after.map_or(1, |after| after + 1);
            Ok((first..=up_to).take(usize::try_from(count).expect("it is small")).collect())
        }
    }

    #[test]
    fn a_page_is_that_of_the_store_in_memory() {
        for (up_to, limit) in [(0, 3), (2, 3), (3, 3), (4, 3), (2_500, 2_400), (2_500, usize::MAX), (5, 0)] {
            for divisor in [1, 2, 700] {
                let asked = Cell::new(0);
                let takes = |number: &u64| number.is_multiple_of(divisor);
                let found = page(limit, divisor > 1, |it| *it, takes, numbers(up_to, &asked)).expect("nothing fails");
                assert_eq!(
                    found,
                    scan(1..=up_to, limit, SCAN_MAX, |it| *it, takes, |it| it),
                    "{up_to} {limit} {divisor}"
                );
            }
        }
    }

    #[test]
    fn a_filter_looks_at_no_more_than_it_may() {
        let asked = Cell::new(0);
        let found = page(10, true, |it| *it, |_| false, numbers(1_000_000, &asked)).expect("nothing fails");
        assert_eq!((found.items.len(), found.next), (0, Some(SCAN_MAX as u64)));
        // The one after the last shows that there are more.
        assert_eq!(asked.get(), SCAN_MAX / CHUNK + 1);
    }

    #[test]
    fn a_page_is_one_statement() {
        let asked = Cell::new(0);
        let found = page(10, false, |it| *it, |_| true, numbers(1_000, &asked)).expect("nothing fails");
        assert_eq!((found.items.len(), found.next, asked.get()), (10, Some(10), 1));
    }

    #[test]
    fn a_failure_on_the_way_is_the_answer() {
        let mut left = 2;
        let fetch = |after: Option<&u64>, count: i64| {
            left -= 1;
            let first = after.map_or(1, |after| after + 1);
            if left > 0 { Ok((first..).take(count as usize).collect()) } else { Err(StoreError::Full) }
        };
        assert_eq!(page(usize::MAX, false, |it| *it, |_| true, fetch), Err(StoreError::Full));
    }
}
