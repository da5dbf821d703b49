//! Messages of Protocol Buffers: as much of the format as ONNX needs.

/// A message that is being written.
#[derive(Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    /// Seven bits a byte, the lowest first; all but the last have the eighth set.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    /// A whole number.
    pub fn integer(mut self, field: u32, value: i64) -> Message {
        self.varint(u64::from(field) << 3);
        self.varint(value as u64);
        self
    }

    /// Bytes, or a text.
    pub fn bytes(mut self, field: u32, value: impl AsRef<[u8]>) -> Message {
        let value = value.as_ref();
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    /// Another message.
    pub fn message(self, field: u32, value: Message) -> Message {
        self.bytes(field, value.0)
    }

    /// Several of a kind.
    pub fn each<T>(self, of: impl IntoIterator<Item = T>, add: impl Fn(Message, T) -> Message) -> Message {
        of.into_iter().fold(self, add)
    }

    /// All of it.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the documentation of the format: 150 in field 1, "testing" in field 2, the first as a message in field 3.
    #[test]
    fn messages_are_those_of_the_documentation() {
        let first = || Message::default().integer(1, 150);
        assert_eq!(first().into_bytes(), [0x08, 0x96, 0x01]);
        let second = Message::default().bytes(2, "testing").into_bytes();
        assert_eq!(second, [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
        assert_eq!(Message::default().message(3, first()).into_bytes(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(Message::default().integer(1, -1).into_bytes().len(), 11);
    }
}
