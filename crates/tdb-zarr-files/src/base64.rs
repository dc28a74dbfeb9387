//! Base64, in which Zarr's documents hold fill values that are bytes.

/// The bytes of a padded text.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=');
    let mut out = Vec::with_capacity(digits.len());
    let (mut group, mut bits) = (0u32, 0u32);
    for digit in digits.bytes() {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        group = (group & 0xffff) << 6 | u32::from(value);
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            let [.., byte] = (group >> bits).to_be_bytes();
            out.push(byte);
        }
    }
    // A digit alone is less than a byte, and bits that are left are zeros.
    (text.len().is_multiple_of(4) && bits < 6 && group & ((1 << bits) - 1) == 0).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn texts_of_rfc_4648_become_bytes_and_others_are_refused() {
        let texts = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        let bytes = texts.map(|text| String::from_utf8(decode(text).unwrap()).unwrap());
        assert_eq!(bytes, ["", "f", "fo", "foo", "foob", "fooba", "foobar"]);
        assert_eq!(decode("+/+A"), Some(vec![0xfb, 0xff, 0x80]));
        for wrong in ["Z", "Zg", "Zh==", "Zg=a", "Zm9v!", "Z===", "Zm9vé"] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
    }
}
