//! Numbers that a function returns through a pointer.
#![expect(unsafe_code, reason = "the pointers of the caller are followed here")]

use core::slice;

use super::Failure;

/// An argument through which a function returns a value.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// No pointer.
    pub(super) const NULL: Self = Self(core::ptr::null_mut());

    /// Whether there is no pointer.
    pub(crate) const fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

#[cfg(test)]
impl<T> Out<T> {
    /// A pointer to a variable of a caller in C, whose part a test plays.
    pub(crate) fn to(variable: &mut T) -> Self {
        Self(variable)
    }
}

impl<T: Copy> Out<T> {
    /// The value that the caller has there.
    ///
    /// # Errors
    /// The pointer is null.
    pub(crate) fn value(&self) -> Result<T, Failure> {
        if self.0.is_null() {
            return Err("Invalid input pointer for object".into());
        }
        // SAFETY: the caller promises a value.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Returns the value.
    ///
    /// # Errors
    /// The pointer is null.
    pub(crate) fn set(&self, value: T) -> Result<(), Failure> {
        if self.0.is_null() {
            return Err("Invalid output pointer for object".into());
        }
        // SAFETY: the caller promises memory for a value.
        unsafe { self.0.write_unaligned(value) };
        Ok(())
    }

    /// Returns a value for each position from 0 on.
    ///
    /// # Errors
    /// The pointer is null.
    pub(crate) fn fill(&self, values: &[T]) -> Result<(), Failure> {
        if self.0.is_null() {
            return Err("Invalid output pointer for object".into());
        }
        for (position, value) in values.iter().enumerate() {
            // SAFETY: the caller promises memory for as many values as the function says.
            unsafe { self.0.add(position).write_unaligned(*value) };
        }
        Ok(())
    }
}

impl Out<u8> {
    /// Lets a function fill memory of the caller.
    ///
    /// # Errors
    /// The pointer is null although there should be memory, no memory is that large, or the
    /// function fails.
    pub(crate) fn with_bytes(
        &self,
        size: u64,
        fill: impl FnOnce(&mut [u8]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        if self.0.is_null() {
            return Err("Invalid output pointer for object".into());
        }
        let size = usize::try_from(size).ok().filter(|size| isize::try_from(*size).is_ok());
        let size = size.ok_or("Invalid size of output")?;
        // SAFETY: the caller promises this many bytes, and does not use them during the call.
        fill(unsafe { slice::from_raw_parts_mut(self.0, size) })
    }
}
