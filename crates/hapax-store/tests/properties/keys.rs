//! No separator makes two keys one, nothing is folded, and kinds of keys never meet.

use std::collections::BTreeMap;

use hapax_core::event::{Identity, NonceKey};
use proptest::prelude::*;

use super::cases;

/// Names made of what people separate names with, and of letters that differ in case or spelling alone.
fn name() -> impl Strategy<Value = String> {
    "[aA:/| \u{1f}é]{1,3}"
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn different_names_have_different_keys(names in prop::collection::vec((name(), name()), 2..40)) {
        let mut seen: BTreeMap<[u8; 32], String> = BTreeMap::new();
        for (lane, id) in &names {
            let keys = [
                (Identity::of(None, id).0, format!("id {id:?}")),
                (Identity::of(Some(lane), id).0, format!("lane {lane:?} id {id:?}")),
                (NonceKey::of(lane, id).0, format!("lane {lane:?} nonce {id:?}")),
                (Identity::of_correction(id).0, format!("correction {id:?}")),
                (Identity::of_closing(lane, None, id).0, format!("closing {lane:?} {id:?}")),
                (Identity::of_closing(lane, Some(id), "all").0, format!("closing {lane:?} of the key {id:?}")),
            ];
            for (key, what) in keys {
                let other = seen.insert(key, what.clone()).filter(|other| *other != what);
                prop_assert_eq!(other, None, "has the key of {}", what);
            }
        }
    }
}
