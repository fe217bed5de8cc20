//! The JSON Pointer of a byte, read off a tape that may be unfinished. Only refusals pay for it.

use super::{Cell, Kind, text};

/// The pointer of the innermost value that holds the byte `at`, or that was being read when the scanner stopped there.
pub(super) fn pointer(source: &str, cells: &[Cell], at: usize) -> String {
    let mut out = String::new();
    let mut here = 0;
    while let Some(cell) = cells.get(here).copied() {
        if !cell.is_container() || !(cell.is_open() || at < cell.end as usize) {
            break;
        }
        let is_object = cell.kind() == Kind::Object;
        let Some((index, child)) = last_child_before(cells, here, is_object, at) else { break };
        let value = if is_object { child + 1 } else { child };
        // Behind a finished value the fault belongs to the container: a key or a comma was being read.
        if cells.get(value).is_some_and(|cell| !cell.is_open() && cell.end as usize <= at) {
            break;
        }
        out.push('/');
        if is_object {
            push_token(&mut out, &text::unescape(cells[child].inner(source)));
        } else {
            out.push_str(&index.to_string());
        }
        here = value;
    }
    out
}

/// The last child that begins at or before `at`: a key's cell in an object, an item's in an array.
fn last_child_before(cells: &[Cell], parent: usize, is_object: bool, at: usize) -> Option<(usize, usize)> {
    let end = if cells[parent].is_open() { cells.len() } else { cells[parent].next as usize };
    let mut found = None;
    let mut child = parent + 1;
    let mut index = 0;
    while child < end && cells[child].start as usize <= at {
        found = Some((index, child));
        let value = if is_object { child + 1 } else { child };
        match cells.get(value) {
            Some(cell) if !cell.is_open() => child = cell.next as usize,
            Some(_) | None => break,
        }
        index += 1;
    }
    found
}

fn push_token(out: &mut String, token: &str) {
    for char in token.chars() {
        match char {
            '~' => out.push_str("~0"),
            '/' => out.push_str("~1"),
            other => out.push(other),
        }
    }
}
