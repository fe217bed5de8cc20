//! Format 1, byte by byte: what an earlier version has written must open for ever, and this one writes the same.

use super::*;
use crate::embedded::disk::SimDisk;

const FIXTURE: &str = include_str!("format1.txt");

fn written() -> Vec<Pair> {
    vec![
        (b"what lasts".to_vec(), b"what expires".to_vec()),
        (Vec::new(), b"only this".to_vec()),
        (b"x".repeat(600), Vec::new()),
        (b"in the second segment".to_vec(), b"!".to_vec()),
    ]
}

fn options() -> Options {
    Options { segment_bytes: 2560, reserve_bytes: 512, low_water_bytes: 0, check: Check::All }
}

/// A file a block: its name and length, then every row of sixteen bytes that is not all zeros.
fn dump(disk: &SimDisk) -> String {
    let mut text = String::new();
    for path in disk.files() {
        let bytes = disk.contents(&path).unwrap();
        text += &format!("{path} {}\n", bytes.len());
        for (row, bytes) in bytes.chunks(16).enumerate().filter(|it| it.1.iter().any(|it| *it != 0)) {
            let hex: String = bytes.iter().map(|it| format!("{it:02x}")).collect();
            text += &format!("{:04x} {hex}\n", row * 16);
        }
    }
    text
}

/// The directory that a dump is of.
fn restore(text: &str) -> SimDisk {
    let disk = SimDisk::new(0);
    disk.create_dir(DIR).unwrap();
    let mut file = None;
    for line in text.lines() {
        let (left, right) = line.split_once(' ').unwrap();
        if left.contains('/') {
            let made = disk.create(left).unwrap();
            made.allocate(right.parse().unwrap()).unwrap();
            file = Some(made);
        } else {
            let byte = |at: usize| u8::from_str_radix(&right[at..at + 2], 16).unwrap();
            let bytes: Vec<u8> = (0..right.len()).step_by(2).map(byte).collect();
            file.as_ref().unwrap().write_at(u64::from_str_radix(left, 16).unwrap(), &bytes).unwrap();
        }
    }
    disk
}

#[test]
fn format_1_is_written_as_it_always_was() {
    let (disk, log) = filled(options(), &written());
    log.close().unwrap();
    assert_eq!(dump(&disk), FIXTURE, "{}", dump(&disk));
}

#[test]
fn a_log_of_format_1_opens() {
    let (log, opened) = Log::open(restore(FIXTURE), options()).unwrap();
    assert_eq!(opened, Opened { frames: 4, cut: None, warnings: vec![] });
    assert_eq!(all(&log), written());
    assert_eq!(log.reader().segments().len(), 2);
}
