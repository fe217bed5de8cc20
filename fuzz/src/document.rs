//! Any bytes as a document: read or refused, never a panic; what is read is the same when it is read again, a document has
//! the same payload as itself, and a number prints as what it is. What we take for JSON, another parser does as well.

use hapax_core::json::{Kind, parse};
use hapax_core::number::Number;
use hapax_core::payload::{PayloadRules, same};
use hapax_core::value::Value;
use serde_json::value::RawValue;

/// Checks it.
pub fn check(input: &[u8]) {
    let Ok(document) = parse(input) else { return };
    assert!(serde_json::from_slice::<&RawValue>(input).is_ok(), "what is JSON here is JSON elsewhere");
    let root = document.root();
    if root.kind() == Kind::Number {
        let number = root.as_number().expect("a number reads as one");
        assert_eq!(Number::parse(&number.to_string()), Some(number), "and prints as itself");
    }
    let value = Value::from(root);
    let mut canonical = Vec::new();
    value.write_canonical(&mut canonical);
    let again = parse(&canonical).expect("the canonical form is JSON");
    let read = Value::from(again.root());
    assert_eq!(read, value, "and the same value");
    let mut twice = Vec::new();
    read.write_canonical(&mut twice);
    assert_eq!(twice, canonical, "with one canonical form");
    assert!(same(&PayloadRules::default(), &document, &again), "a document has the payload of its canonical form");
}
