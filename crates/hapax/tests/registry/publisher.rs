//! The part of a publisher: it copies the ledger to the bus, at least once, and remembers in a checkpoint how far it came.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use hapax_client::{Entry, Route};

use crate::part::{Part, Point, say};
use crate::target::Mark;

/// Where what was published stands, an entry a line.
pub fn bus(folder: &Path) -> PathBuf {
    folder.join("bus.ndjson")
}

/// How far the publisher came: an offset.
pub fn checkpoint(folder: &Path) -> Mark {
    Mark(folder.join("checkpoint"))
}

/// Publishes all that is in the stream now.
pub fn play(part: &Part) {
    let client = part.client();
    let checkpoint = checkpoint(&part.folder);
    let mut bus = OpenOptions::new().create(true).append(true).open(bus(&part.folder)).expect("the bus");
    let mut published = 0;
    let route = Route::stream(&part.stream, &["events"]);
    for raw in client.pages(route, "events", u64::MAX).after(checkpoint.get()) {
        let entry = Entry::read(raw.expect("an entry")).expect("an entry");
        bus.write_all(format!("{}\n", entry.raw.get()).as_bytes()).expect("room on the bus");
        bus.sync_data().expect("a disk");
        part.reach(Point::AfterPublish, &entry.id);
        checkpoint.set(entry.offset);
        published += 1;
    }
    say(&format!("published {published}"));
}
