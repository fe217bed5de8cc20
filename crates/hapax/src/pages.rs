//! How large the pages of this process's memory are.
//!
//! The allocator asks for large ones (2 MiB). With many ids that is right: they are looked up all over the index, and with small
//! pages the last of 25 million took a fifth longer. With few it is not: a page is cleared when it is first touched, a large one
//! all at once, and on a virtual machine whoever touches it stands still for milliseconds.

use std::sync::atomic::{AtomicBool, Ordering};

/// With so many ids the pages are large.
const MANY: u64 = 8 << 20;

/// Are they small by now?
static SMALL: AtomicBool = AtomicBool::new(false);

/// Has what is touched from now on lie in pages that fit so many ids. A system that cannot do that stays as it is.
pub(crate) fn fit(ids: u64) {
    let small = ids < MANY;
    if SMALL.swap(small, Ordering::Relaxed) != small {
        _ = rustix::thread::disable_transparent_huge_pages(small);
    }
}
