//! What the bytes of a log say, by the tables of its format and nothing else. Slow, simple, and not the product's.

use sha2::{Digest as _, Sha256};

use super::super::damage::{Files, number};
use super::Pair;

/// What the bytes say.
pub(super) struct Said {
    /// The frames from the first on, as long as each is whole and continues the one before.
    pub(super) frames: Vec<Pair>,
    /// The last frame that the witness names; 0 if it names none.
    pub(super) witnessed: u64,
}

pub(super) fn read(files: &Files) -> Said {
    let mut said = Said { frames: Vec::new(), witnessed: 0 };
    let mut segments: Vec<(u64, &[u8])> = files
        .iter()
        .filter_map(|(name, bytes)| {
            Some((name.strip_prefix("log/")?.strip_suffix(".seg")?.parse().ok()?, bytes.as_deref()?))
        })
        .collect();
    segments.sort();
    let Some((_, first)) = segments.first() else { return said };
    let Some(id) = mark(first, b"HxSg").map(|_| &first[8..24]) else { return said };
    let witness = files.iter().find(|(name, _)| name == "log/witness").and_then(|(_, bytes)| bytes.as_deref());
    for slot in witness.unwrap_or_default().chunks(512).take(2) {
        if let Some(named) = mark(slot, b"HxWi").filter(|_| slot[8..24] == *id) {
            said.witnessed = said.witnessed.max(named);
        }
    }
    let mut link: [u8; 32] = Sha256::digest(id).into();
    for (named, bytes) in segments {
        let next = said.frames.len() as u64 + 1;
        if mark(bytes, b"HxSg") != Some(named) || named != next || bytes[8..24] != *id || bytes[32..64] != link {
            break;
        }
        let mut at = 512;
        while let Some((pair, own, extent)) =
            bytes.get(at..).and_then(|it| frame(it, id, said.frames.len() as u64 + 1, &link))
        {
            said.frames.push(pair);
            link = own;
            at += extent;
        }
    }
    said
}

/// The frame that a segment's header or a slot of the witness names, if it is one.
fn mark(bytes: &[u8], magic: &[u8; 4]) -> Option<u64> {
    let bytes = bytes.get(..512)?;
    let is_whole = number::<4>(bytes, 508) == u64::from(crc32fast::hash(&bytes[..508]));
    (bytes.starts_with(magic) && number::<2>(bytes, 4) == 1 && is_whole).then(|| number::<8>(bytes, 24))
}

/// A frame that is whole: its sections, its link, and how far it is to the next.
fn frame(bytes: &[u8], id: &[u8], expected: u64, link: &[u8; 32]) -> Option<(Pair, [u8; 32], usize)> {
    let head = bytes.get(..72)?;
    let sum = |parts: &[&[u8]]| u64::from(crc32fast::hash(&parts.concat()));
    let is_head = head.starts_with(b"HxFr") && number::<4>(head, 68) == sum(&[id, &head[..68]]);
    let continues = number::<2>(head, 4) == 1 && number::<8>(head, 8) == expected && head[16..48] == *link;
    if !is_head || !continues {
        return None;
    }
    let (lasting, expiring) = (number::<4>(head, 48) as usize, number::<4>(head, 56) as usize);
    let whole = 72 + lasting + expiring;
    let sections = bytes.get(72..whole)?;
    let (lasting, expiring) = sections.split_at(lasting);
    if number::<4>(head, 52) != sum(&[lasting]) || number::<4>(head, 60) != sum(&[expiring]) {
        return None;
    }
    let mut linked = head[..56].to_vec();
    linked[6..8].fill(0);
    Some(((lasting.to_vec(), expiring.to_vec()), Sha256::digest(linked).into(), whole.next_multiple_of(512)))
}
