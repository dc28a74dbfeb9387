//! Checksums of 32 bits that codecs put before or behind bytes.

/// A kind of checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Checksum {
    /// That of iSCSI, at the end by Zarr's own codec.
    Crc32c,
    /// That of gzip.
    Crc32,
    /// That of zlib.
    Adler32,
    /// That of HDF5.
    Fletcher32,
}

/// The tables of two polynomials, bits reversed.
static CRC32C: [u32; 256] = table(0x82f6_3b78);
static CRC32: [u32; 256] = table(0xedb8_8320);

#[expect(clippy::indexing_slicing, reason = "the index of a constant is below its length")]
const fn table(polynomial: u32) -> [u32; 256] {
    let mut table = [0; 256];
    let (mut index, mut first) = (0, 0u32);
    while index < 256 {
        let (mut value, mut bit) = (first, 0);
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ polynomial } else { value >> 1 };
            bit += 1;
        }
        table[index] = value;
        index += 1;
        first += 1;
    }
    table
}

fn crc(bytes: &[u8], table: &[u32; 256]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        let [low, ..] = crc.to_le_bytes();
        crc >> 8 ^ table.get(usize::from(low ^ byte)).copied().unwrap_or(0)
    })
}

fn adler32(bytes: &[u8]) -> u32 {
    let (mut a, mut b) = (1u32, 0u32);
    // So many sums stay below 2^32.
    for part in bytes.chunks(5552) {
        for byte in part {
            a += u32::from(*byte);
            b += a;
        }
        (a, b) = (a % 65521, b % 65521);
    }
    b << 16 | a
}

/// HDF5 sums words of two bytes, the highest first. A byte that is left has a zero behind it.
fn fletcher32(bytes: &[u8]) -> u32 {
    let fold = |sum: u32| (sum & 0xffff) + (sum >> 16);
    let (mut low, mut high) = (0u32, 0u32);
    let (words, rest) = bytes.as_chunks::<2>();
    for part in words.chunks(360) {
        for word in part {
            low += u32::from(u16::from_be_bytes(*word));
            high += low;
        }
        (low, high) = (fold(low), fold(high));
    }
    if let [byte] = rest {
        low = fold(low + (u32::from(*byte) << 8));
        high = fold(high + low);
    }
    fold(high) << 16 | fold(low)
}

impl Checksum {
    /// The checksum of bytes.
    pub(crate) fn of(self, bytes: &[u8]) -> u32 {
        match self {
            Self::Crc32c => crc(bytes, &CRC32C),
            Self::Crc32 => crc(bytes, &CRC32),
            Self::Adler32 => adler32(bytes),
            Self::Fletcher32 => fletcher32(bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_literature() {
        let of = |kind: Checksum| kind.of(b"123456789");
        assert_eq!(of(Checksum::Crc32c), 0xe306_9283);
        assert_eq!(of(Checksum::Crc32), 0xcbf4_3926);
        assert_eq!(of(Checksum::Adler32), 0x091e_01de);
        assert_eq!(Checksum::Adler32.of(&[255; 100_000]), 0x149a_302c);
        assert_eq!(of(Checksum::Fletcher32), 0x09df_09d5);
        assert_eq!(Checksum::Fletcher32.of(&[255; 100_000]), u32::MAX);
        assert_eq!(Checksum::Fletcher32.of(b"abcdef"), 0x5056_2a2d);
        assert_eq!(Checksum::Crc32c.of(&[]), 0);
    }
}
