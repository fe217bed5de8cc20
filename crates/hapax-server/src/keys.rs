//! Keys: 256 random bits that are shown once. What is kept is their hash, so nothing that is stored lets anybody in.

use std::sync::Arc;

use hapax_core::access::{Access, Rates};
use hapax_core::event::{Digest, digest};
use hapax_core::time::Time;
use hapax_store::seam::Key;
use subtle::ConstantTimeEq;

use crate::clock::random;

/// What a key begins with, so that people and scanners recognise one that leaked.
const PREFIX: &str = "hapax_";

/// A new key, to be shown once, and its record.
pub fn make(tenant: Arc<str>, access: Access, rates: Rates, note: Option<Arc<str>>, now: Time) -> (String, Key) {
    let secret = format!("{PREFIX}{}", hex(&random::<32>()));
    let id = Arc::from(format!("k_{}", hex(&random::<8>())));
    let hash = hash(&secret);
    (secret, Key { id, tenant, hash, access, rates, note, created_at: now, revoked_at: None })
}

/// What a key is looked up by.
pub fn hash(secret: &str) -> Digest {
    digest(secret.as_bytes())
}

/// Does the record belong to this hash, and is it in force?
pub fn opens(key: &Key, hash: &Digest) -> bool {
    bool::from(key.hash.ct_eq(hash)) && key.revoked_at.is_none()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
