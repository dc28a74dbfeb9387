//! Buffers of the caller, which queries fill or read long after they were set.
#![expect(unsafe_code, reason = "the pointers of the caller are followed here")]

use core::ffi::c_void;
use core::ops::Range;
use core::slice;
use core::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use super::{Failure, Out};

/// An argument that points to memory of the caller, which stays there after the call.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Memory(*mut c_void);

#[cfg(test)]
impl Memory {
    /// Memory of a caller in C, whose part a test plays.
    pub(crate) fn of<T>(values: &mut [T]) -> Self {
        Self(values.as_mut_ptr().cast())
    }
}

impl Memory {
    /// Whether there is none.
    pub(crate) fn is_null(&self) -> bool {
        self.0.is_null()
    }
}

/// A buffer of the caller: memory, and a variable with its size in bytes, both of which the caller
/// promises to keep until it sets others, or frees the query.
///
/// The size plays two parts. Before a write it says how many bytes the caller has there. Before a
/// read it says how many bytes the memory has, and afterwards how many bytes the result takes; a
/// read that goes on has as much memory as the variable said when the buffer was set.
#[derive(Debug)]
pub(crate) struct UserBuffer {
    memory: Memory,
    size: Out<u64>,
    capacity: u64,
}

// SAFETY: the caller promises memory that lasts, and that it does not use while a function runs
// that has the query. Functions have a query to themselves while they use its buffers.
unsafe impl Send for UserBuffer {}

impl UserBuffer {
    /// A buffer, with the capacity that the caller's variable says now.
    ///
    /// # Errors
    /// The variable is null.
    pub(crate) fn new(memory: Memory, size: Out<u64>) -> Result<Self, Failure> {
        Ok(Self { memory, size, capacity: size.value()? })
    }

    /// The size that the caller's variable had when the buffer was set.
    pub(crate) const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Whether there is no memory.
    pub(crate) fn is_null(&self) -> bool {
        self.memory.is_null()
    }

    /// What the caller's variable says now.
    ///
    /// # Errors
    /// The variable is null.
    pub(crate) fn size(&self) -> Result<u64, Failure> {
        self.size.value()
    }

    /// Says how many bytes a result has.
    ///
    /// # Errors
    /// The variable is null.
    pub(crate) fn set_size(&self, size: u64) -> Result<(), Failure> {
        self.size.set(size)
    }

    /// The bytes that the caller has there now, to write them: as many as its variable says.
    ///
    /// # Errors
    /// The memory is null although there should be bytes, or no memory is that large.
    pub(crate) fn bytes(&self) -> Result<&[u8], Failure> {
        let size = self.size()?;
        if size == 0 {
            return Ok(&[]);
        }
        let size = self.checked(size)?;
        // SAFETY: the caller promises this many bytes, and does not change them during the call.
        Ok(unsafe { slice::from_raw_parts(self.memory.0.cast(), size) })
    }

    /// The memory, to fill it: as many bytes as the buffer had when it was set.
    ///
    /// # Errors
    /// The memory is null although there should be some, or no memory is that large.
    pub(crate) fn bytes_mut(&mut self) -> Result<&mut [u8], Failure> {
        if self.capacity == 0 {
            return Ok(&mut []);
        }
        let size = self.checked(self.capacity)?;
        // SAFETY: the caller promises this many bytes, and does not use them during the call. The
        // borrow of `self` is the only one; bytes of other buffers, which may be the same, are not
        // borrowed at the same time, because functions fill one after the other.
        Ok(unsafe { slice::from_raw_parts_mut(self.memory.0.cast(), size) })
    }

    /// The addresses of its memory.
    pub(crate) fn addresses(&self) -> Range<usize> {
        let start = self.memory.0.addr();
        start..start.saturating_add(usize::try_from(self.capacity).unwrap_or(usize::MAX))
    }

    /// Lends the memory behind the first `at` bytes, as long as `is_valid` stays so. Meanwhile, no
    /// one else may use it, nor other buffers with the same memory.
    pub(crate) fn lend(&mut self, at: usize, is_valid: &Arc<AtomicBool>) -> Option<Loan> {
        let memory = self.bytes_mut().ok()?.get_mut(at..)?;
        let (address, len) = (memory.as_mut_ptr(), memory.len());
        Some(Loan { address, len, is_valid: is_valid.clone() })
    }

    fn checked(&self, size: u64) -> Result<usize, Failure> {
        if self.memory.is_null() {
            return Err("Invalid buffer: it is null".into());
        }
        let size = usize::try_from(size).ok().filter(|size| isize::try_from(*size).is_ok());
        size.ok_or_else(|| "Invalid size of a buffer".into())
    }
}

/// Memory of the caller that is lent to the engine until the function returns. Afterwards it has no
/// bytes for whoever still holds it.
#[derive(Debug)]
pub(crate) struct Loan {
    address: *mut u8,
    len: usize,
    is_valid: Arc<AtomicBool>,
}

// SAFETY: the memory is the caller's, as that of the buffer, and only the loan uses it.
unsafe impl Send for Loan {}

// SAFETY: as above; shared references give shared slices only.
unsafe impl Sync for Loan {}

impl Loan {
    /// The number of bytes.
    pub(crate) const fn len(&self) -> usize {
        self.len
    }

    fn is_valid(&self) -> bool {
        self.is_valid.load(Ordering::Acquire)
    }
}

impl tdb_array::query::Memory for Loan {
    fn bytes(&self) -> &[u8] {
        if !self.is_valid() {
            return &[];
        }
        // SAFETY: the caller promises this memory while the function runs, until whose end the loan
        // is valid; `UserBuffer::lend` says that nobody else uses it.
        unsafe { slice::from_raw_parts(self.address, self.len) }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        if !self.is_valid() {
            return &mut [];
        }
        // SAFETY: as above, and this is the only loan of the memory.
        unsafe { slice::from_raw_parts_mut(self.address, self.len) }
    }
}

/// An argument through which a function returns where a buffer is.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct OutMemory(*mut *mut c_void);

/// An argument through which a function returns where the size of a buffer is.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct OutSize(*mut Out<u64>);

impl OutMemory {
    /// Returns where the memory and the size of a buffer are; null if there is no buffer.
    ///
    /// # Errors
    /// A pointer is null.
    pub(crate) fn put(&self, buffer: Option<&UserBuffer>, size: OutSize) -> Result<(), Failure> {
        if self.0.is_null() || size.0.is_null() {
            return Err("Invalid output pointer for object".into());
        }
        let found = buffer.map(|buffer| (buffer.memory.0, buffer.size));
        let (memory, variable) = found.unwrap_or((core::ptr::null_mut(), Out::NULL));
        // SAFETY: the caller promises memory for a pointer in both places.
        unsafe {
            self.0.write_unaligned(memory);
            size.0.write_unaligned(variable);
        }
        Ok(())
    }
}
