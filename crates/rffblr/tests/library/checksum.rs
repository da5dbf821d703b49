//! The checksum of a model file, for tests that change one.

use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// What docs/model-file.md says of the checksum, written again.
pub fn checksum(value: &Value) -> String {
    fn text(bytes: &mut Vec<u8>, text: &str) {
        bytes.push(b's');
        bytes.extend((text.len() as u64).to_le_bytes());
        bytes.extend(text.as_bytes());
    }
    fn write(bytes: &mut Vec<u8>, value: &Value) {
        match value {
            Value::Null => bytes.push(b'n'),
            Value::Bool(truth) => bytes.push(if *truth { b't' } else { b'f' }),
            Value::Number(number) => {
                bytes.push(b'd');
                bytes.extend(number.as_f64().unwrap().to_le_bytes());
            }
            Value::String(value) => text(bytes, value),
            Value::Array(values) => {
                bytes.push(b'a');
                bytes.extend((values.len() as u64).to_le_bytes());
                values.iter().for_each(|value| write(bytes, value));
            }
            Value::Object(members) => {
                bytes.push(b'o');
                bytes.extend((members.len() as u64).to_le_bytes());
                let sorted: BTreeMap<_, _> = members.iter().collect();
                for (key, value) in sorted {
                    text(bytes, key);
                    write(bytes, value);
                }
            }
        }
    }
    let mut bytes = Vec::new();
    write(&mut bytes, value);
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
