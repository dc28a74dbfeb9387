//! Bytes of the caller, and bytes for it.
#![expect(unsafe_code, reason = "the pointers of the caller are followed here")]

use core::ffi::c_void;
use core::slice;

use super::{Failure, In, Object};

/// A pointer that only passes through, to callbacks of the caller.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Raw(*mut c_void);

/// An argument that points to values of the caller, of any type.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Data(*const c_void);

#[cfg(test)]
impl Data {
    /// Values of a caller in C, whose part a test plays.
    pub(crate) fn of<T>(values: &[T]) -> Self {
        Self(values.as_ptr().cast())
    }

    /// A null pointer.
    pub(crate) const fn null() -> Self {
        Self(core::ptr::null())
    }
}

impl Data {
    /// A pointer to bytes that are kept for the caller.
    pub(super) const fn at(address: *const u8) -> Self {
        Self(address.cast())
    }

    /// Whether there are none.
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    /// The first `size` bytes.
    ///
    /// # Errors
    /// The pointer is null although there should be bytes, or no memory is that large.
    pub(crate) fn bytes(&self, size: u64) -> Result<&[u8], Failure> {
        if size == 0 {
            return Ok(&[]);
        }
        if self.0.is_null() {
            return Err("Invalid input pointer: it is null".into());
        }
        let size = usize::try_from(size).ok().filter(|size| isize::try_from(*size).is_ok());
        let size = size.ok_or("Invalid size of input")?;
        // SAFETY: the caller promises this many bytes.
        Ok(unsafe { slice::from_raw_parts(self.0.cast(), size) })
    }
}

/// An argument through which a function returns the address of values.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct OutData(*mut *const c_void);

impl OutData {
    /// Whether the caller wants an address.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.0.is_null()
    }

    /// Returns a copy of the bytes, which `owner` keeps.
    ///
    /// # Errors
    /// The pointer is null.
    pub(crate) fn keep<T: Object>(&self, owner: In<T>, bytes: &[u8]) -> Result<(), Failure> {
        let address = owner.keep(bytes)?;
        self.write(address.cast())
    }

    /// Returns null.
    ///
    /// # Errors
    /// The pointer is null.
    pub(crate) fn put_null(&self) -> Result<(), Failure> {
        self.write(core::ptr::null())
    }

    fn write(&self, address: *const c_void) -> Result<(), Failure> {
        if self.0.is_null() {
            return Err("Invalid output pointer for object".into());
        }
        // SAFETY: the caller promises memory for a pointer.
        unsafe { self.0.write_unaligned(address) };
        Ok(())
    }
}
