use proptest::prelude::*;

use super::*;
use crate::codec::tests::{any, encoded, usual};
use crate::embedded::disk::{Disk as _, SimDisk};
use crate::seam::Write;

type File = <SimDisk as crate::embedded::disk::Disk>::File;

/// Where the section begins in the file.
const AT: u64 = 100;

/// A file with the section of a commit in it, and the cards with its own.
fn written(write: &Write) -> (SimDisk, Cards<File>, Vec<u8>) {
    let (disk, section) = (SimDisk::new(1), encoded(write).lasting);
    disk.create("segment").expect("a file").write_at(AT, &section).expect("written");
    let cards = Cards::new(1 << 20);
    cards.add(FrameNumber(1), &spot(1), Some(&directory(&section)), || disk.open("segment").ok());
    (disk, cards, section)
}

fn directory(section: &[u8]) -> Arc<Directory> {
    Arc::new(Directory::of(section).expect("a directory"))
}

fn spot(segment: u64) -> Spot {
    Spot { segment: FrameNumber(segment), at: AT }
}

fn entries(write: &Write) -> Vec<Arc<Entry>> {
    write.streams.iter().flat_map(|stream| stream.changes.entries.iter().cloned()).collect()
}

proptest! {
    #[test]
    fn every_entry_is_found_with_the_card_of_its_frame(write in any::write()) {
        let (_disk, cards, _) = written(&write);
        let card = cards.get(FrameNumber(1)).expect("its card");
        let mut room = Vec::new();
        for (index, entry) in (0..).zip(entries(&write)) {
            let led = card.entry(index, &entry.identity, &mut room);
            prop_assert!(matches!(led, Led::To(found) if found == entry), "the {index}th of {write:?}");
            let other = Identity(entry.identity.0.map(|byte| !byte));
            prop_assert!(matches!(card.entry(index, &other, &mut room), Led::Elsewhere));
        }
    }
}

#[test]
fn no_changed_byte_of_a_record_is_taken_for_an_entry() {
    let write = usual::write(3, 1);
    let (disk, cards, section) = written(&write);
    let (card, mut room) = (cards.get(FrameNumber(1)).expect("its card"), Vec::new());
    let file = disk.open("segment").expect("the file");
    let wanted = entries(&write).swap_remove(1);
    let range = card.directory.range(1).expect("a range");
    for at in range {
        for bit in 0..8 {
            file.write_at(AT + at as u64, &[section[at] ^ (1 << bit)]).expect("written");
            assert!(matches!(card.entry(1, &wanted.identity, &mut room), Led::Astray), "bit {bit} of byte {at}");
        }
        file.write_at(AT + at as u64, &[section[at]]).expect("written");
    }
    assert!(matches!(card.entry(1, &wanted.identity, &mut room), Led::To(_)));
    assert!(matches!(card.entry(3, &wanted.identity, &mut room), Led::Astray), "there are three");
}

#[test]
fn memory_is_bounded_and_the_oldest_goes_first() {
    let (disk, section) = (SimDisk::new(1), encoded(&usual::write(10, 2)).lasting);
    disk.create("segment").expect("a file").write_at(AT, &section).expect("written");
    let one = Directory::of(&section).expect("a directory").bytes() + size_of::<Card<File>>();
    let cards: Cards<File> = Cards::new(one * 3);
    let add = |frame| cards.add(FrameNumber(frame), &spot(1), Some(&directory(&section)), || disk.open("segment").ok());
    let there = || (1..20).filter(|frame| cards.get(FrameNumber(*frame)).is_some()).collect::<Vec<_>>();
    (1..=5).for_each(add);
    assert_eq!(there(), [3, 4, 5]);
    cards.forget(&(FrameNumber(4)..=FrameNumber(9)));
    assert_eq!(there(), [3]);
    (6..=7).for_each(add);
    assert_eq!(there(), [3, 6, 7], "what was forgotten takes no room");
    add(9);
    assert_eq!(there(), [9], "frames are in a row");
}
