//! Reading an answer's fields for people: a field that is not there is an empty text.

use serde_json::Value;

/// The text at a pointer: strings as they are, lists joined, everything else as JSON.
pub(crate) fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).map(shown).unwrap_or_default()
}

/// The value at a pointer as JSON, for what people must write as JSON themselves.
pub(crate) fn json(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).map(Value::to_string).unwrap_or_default()
}

/// The number at a pointer, or zero.
pub(crate) fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or(0)
}

/// The list at a pointer, or an empty one.
pub(crate) fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// `yes` or nothing.
pub(crate) fn flag(value: &Value, pointer: &str) -> String {
    if value.pointer(pointer).and_then(Value::as_bool) == Some(true) { "yes".to_owned() } else { String::new() }
}

/// A value for people.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(list) if list.iter().all(Value::is_string) => list.iter().map(shown).collect::<Vec<_>>().join(" "),
        Value::Array(_) | Value::Object(_) | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{flag, text};

    #[test]
    fn a_field_that_is_not_there_is_an_empty_text() {
        let value = json!({ "a": { "b": "x" }, "n": 18446744073709551615_u64, "m": ["A", "B"], "z": null, "t": true });
        let found = ["/a/b", "/n", "/m", "/z", "/a/c"].map(|pointer| text(&value, pointer));
        assert_eq!(found, ["x", "18446744073709551615", "A B", "", ""]);
        assert_eq!([flag(&value, "/t"), flag(&value, "/z")], ["yes", ""]);
    }
}
