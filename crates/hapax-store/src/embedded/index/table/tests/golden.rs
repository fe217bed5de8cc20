//! The bytes of a run are what they were: a change of format is a decision, and comes with a new number.

use sha2::{Digest, Sha256};

use super::*;

#[test]
fn the_same_records_make_the_same_bytes_as_ever() {
    let disk = SimDisk::new(1);
    let table = Table::open(disk.clone(), "ids", ID, small()).unwrap();
    let records: Vec<Record> = (0..200_u8).map(|it| record(Key([it.wrapping_mul(77); 20]), 1, it.into())).collect();
    table.insert(FrameNumber(1), &records);
    table.flush().unwrap();
    let path = "index/ids-00000000000000000000-00000000000000000001.run";
    let bytes = disk.contents(path).unwrap();
    assert_eq!(bytes.len(), 3 * 4096 + 2 * 32 + 7 * 64 + 4);
    let digest: String = Sha256::digest(&bytes).iter().map(|it| format!("{it:02x}")).collect();
    assert_eq!(digest, "cca07864106b3eaeda22ae462d35535b303e1a0e0dfdd12fdc9bdc73b9bc6071");
}
