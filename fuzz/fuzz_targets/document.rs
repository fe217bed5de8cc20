//! Any bytes as a document: read or refused, never a panic; what is read is the same when it is read again, a document has
//! the same payload as itself, and a number prints as what it is.

#![no_main]

use hapax_core::json::{Kind, parse};
use hapax_core::number::Number;
use hapax_core::payload::{PayloadRules, same};
use hapax_core::value::Value;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Ok(document) = parse(input) else { return };
    let root = document.root();
    if root.kind() == Kind::Number {
        let number = root.as_number().expect("a number reads as one");
        assert_eq!(Number::parse(&number.to_string()), Some(number), "and prints as itself");
    }
    let value = Value::from(root);
    let mut canonical = Vec::new();
    value.write_canonical(&mut canonical);
    let again = parse(&canonical).expect("the canonical form is JSON");
    assert_eq!(Value::from(again.root()), value, "and the same value");
    assert!(same(&PayloadRules::default(), &document, &again), "a document has the payload of its canonical form");
});
