//! BloscLZ, the compression of blosc's own: bytes as they are, and copies of earlier ones.

/// The longest distance that two bytes say.
const MAX_DISTANCE: usize = 8191;

/// Decompresses into exactly as many bytes as `out` has; whether that worked.
pub(crate) fn decode(input: &[u8], out: &mut Vec<u8>, len: usize) -> Option<()> {
    let end = out.len().checked_add(len)?;
    let start = out.len();
    let mut input = input.iter().copied();
    let mut control = usize::from(input.next()? & 31);
    loop {
        if control >= 32 {
            let mut length = (control >> 5) + 2;
            if length == 9 {
                loop {
                    let more = input.next()?;
                    length = length.checked_add(usize::from(more))?;
                    if more != 255 {
                        break;
                    }
                }
            }
            let high = (control & 31) << 8;
            let low = usize::from(input.next()?);
            let distance = if low == 255 && high == 31 << 8 {
                (usize::from(input.next()?) << 8 | usize::from(input.next()?)) + MAX_DISTANCE + 1
            } else {
                high + low + 1
            };
            let from = out.len().checked_sub(distance).filter(|from| *from >= start)?;
            if out.len().checked_add(length)? > end {
                return None;
            }
            // What is copied may be what was copied just before.
            for at in from..from + length {
                out.push(*out.get(at)?);
            }
        } else {
            let length = control + 1;
            if out.len().checked_add(length)? > end {
                return None;
            }
            let before = out.len();
            out.extend(input.by_ref().take(length));
            if out.len() != before + length {
                return None;
            }
        }
        match input.next() {
            Some(next) => control = usize::from(next),
            None => return (out.len() == end).then_some(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::decode;

    fn decoded(input: &[u8], len: usize) -> Option<Vec<u8>> {
        let mut out = b"before".to_vec();
        decode(input, &mut out, len)?;
        Some(out.split_off(6))
    }

    #[test]
    fn bytes_and_copies_of_them_follow_each_other() {
        assert_eq!(decoded(&[2, 7, 8, 9], 3).unwrap(), [7, 8, 9]);
        // Three bytes, and a copy of five from three before.
        assert_eq!(decoded(&[2, 7, 8, 9, 3 << 5, 2], 8).unwrap(), [7, 8, 9, 7, 8, 9, 7, 8]);
        // A long copy: 3 + 6 + 255 + 1 bytes.
        let long = decoded(&[0, 7, 7 << 5, 255, 1, 0], 266).unwrap();
        assert!(long.len() == 266 && long.iter().all(|byte| *byte == 7));
    }

    /// What c-blosc (numcodecs 0.16.6) makes of [`plain`]: bytes, long copies, and one from farther
    /// away than two bytes say.
    fn packed() -> Vec<u8> {
        let digits = "3f3c5e81b40c5ec68e04a3406c97d63cfbdc53ae88371a125121b5956143c0ee2d0855fb638c77fee0b600e0ffffffff\
            ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff40000000ff1eff035003b6616263e05102026162\
            63";
        let pairs = digits.as_bytes().chunks(2);
        pairs.map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    fn plain() -> Vec<u8> {
        let mut noise = 1u32;
        let noise: Vec<u8> = (0..40)
            .map(|_| {
                noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                noise.to_be_bytes()[0]
            })
            .collect();
        [&noise[..], &[0; 9000], &noise, &b"abc".repeat(32)].concat()
    }

    #[test]
    fn a_stream_of_c_blosc_is_what_it_was_made_of() {
        let (packed, plain) = (packed(), plain());
        assert_eq!(decoded(&packed, plain.len()).unwrap(), plain);
        for len in [0, 1, plain.len() - 1, plain.len() + 1] {
            assert!(decoded(&packed, len).is_none(), "{len}");
        }
        for len in 0..packed.len() {
            assert!(decoded(&packed[..len], plain.len()).is_none(), "{len}");
        }
        // Whatever a stream says, there are as many bytes as were asked for, or none.
        for at in 0..packed.len() {
            for change in 1..=255 {
                let mut changed = packed.clone();
                changed[at] ^= change;
                assert!(decoded(&changed, plain.len()).is_none_or(|out| out.len() == plain.len()));
            }
        }
    }

    #[test]
    fn what_is_not_there_is_not_copied() {
        for wrong in [
            &[][..],
            &[2, 7, 8],
            &[0, 7, 1 << 5],
            &[0, 7, 1 << 5, 1],
            &[0, 7, 7 << 5, 255],
            &[0, 7, 0x3f, 255, 0],
            // Nor what was in the output before.
            &[0, 7, 1 << 5, 6],
        ] {
            for len in 0..400 {
                assert!(decoded(wrong, len).is_none(), "{wrong:?} {len}");
            }
        }
        for len in 0..400 {
            assert_eq!(decoded(&[2, 7, 8, 9], len).is_some(), len == 3);
        }
    }
}
