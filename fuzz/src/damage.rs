//! What a disk, or somebody with right checksums in mind, may do to files: a program of few instructions, read from any
//! bytes.
//!
//! An instruction is five bytes: what, to which file, at which byte (`u16`, little endian), and a value. Raw bytes would
//! hardly ever get past the first checksum; a good file with a wound does, and one that is sealed again gets past all.

/// Files by name; one that is gone has no bytes.
pub(crate) type Files = Vec<(String, Option<Vec<u8>>)>;

/// What a disk writes as one.
const SECTOR: usize = 512;
/// No file grows beyond this.
const BYTES_MAX: usize = 64 << 10;
/// No program has more instructions than this: the more wounds, the less each of them shows.
const INSTRUCTIONS_MAX: usize = 24;

/// Does to the files what a program says. `others` are files of the same names from elsewhere, whose bytes may turn up in
/// these; `seal` makes the checksum right of whatever is at a byte of a file, as thoroughly as the value says. Answers
/// whether anything was sealed.
pub(crate) fn suffer(
    files: &mut Files,
    others: &[Files],
    mut program: &[u8],
    seal: impl Fn(&str, &mut [u8], usize, u8),
) -> bool {
    let mut sealed = false;
    for _ in 0..INSTRUCTIONS_MAX {
        let Some((&[what, file, low, high, value], rest)) = program.split_first_chunk() else { break };
        program = rest;
        let at = usize::from(u16::from_le_bytes([low, high]));
        let count = files.len();
        let (name, bytes) = &mut files[usize::from(file) % count];
        let other = &others[usize::from(value) % others.len()];
        let other = other.iter().find(|(it, _)| it == name).and_then(|(_, bytes)| bytes.as_deref()).unwrap_or_default();
        let Some(inside) = bytes.as_mut() else { continue };
        let at = at % (inside.len() + 1);
        match what % 12 {
            0 => inside.get_mut(at).into_iter().for_each(|it| *it ^= 1 << (value % 8)),
            1 => inside.get_mut(at).into_iter().for_each(|it| *it = value),
            2 => inside.truncate(at),
            3 => inside.resize((inside.len() + usize::from(value) * 8).min(BYTES_MAX), value % 2),
            4 => sectors(inside, at, 1 + usize::from(value % 4)).fill(0),
            5 => {
                let from = usize::from(value) * SECTOR % (inside.len() + 1);
                let from = sectors(inside, from, 1).to_vec();
                over(inside, at / SECTOR * SECTOR, &from);
            }
            6 => {
                let from = other.get(at / SECTOR * SECTOR..).unwrap_or_default();
                over(inside, at / SECTOR * SECTOR, &from[..from.len().min(SECTOR)]);
            }
            7 => *inside = other.to_vec(),
            8 => {
                let (raw, rest) = program.split_at(program.len().min(usize::from(value % 64)));
                program = rest;
                over(inside, at, raw);
            }
            9 => {
                seal(name, inside, at, value);
                sealed = true;
            }
            10 if value == 0 => *bytes = None,
            10 => {}
            _ => {
                let second = usize::from(value) % count;
                let first = usize::from(file) % count;
                if files[second].1.is_some() {
                    let bytes = files[second].1.clone();
                    files[second].1 = std::mem::replace(&mut files[first].1, bytes);
                }
            }
        }
    }
    sealed
}

/// Some sectors from the one with this byte on, as far as the file goes.
fn sectors(bytes: &mut [u8], at: usize, count: usize) -> &mut [u8] {
    let from = at / SECTOR * SECTOR;
    let to = bytes.len().min(from + count * SECTOR);
    &mut bytes[from.min(to)..to]
}

/// Writes over what is there, as far as the file goes.
fn over(bytes: &mut [u8], at: usize, new: &[u8]) {
    bytes.iter_mut().skip(at).zip(new).for_each(|(old, new)| *old = *new);
}

/// A number in a file, little endian; zero beyond its end.
pub(crate) fn number<const N: usize>(bytes: &[u8], at: usize) -> u64 {
    let mut number = [0; 8];
    if let Some(found) = bytes.get(at..at + N) {
        number[..N].copy_from_slice(found);
    }
    u64::from_le_bytes(number)
}

/// Puts a checksum over what is there.
pub(crate) fn put_checksum(bytes: &mut [u8], at: usize, parts: &[&[u8]]) {
    let mut hasher = crc32fast::Hasher::new();
    parts.iter().for_each(|part| hasher.update(part));
    over(bytes, at, &hasher.finalize().to_le_bytes());
}
