//! Bits of values sorted by their places in the values, as blosc does it: over a whole block. (The
//! filter bitshuffle of arrays does it for 8 KiB at a time.)

/// All first bits of values, the lowest first, then all second ones, and so on, in bytes of which
/// the lowest bit comes first. Only a number of values that is a multiple of eight is shuffled.
pub(crate) fn bitshuffled(bytes: &[u8], size: usize, out: &mut Vec<u8>) {
    let count = bytes.len() / size;
    if !count.is_multiple_of(8) {
        return out.extend_from_slice(bytes);
    }
    let (values, rest) = bytes.split_at_checked(count * size).unwrap_or((bytes, &[]));
    for place in 0..size {
        for bit in 0..8 {
            for eight in values.chunks_exact(size * 8) {
                let of_place = eight.iter().skip(place).step_by(size).enumerate();
                out.push(of_place.fold(0, |byte, (at, value)| byte | (value >> bit & 1) << at));
            }
        }
    }
    out.extend_from_slice(rest);
}

/// The inverse of [`bitshuffled`].
pub(crate) fn bitunshuffled(bytes: &[u8], size: usize, out: &mut Vec<u8>) {
    let count = bytes.len() / size;
    if !count.is_multiple_of(8) || count == 0 {
        return out.extend_from_slice(bytes);
    }
    let (values, rest) = bytes.split_at_checked(count * size).unwrap_or((bytes, &[]));
    let start = out.len();
    out.resize(start + values.len(), 0);
    let row = count / 8;
    for (number, bits) in values.chunks_exact(row).enumerate() {
        let (place, bit) = (number / 8, number % 8);
        let mut targets = out.iter_mut().skip(start + place).step_by(size);
        for byte in bits {
            for at in 0..8 {
                if let Some(target) = targets.next() {
                    *target |= (byte >> at & 1) << bit;
                }
            }
        }
    }
    out.extend_from_slice(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_shuffled_comes_back() {
        let mut bits = Vec::new();
        // Of eight values, the first has its lowest bit and the last its highest.
        bitshuffled(&[1, 0, 0, 0, 0, 0, 0, 128], 1, &mut bits);
        assert_eq!(bits, [1, 0, 0, 0, 0, 0, 0, 128]);
        bits.clear();
        bitshuffled(&[3, 0, 0, 0, 0, 0, 0, 0, 9], 1, &mut bits);
        assert_eq!(bits, [3, 0, 0, 0, 0, 0, 0, 0, 9]);
        for size in [1, 2, 3, 8] {
            for len in [0, 5, 8, 64, 65, 240] {
                let input: Vec<u8> = (0..len).map(|at: u8| at.wrapping_mul(37)).collect();
                let (mut there, mut back) = (Vec::new(), b"x".to_vec());
                bitshuffled(&input, size, &mut there);
                bitunshuffled(&there, size, &mut back);
                assert_eq!(back[1..], input, "{size} {len}");
            }
        }
    }
}
