//! Numbers that a function returns through a pointer.
#![expect(unsafe_code, reason = "the pointers of the caller are followed here")]

use super::Failure;

/// An argument through which a function returns a value.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Out<T>(*mut T);

impl<T: Copy> Out<T> {
    /// Whether the caller wants the value.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.0.is_null()
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
