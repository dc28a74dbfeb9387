//! Base64, in which Zarr's documents hold fill values that are bytes.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes in base64, padded.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let digit = |group: u32, place: u32| {
        let index = usize::try_from(group >> (6 * place) & 63).ok();
        index.and_then(|index| ALPHABET.get(index)).map_or('=', |digit| char::from(*digit))
    };
    let mut text = String::new();
    for part in bytes.chunks(3) {
        let group = (0..3).fold(0, |group, at| group << 8 | u32::from(part.get(at).copied().unwrap_or(0)));
        for (at, place) in (0..4).rev().enumerate() {
            text.push(if at > part.len() { '=' } else { digit(group, place) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::encode;

    #[test]
    fn bytes_become_the_texts_of_rfc_4648() {
        let texts = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| encode(text.as_bytes()));
        assert_eq!(texts, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
        assert_eq!(encode(&[0xfb, 0xff, 0x80]), "+/+A");
    }
}
