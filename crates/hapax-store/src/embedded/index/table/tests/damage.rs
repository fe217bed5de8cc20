//! Damage: no flipped byte, no missing end and no lost sector changes an answer.

use super::script::*;
use super::*;

/// Two runs, the first of three blocks.
fn written() -> (SimDisk, Model) {
    let disk = SimDisk::new(1);
    let mut dice = Dice::new(1);
    let mut model = Model::default();
    let table = Table::open(disk.clone(), "ids", ID, small()).unwrap();
    for records in [300, 20] {
        let records: Vec<(Key, u32)> = (0..records).map(|it| (dice.key(), it)).collect();
        let frame = model.add(&records);
        table.insert(frame, &model.frames[frame.0 as usize - 1]);
        table.flush().unwrap();
    }
    assert_eq!(table.runs(), 2);
    (disk, model)
}

/// Is the table right, or else damaged?
fn is_right(disk: &SimDisk, model: &Model, dice: &mut Dice) -> bool {
    let checked = Table::open(disk.clone(), "ids", ID, small()).and_then(|it| model.check(&it, dice));
    match checked {
        Ok(()) => true,
        Err(TableError::Damaged(_)) => false,
        Err(TableError::Io(what)) => panic!("{what}"),
    }
}

#[test]
fn every_flipped_byte_is_damage_or_in_a_block_that_was_not_read() {
    let (disk, model) = written();
    let mut dice = Dice::new(2);
    for path in disk.files() {
        let bytes = disk.contents(&path).unwrap();
        let mut refused = 0;
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 1 << dice.below(8);
            disk.put(&path, &flipped);
            refused += usize::from(!is_right(&disk, &model, &mut dice));
        }
        disk.put(&path, &bytes);
        assert!(is_right(&disk, &model, &mut dice));
        assert!(refused > bytes.len() * 9 / 10, "{path}: {refused} of {}", bytes.len());
    }
}

#[test]
fn a_run_of_any_other_length_is_damage() {
    let (disk, model) = written();
    for path in disk.files() {
        let bytes = disk.contents(&path).unwrap();
        for length in 0..bytes.len() {
            disk.put(&path, &bytes[..length]);
            assert!(!is_right(&disk, &model, &mut Dice::new(3)), "{path}, {length}");
        }
        disk.put(&path, &[&bytes[..], &[0]].concat());
        assert!(!is_right(&disk, &model, &mut Dice::new(3)), "{path}");
        disk.put(&path, &bytes);
    }
}

#[test]
fn blocks_of_another_run_or_in_another_place_are_damage() {
    let (disk, model) = written();
    let path = disk.files()[0].clone();
    let bytes = disk.contents(&path).unwrap();
    let blocks: Vec<&[u8]> = bytes.chunks(4096).collect();
    let other = disk.contents(&disk.files()[1]).unwrap();
    for swapped in [
        [blocks[0], blocks[2], blocks[1], blocks[3], blocks[4]],
        [blocks[0], blocks[1], blocks[1], blocks[3], blocks[4]],
        [blocks[0], &other[4096..8192], blocks[2], blocks[3], blocks[4]],
    ] {
        disk.put(&path, &swapped.concat());
        assert!(!is_right(&disk, &model, &mut Dice::new(4)));
    }
}

#[test]
fn a_hole_in_the_frames_is_damage_and_a_missing_end_is_not() {
    let (disk, model) = written();
    let files = disk.files();
    let other = disk.fork(1);
    other.remove(&files[1]).unwrap();
    assert_eq!(Table::open(other.clone(), "ids", ID, small()).unwrap().flushed(), FrameNumber(1));
    assert!(is_right(&other, &model, &mut Dice::new(5)));
    disk.remove(&files[0]).unwrap();
    assert!(!is_right(&disk, &model, &mut Dice::new(5)));
}
