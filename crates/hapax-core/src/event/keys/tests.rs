use proptest::prelude::*;

use super::*;

#[test]
fn a_digest_is_the_sha_256_at_every_length_of_a_block_and_its_padding() {
    let bytes: Vec<u8> = (0..300_u32).map(|at| (at * 7 + 3) as u8).collect();
    for length in 0..=bytes.len() {
        let expect: Digest = Sha256::digest(&bytes[..length]).into();
        assert_eq!(digest(&bytes[..length]), expect, "{length} bytes");
    }
}

proptest! {
    #[test]
    fn a_digest_is_the_sha_256(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let expect: Digest = Sha256::digest(&bytes).into();
        prop_assert_eq!(digest(&bytes), expect);
    }

    #[test]
    fn short_parts_hash_as_long_ones_do(domain in "[a-z.]{1,20}", parts in prop::collection::vec(".{0,60}", 0..4)) {
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        prop_assert_eq!(hash(domain.as_bytes(), &parts), hash_long(domain.as_bytes(), &parts));
    }
}

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
