//! Ranges in the struct that the C API has for them.
#![expect(unsafe_code, reason = "the pointers of the caller are followed here")]

use super::{Data, Failure, In, Object};

/// `tiledb_range_t`: the low and the high end, each with its size.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct CRange {
    min: Data,
    min_size: u64,
    max: Data,
    max_size: u64,
}

/// An argument that points to a range, of the caller or for it.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct RangePointer(*mut CRange);

impl RangePointer {
    /// The low and the high end. Of a range of fixed size, both have the size of the low one.
    ///
    /// # Errors
    /// The pointer is null, or one of those in the range is.
    pub(crate) fn ends(&self, fixed: bool) -> Result<(Vec<u8>, Vec<u8>), Failure> {
        if self.0.is_null() {
            return Err("Invalid output pointer for object".into());
        }
        // SAFETY: the caller promises a range.
        let range = unsafe { self.0.read_unaligned() };
        let high_size = if fixed { range.min_size } else { range.max_size };
        Ok((range.min.bytes(range.min_size)?.to_vec(), range.max.bytes(high_size)?.to_vec()))
    }

    /// Returns a range, whose ends `owner` keeps.
    ///
    /// # Errors
    /// The pointer is null.
    pub(crate) fn put<T: Object>(&self, owner: In<T>, low: &[u8], high: &[u8]) -> Result<(), Failure> {
        if self.0.is_null() {
            return Err("Invalid output pointer for object".into());
        }
        let size = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let (min, max) = (Data::at(owner.keep(low)?), Data::at(owner.keep(high)?));
        let range = CRange { min, min_size: size(low), max, max_size: size(high) };
        // SAFETY: the caller promises memory for a range.
        unsafe { self.0.write_unaligned(range) };
        Ok(())
    }
}
