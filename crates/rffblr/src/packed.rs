//! Long lists of numbers in text: little-endian bytes in base64, bit for bit.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Numbers as they are.
pub fn doubles(numbers: impl Iterator<Item = f64>) -> String {
    STANDARD.encode(numbers.flat_map(f64::to_le_bytes).collect::<Vec<u8>>())
}

/// Numbers in single precision.
pub(crate) fn singles(numbers: impl Iterator<Item = f64>) -> String {
    STANDARD.encode(numbers.flat_map(|v| (v as f32).to_le_bytes()).collect::<Vec<u8>>())
}

/// What [`doubles`] packed.
pub fn from_doubles(text: &str) -> Option<Vec<f64>> {
    unpacked(text, f64::from_le_bytes)
}

pub(crate) fn from_singles(text: &str) -> Option<Vec<f64>> {
    unpacked(text, |bytes| f64::from(f32::from_le_bytes(bytes)))
}

/// Packed numbers of N bytes each.
fn unpacked<const N: usize>(text: &str, number: impl Fn([u8; N]) -> f64) -> Option<Vec<f64>> {
    let bytes = STANDARD.decode(text).ok()?;
    let (numbers, rest) = bytes.as_chunks::<N>();
    rest.is_empty().then(|| numbers.iter().map(|bytes| number(*bytes)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_found_again() {
        let numbers = [0.1, -3.0, f64::MIN_POSITIVE, 1e300];
        assert_eq!(from_doubles(&doubles(numbers.into_iter())).unwrap(), numbers);
        assert_eq!(from_singles(&singles([0.5, -2.0].into_iter())).unwrap(), [0.5, -2.0]);
        assert!(from_doubles("AAAA").is_none() && from_singles("?").is_none());
    }
}
