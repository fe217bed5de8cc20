//! How much memory a call asks for at once: nothing is allocated by a length that only somebody says.
//!
//! The one `unsafe` of this workspace, and no part of the product: an allocator is one by nature. It hands everything on to
//! the system's, and remembers the largest request.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

struct Watched;

#[global_allocator]
static WATCHED: Watched = Watched;

static LARGEST: AtomicUsize = AtomicUsize::new(0);

fn note(bytes: usize) {
    LARGEST.fetch_max(bytes, Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        note(bytes);
        unsafe { System.realloc(at, layout, bytes) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}

/// Does something that must not ask for more than this at once.
pub(crate) fn at_most<T>(bytes: usize, what: impl FnOnce() -> T) -> T {
    LARGEST.store(0, Ordering::Relaxed);
    let done = what();
    let largest = LARGEST.load(Ordering::Relaxed);
    assert!(largest <= bytes, "{largest} bytes were asked for at once, and {bytes} are enough");
    done
}
