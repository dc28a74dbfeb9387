//! Writes LZ4 blocks of whole chunks with the same choices as the C library's
//! `LZ4_compress_default`, so the blocks have the same bytes.
//!
//! A block is a list of sequences. A sequence is a token (its high half is the number of literals,
//! its low half the length of the match minus 4; a value of 15 continues in bytes of up to 255),
//! the literals, and the distance of the match as a `u16`. The last sequence contains only
//! literals: no match begins in the last 12 bytes or extends into the last 5.
//!
//! `lz4_flex`, which this crate uses for decoding, hashes five bytes for inputs of 65,535 bytes and
//! more. A whole chunk has 65,536, so it misses matches of four bytes, and its output is up to 1.4
//! times as large.
//!
//! Input and output are copied through arrays of fixed size, and every position in them is masked.
//! No access therefore needs a bounds check, and the copies take less time than the checks would.

/// The longest input: the size of the chunks of a tile. All positions in it fit 16 bits.
pub(crate) const LONGEST: usize = 1 << 16;
const PLACES: usize = LONGEST - 1;
/// Twice the longest input, which is more than the longest block (the longest input and a few
/// hundred bytes).
const OUT_PLACES: usize = (1 << 17) - 1;
/// The most bytes that one move may read or write after the last position.
const MOVE: usize = 16;

/// The shortest match.
const MIN_MATCH: usize = 4;
/// Shorter inputs contain only literals.
const MIN_INPUT: usize = 13;
/// The bytes after the last position where a match is searched, and the bytes at the end that no
/// match may include.
const BEHIND_MATCH: usize = 11;
const LAST_LITERALS: usize = 5;
/// The step of the search grows by one after this many positions (as an exponent of 2) without a
/// match.
const PATIENCE: u32 = 6;
const HASH_LOG: u32 = 13;

/// Working memory, reused for each chunk.
pub(crate) struct Window {
    input: [u8; LONGEST + MOVE],
    out: [u8; OUT_PLACES + 1 + MOVE],
    /// The end of the block.
    end: usize,
    /// The last position of four bytes with this hash.
    seen: [u16; 1 << HASH_LOG],
}

impl Default for Window {
    fn default() -> Self {
        Self { input: [0; _], out: [0; _], end: 0, seen: [0; _] }
    }
}

impl Window {
    /// The block of `input`, of which at most [`LONGEST`] bytes are read.
    pub(crate) fn compress(&mut self, input: &[u8]) -> &[u8] {
        let len = input.len().min(LONGEST);
        if let (Some(to), Some(from)) = (self.input.get_mut(..len), input.get(..len)) {
            to.copy_from_slice(from);
        }
        self.end = 0;
        let anchor = if len >= MIN_INPUT { self.matches(len) } else { 0 };
        self.token(len.wrapping_sub(anchor), 0);
        self.literals(anchor, len.wrapping_sub(anchor));
        self.out.get(..self.end).unwrap_or_default()
    }

    /// Writes all sequences with a match; returns the start of the last literals.
    fn matches(&mut self, len: usize) -> usize {
        let (last, end) = (len.wrapping_sub(BEHIND_MATCH), len.wrapping_sub(LAST_LITERALS));
        self.seen.fill(0);
        self.replace(self.hash(0), 0);
        let (mut anchor, mut at) = (0usize, 1usize);
        let mut next_hash = self.hash(at);
        loop {
            let (mut forward, mut step, mut tries) = (at, 1usize, 1usize << PATIENCE);
            let mut candidate;
            loop {
                let hash = next_hash;
                at = forward;
                forward = forward.wrapping_add(step);
                step = tries >> PATIENCE;
                tries = tries.wrapping_add(1);
                if forward > last {
                    return anchor;
                }
                next_hash = self.hash(forward);
                candidate = self.replace(hash, at);
                if self.four(candidate) == self.four(at) {
                    break;
                }
            }
            while at > anchor
                && candidate > 0
                && self.byte(at.wrapping_sub(1)) == self.byte(candidate.wrapping_sub(1))
            {
                at = at.wrapping_sub(1);
                candidate = candidate.wrapping_sub(1);
            }
            loop {
                let distance = at.wrapping_sub(candidate);
                let from = at.wrapping_add(MIN_MATCH);
                let more = self.common(from, candidate.wrapping_add(MIN_MATCH), end);
                let literals = at.wrapping_sub(anchor);
                self.token(literals, more);
                self.literals(anchor, literals);
                self.distance(distance);
                self.length(more);
                at = from.wrapping_add(more);
                anchor = at;
                if at >= last {
                    return anchor;
                }
                let behind = at.wrapping_sub(2);
                self.replace(self.hash(behind), behind);
                candidate = self.replace(self.hash(at), at);
                if self.four(candidate) != self.four(at) {
                    at = at.wrapping_add(1);
                    next_hash = self.hash(at);
                    break;
                }
            }
        }
    }

    #[inline]
    fn read<const N: usize>(&self, at: usize) -> [u8; N] {
        let at = at & PLACES;
        let bytes = self.input.get(at..at.wrapping_add(N)).and_then(|bytes| bytes.first_chunk());
        bytes.copied().unwrap_or([0; N])
    }

    #[inline]
    fn byte(&self, at: usize) -> u8 {
        let [byte] = self.read(at);
        byte
    }

    #[inline]
    fn four(&self, at: usize) -> u32 {
        u32::from_le_bytes(self.read(at))
    }

    #[inline]
    fn hash(&self, at: usize) -> usize {
        let hash = self.four(at).wrapping_mul(2_654_435_761) >> (u32::BITS - HASH_LOG);
        usize::try_from(hash).unwrap_or(0)
    }

    /// Stores a position, and returns the one stored before.
    #[inline]
    fn replace(&mut self, hash: usize, at: usize) -> usize {
        let place = u16::try_from(at & PLACES).unwrap_or(0);
        self.seen.get_mut(hash).map_or(0, |slot| core::mem::replace(slot, place)).into()
    }

    /// The number of equal bytes from `a` and `b` on, counted until the position from `a` reaches
    /// `end`.
    #[inline]
    fn common(&self, a: usize, b: usize, end: usize) -> usize {
        let max = end.saturating_sub(a);
        let mut count = 0usize;
        while count < max {
            let (x, y) = (self.read(a.wrapping_add(count)), self.read(b.wrapping_add(count)));
            let different = u64::from_le_bytes(x) ^ u64::from_le_bytes(y);
            if different != 0 {
                let bytes = usize::try_from(different.trailing_zeros() / u8::BITS).unwrap_or(0);
                return count.wrapping_add(bytes).min(max);
            }
            count = count.wrapping_add(8);
        }
        max
    }

    #[inline]
    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.out.get_mut(self.end & OUT_PLACES) {
            *slot = byte;
        }
        self.end = self.end.wrapping_add(1);
    }

    /// Writes the part of a length that does not fit half a token.
    #[inline]
    fn length(&mut self, length: usize) {
        let Some(mut rest) = length.checked_sub(15) else { return };
        while rest >= 255 {
            self.push(255);
            rest = rest.wrapping_sub(255);
        }
        self.push(u8::try_from(rest).unwrap_or(0));
    }

    #[inline]
    fn token(&mut self, literals: usize, more: usize) {
        let half = |length: usize| u8::try_from(length.min(15)).unwrap_or(15);
        self.push(half(literals) << 4 | half(more));
        self.length(literals);
    }

    #[inline]
    fn distance(&mut self, distance: usize) {
        let at = self.end & OUT_PLACES;
        let place = u16::try_from(distance & PLACES).unwrap_or(0);
        if let Some(slot) = self.out.get_mut(at..at.wrapping_add(2)) {
            slot.copy_from_slice(&place.to_le_bytes());
        }
        self.end = self.end.wrapping_add(2);
    }

    /// Copies literals, and up to 15 bytes after them that are overwritten later.
    #[inline]
    fn literals(&mut self, start: usize, count: usize) {
        let mut done = 0usize;
        while done < count {
            let from: [u8; MOVE] = self.read(start.wrapping_add(done));
            let at = self.end.wrapping_add(done) & OUT_PLACES;
            if let Some(to) = self.out.get_mut(at..at.wrapping_add(MOVE)) {
                to.copy_from_slice(&from);
            }
            done = done.wrapping_add(MOVE);
        }
        self.end = self.end.wrapping_add(count);
    }
}
