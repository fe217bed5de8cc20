//! The simulated disk is as bad as it says, and the real one keeps to the same contract.

use std::collections::BTreeSet;
use std::io::ErrorKind;

use super::*;

/// What is left of a file of three sectors of ones, written over with twos and not synced, for many seeds.
fn left_after(act: impl Fn(&SimDisk, &<SimDisk as Disk>::File)) -> BTreeSet<Vec<u8>> {
    let left = |seed| {
        let disk = SimDisk::new(seed);
        let file = disk.create("file").unwrap();
        file.write_at(0, &[1; 1536]).unwrap();
        file.sync_data().unwrap();
        disk.sync_dir("").unwrap();
        file.write_at(0, &[2; 1536]).unwrap();
        act(&disk, &file);
        disk.power_cut();
        disk.contents("file").unwrap()
    };
    (0..200).map(left).collect()
}

#[test]
fn what_was_synced_survives_a_power_cut() {
    assert_eq!(left_after(|_, file| file.sync_data().unwrap()), [vec![2; 1536]].into());
}

#[test]
fn an_unsynced_sector_is_kept_lost_or_torn_by_itself() {
    let left = left_after(|_, _| {});
    for first in [1, 2] {
        for second in [1, 2] {
            assert!(left.iter().any(|it| it[..512] == [first; 512] && it[512..1024] == [second; 512]));
        }
    }
    assert!(left.iter().any(|it| it[..512].contains(&1) && it[..512].contains(&2)), "torn");
    assert!(left.iter().flatten().all(|it| [1, 2].contains(it)), "old bytes or new ones, never others");
}

#[test]
fn a_sync_after_a_failed_one_succeeds_and_the_data_is_gone() {
    let left = left_after(|disk, file| {
        disk.fail(1, Fault::Eio);
        assert!(file.sync_data().is_err());
        file.sync_data().unwrap();
    });
    assert!(left.iter().any(|it| it[..512] == [1; 512]));
}

#[test]
fn what_a_killed_process_wrote_is_still_there() {
    let disk = SimDisk::new(1);
    let file = disk.create("file").unwrap();
    file.write_at(0, b"here").unwrap();
    disk.kill();
    assert!(file.write_at(0, b"gone").is_err(), "its files are closed");
    assert_eq!(disk.contents("file").unwrap(), b"here");
}

#[test]
fn an_unsynced_name_may_be_lost_and_a_rename_is_whole() {
    let mut seen = BTreeSet::new();
    for seed in 0..100 {
        let disk = SimDisk::new(seed);
        disk.create("old").unwrap();
        disk.sync_dir("").unwrap();
        disk.rename("old", "new").unwrap();
        disk.power_cut();
        seen.insert(disk.files());
    }
    assert_eq!(seen, [vec!["old".to_owned()], vec!["new".to_owned()]].into());
}

#[test]
fn a_crash_stops_everything_until_the_restart() {
    let disk = SimDisk::new(1);
    let file = disk.create("file").unwrap();
    disk.fail(2, Fault::Crash);
    file.write_at(0, b"1").unwrap();
    assert!(file.write_at(1, b"2").is_err());
    assert!(disk.list("").is_err());
    assert!(disk.create("more").is_err());
    disk.power_cut();
    assert!(disk.list("").is_ok());
}

#[test]
fn the_same_seed_gives_the_same_disk() {
    let run = |seed| {
        let disk = SimDisk::new(seed);
        let file = disk.create("file").unwrap();
        disk.sync_dir("").unwrap();
        file.write_at(0, &[7; 4000]).unwrap();
        disk.power_cut();
        disk.contents("file")
    };
    assert!((0..20).all(|seed| run(seed) == run(seed)));
}

/// What any disk does with a file.
fn keeps_the_contract(disk: &impl Disk) {
    disk.create_dir("dir").unwrap();
    let file = disk.create("dir/file").unwrap();
    assert_eq!(disk.create("dir/file").err().unwrap().kind(), ErrorKind::AlreadyExists);
    assert_eq!(disk.open("dir/none").err().unwrap().kind(), ErrorKind::NotFound);
    file.allocate(3000).unwrap();
    assert_eq!(file.size().unwrap(), 3000);
    file.write_at(2998, b"abcd").unwrap();
    file.sync_data().unwrap();
    let mut bytes = [9; 6];
    file.read_at(2996, &mut bytes).unwrap();
    assert_eq!(&bytes, b"\0\0abcd");
    assert_eq!(file.read_at(2997, &mut bytes).unwrap_err().kind(), ErrorKind::UnexpectedEof);
    file.set_len(2999).unwrap();
    assert_eq!(file.size().unwrap(), 2999);
    disk.create("dir/other").unwrap();
    disk.rename("dir/file", "dir/other").unwrap();
    assert_eq!(disk.list("dir").unwrap(), ["other"]);
    assert_eq!(disk.open("dir/other").unwrap().size().unwrap(), 2999);
    assert_eq!(disk.remove_dir("dir").unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
    disk.remove("dir/other").unwrap();
    disk.sync_dir("dir").unwrap();
    disk.remove_dir("dir").unwrap();
    disk.sync_dir("").unwrap();
    assert!(disk.free_space().unwrap() > 0);
    let lock = disk.lock().unwrap();
    assert_eq!(disk.lock().err().unwrap().kind(), ErrorKind::WouldBlock);
    drop(lock);
    disk.lock().unwrap();
}

#[test]
fn both_disks_keep_the_same_contract() {
    keeps_the_contract(&SimDisk::new(1));
    let dir = tempfile::tempdir().unwrap();
    keeps_the_contract(&RealDisk::at(dir.path().join("made")).unwrap());
}

/// What goes past the cache and what goes through it are the same file, also to one who has read it before.
#[test]
fn a_real_file_is_one_file_whichever_way_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let file = RealDisk::at(dir.path()).unwrap().create("file").unwrap();
    let mut expected = vec![0; 64 << 10];
    file.allocate(expected.len() as u64).unwrap();
    let read = || {
        let mut bytes = vec![1; 64 << 10];
        file.read_at(0, &mut bytes).unwrap();
        bytes
    };
    assert_eq!(read(), expected);
    for (round, (at, length)) in
        [(512, 1024), (1536, 4096), (5632, 512), (700, 33), (0, 512), (8192, 40_960)].into_iter().enumerate()
    {
        let bytes = vec![round as u8 + 2; length];
        let mut sectors = Sectors::default();
        sectors.begin(length);
        sectors.put(&bytes);
        file.write_past(at, sectors.bytes()).unwrap();
        expected[at as usize..at as usize + length].copy_from_slice(&bytes);
        assert_eq!(read(), expected, "after {length} bytes at {at}");
    }
    file.sync_data().unwrap();
    assert_eq!(std::fs::read(dir.path().join("file")).unwrap(), expected);
}
