//! SHA-256 of what a JSON value says, whatever its layout, the order of its keys or the way its numbers are printed.
//!
//! A value is hashed as one byte for its kind and its content: `n` null, `t` true, `f` false, `d` a number as the eight
//! bytes of its double, `s` a text as its length and its UTF-8 bytes, `a` a list as its length and its values, `o` an object
//! as its length and its keys (as texts) and values in the order of the keys' bytes. Numbers and lengths are little-endian,
//! lengths of eight bytes.

use serde_json::Value;
use sha2::{Digest, Sha256};

pub(super) fn checksum(value: &Value) -> String {
    let mut hash = Sha256::new();
    add(&mut hash, value);
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn add(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Null => hash.update(b"n"),
        Value::Bool(true) => hash.update(b"t"),
        Value::Bool(false) => hash.update(b"f"),
        Value::Number(number) => {
            hash.update(b"d");
            hash.update(number.as_f64().unwrap_or(f64::NAN).to_le_bytes());
        }
        Value::String(text) => add_text(hash, text),
        Value::Array(values) => {
            add_length(hash, b"a", values.len());
            values.iter().for_each(|value| add(hash, value));
        }
        Value::Object(members) => {
            let mut sorted: Vec<(&String, &Value)> = members.iter().collect();
            sorted.sort_unstable_by_key(|(key, _)| key.as_bytes());
            add_length(hash, b"o", sorted.len());
            for (key, value) in sorted {
                add_text(hash, key);
                add(hash, value);
            }
        }
    }
}

fn add_text(hash: &mut Sha256, text: &str) {
    add_length(hash, b"s", text.len());
    hash.update(text);
}

fn add_length(hash: &mut Sha256, kind: &[u8; 1], length: usize) {
    hash.update(kind);
    hash.update((length as u64).to_le_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> String {
        checksum(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn layout_order_and_spelling_of_numbers_do_not_matter() {
        let one = of(r#"{"a":[1,0.00001,null],"é":{"x":true,"y":"z"}}"#);
        assert_eq!(one, of("{ \"\\u00e9\" : {\"y\":\"z\", \"x\":true},\n\"a\":[1.0, 1e-5, null] }"));
        for other in [
            r#"{"a":[1,0.00001,null],"é":{"x":true,"y":"Z"}}"#,
            r#"{"a":[1,0.000010000000000000002,null],"é":{"x":true,"y":"z"}}"#,
            r#"{"a":[0.00001,1,null],"é":{"x":true,"y":"z"}}"#,
            r#"{"a":[[1],0.00001,null],"é":{"x":true,"y":"z"}}"#,
            r#"{"a":[1,0.00001],"é":{"x":true,"y":"z"}}"#,
        ] {
            assert_ne!(one, of(other));
        }
    }

    /// The bytes by hand, and their SHA-256 by the library.
    #[test]
    fn the_bytes_are_those_of_the_documentation() {
        let mut bytes = b"o\x01\0\0\0\0\0\0\0s\x01\0\0\0\0\0\0\0ka\x02\0\0\0\0\0\0\0d".to_vec();
        bytes.extend(1.5f64.to_le_bytes());
        bytes.extend(b"f");
        let expected: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(of(r#"{"k":[1.5,false]}"#), expected);
    }
}
