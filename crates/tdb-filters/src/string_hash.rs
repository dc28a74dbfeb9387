//! The hash function of dictionaries. There are many short strings, and with the standard hash
//! function, hashing takes longer than everything else.

use core::hash::{BuildHasher, Hasher};
use std::hash::RandomState;

/// Creates hashers with random keys, so nobody can choose strings that collide.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keyed {
    keys: [u64; 2],
}

impl Keyed {
    /// Fresh keys.
    pub(crate) fn new() -> Self {
        let random = RandomState::new();
        Self { keys: [0u64, 1].map(|which| random.hash_one(which)) }
    }
}

impl BuildHasher for Keyed {
    type Hasher = StringHasher;

    fn build_hasher(&self) -> StringHasher {
        let [state, key] = self.keys;
        StringHasher { state, key }
    }
}

/// Folds 16 bytes at a time into 64 bits: the two halves are mixed with key and state and
/// multiplied, and both halves of the product are used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StringHasher {
    state: u64,
    key: u64,
}

impl StringHasher {
    #[inline]
    fn fold(&mut self, a: u64, b: u64) {
        let product = u128::from(a ^ self.key).wrapping_mul(u128::from(b ^ self.state));
        #[expect(clippy::cast_possible_truncation, reason = "the two halves")]
        let (low, high) = (product as u64, (product >> 64) as u64);
        self.state = low ^ high;
    }
}

impl Hasher for StringHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        // The length has already been hashed: slices hash their length first.
        let mut rest = bytes;
        while rest.len() > 16
            && let Some((front, later)) = rest.split_first_chunk::<16>()
            && let &[a, b] = front.as_chunks().0
        {
            self.fold(u64::from_le_bytes(a), u64::from_le_bytes(b));
            rest = later;
        }
        // The first and the last bytes of the rest; they may overlap.
        if let (Some(&a), Some(&b)) = (rest.first_chunk(), rest.last_chunk()) {
            self.fold(u64::from_le_bytes(a), u64::from_le_bytes(b));
        } else if let (Some(&a), Some(&b)) = (rest.first_chunk(), rest.last_chunk()) {
            self.fold(u32::from_le_bytes(a).into(), u32::from_le_bytes(b).into());
        } else {
            self.fold(rest.iter().fold(0, |all, &byte| (all << 8) | u64::from(byte)), 0);
        }
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.fold(tdb_codec::to_u64(value), 0);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn equal_strings_hash_alike_and_all_bytes_of_others_count() {
        let keyed = Keyed::new();
        for len in 0..70usize {
            let string: Vec<u8> = (0..len).map(|i| i.to_le_bytes()[0]).collect();
            assert_eq!(keyed.hash_one(&string[..]), keyed.hash_one(&string.clone()[..]));
            let mut hashes = HashSet::from([keyed.hash_one(&string[..])]);
            for at in 0..len {
                let mut other = string.clone();
                other[at] ^= 0x80;
                hashes.insert(keyed.hash_one(&other[..]));
            }
            assert_eq!(hashes.len(), len + 1);
        }
        let zeros: HashSet<u64> = (0..100).map(|len| keyed.hash_one(&vec![0u8; len][..])).collect();
        assert_eq!(zeros.len(), 100);
    }

    #[test]
    fn keys_differ_from_hasher_to_hasher() {
        assert_ne!(Keyed::new().hash_one(&b"string"[..]), Keyed::new().hash_one(&b"string"[..]));
    }
}
