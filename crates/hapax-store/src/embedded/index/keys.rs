//! The keys of the tables, byte by byte: the stream's number first, so that nothing of one stream is near another's.

use hapax_core::event::Identity;

use super::STREAM;
use super::table::Key;

/// What an identity is looked up by. Half of it is enough to find few; the entry itself says whether it is the one.
pub(crate) fn identity_key(stream: u32, identity: &Identity) -> Key {
    let mut key = [0; 20];
    key[..STREAM].copy_from_slice(&stream.to_be_bytes());
    key[STREAM..].copy_from_slice(&identity.0[..16]);
    Key(key)
}

/// What the attempts with an id are looked up by, whatever their lanes.
pub(crate) fn try_key(stream: u32, id: &str) -> Key {
    identity_key(stream, &Identity::of(None, id))
}

/// What the identities of an id begin with, whatever their lanes.
pub(crate) fn id_prefix(stream: u32, id: &str) -> [u8; STREAM + Identity::SHARED] {
    let mut prefix = [0; STREAM + Identity::SHARED];
    prefix.copy_from_slice(&try_key(stream, id).0[..STREAM + Identity::SHARED]);
    prefix
}

/// What an offset or the number of an attempt is looked up by; keys sort as numbers do.
pub(crate) fn number_key(stream: u32, number: u64) -> Key {
    let mut key = [0; 20];
    key[..STREAM].copy_from_slice(&stream.to_be_bytes());
    key[STREAM..STREAM + 8].copy_from_slice(&number.to_be_bytes());
    Key(key)
}

/// The number in such a key.
pub(crate) fn number_in(key: &Key) -> u64 {
    let mut number = [0; 8];
    number.copy_from_slice(&key.0[STREAM..STREAM + 8]);
    u64::from_be_bytes(number)
}
