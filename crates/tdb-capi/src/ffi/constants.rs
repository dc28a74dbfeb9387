//! Objects that last as long as the library, which callers know by their addresses.
#![expect(unsafe_code, reason = "the pointers of the caller are followed here")]

use super::{Failure, In, Object};

/// Something that callers know by its address. It is as large as the beginning of a handle, and has
/// no content, so that whoever takes it for a handle sees that it is none.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Constant([u64; 4]);

impl Constant {
    /// Another one.
    pub(crate) const fn new() -> Self {
        Self([0; 4])
    }
}

/// An argument that points to one of the constants, if the caller is right.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct ConstantPointer(*const Constant);

impl ConstantPointer {
    /// Whether it points to this one.
    pub(crate) fn is(self, constant: &'static Constant) -> bool {
        core::ptr::eq(self.0, constant)
    }
}

#[cfg(test)]
impl ConstantPointer {
    /// A pointer variable of a caller in C, whose part a test plays.
    pub(crate) const fn null() -> Self {
        Self(core::ptr::null())
    }

    /// A pointer to the variable.
    pub(crate) fn out(&mut self) -> OutConstant {
        OutConstant(&raw mut self.0)
    }
}

impl<T: Object> In<T> {
    /// Whether the pointer is not to a handle, but to this constant.
    pub(crate) fn is_constant(self, constant: &'static Constant) -> bool {
        core::ptr::addr_eq(self.address(), constant)
    }
}

/// An argument through which a function returns the address of a constant.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct OutConstant(*mut *const Constant);

impl OutConstant {
    /// Returns its address.
    ///
    /// # Errors
    /// The pointer is null.
    pub(crate) fn put(&self, constant: &'static Constant) -> Result<(), Failure> {
        if self.0.is_null() {
            return Err("Invalid output pointer for object".into());
        }
        // SAFETY: the caller promises memory for a pointer.
        unsafe { self.0.write_unaligned(constant) };
        Ok(())
    }
}
