use sha2::{Digest as _, Sha256};

use super::*;

/// What is stored was hashed by these rules; another value would make every id new.
#[test]
fn an_identity_is_what_it_always_was() {
    let hex = |digest: Digest| digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let of = |text: &[u8]| hex(Sha256::digest(text).into());
    assert_eq!(hex(Identity::of(None, "e-1").0), of(b"hapax.id.v1\0\0\0\0\0\0\0\x03e-1"));
    assert_eq!(hex(NonceKey::of("a", "n").0), of(b"hapax.nonce.v1\0\0\0\0\0\0\0\x01a\0\0\0\0\0\0\0\x01n"));
    let own = of(b"hapax.id.lane.v1\0\0\0\0\0\0\0\x01a\0\0\0\0\0\0\0\x03e-1");
    let lane = hex(Identity::of(Some("a"), "e-1").0);
    assert_eq!((&lane[..16], &lane[16..]), (&hex(Identity::of(None, "e-1").0)[..16], &own[..48]));
}
