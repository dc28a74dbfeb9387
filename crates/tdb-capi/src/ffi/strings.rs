//! Texts of the caller, and texts for it.
#![expect(unsafe_code, reason = "the pointers of the caller are followed here")]

use core::ffi::{CStr, c_char};
use core::ptr;
use std::ffi::CString;

use super::{Failure, In, Object};

/// An argument that points to a text that ends with a zero.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Text(*const c_char);

#[cfg(test)]
impl Text {
    /// A text of a caller in C, whose part a test plays.
    pub(crate) fn of(text: &CStr) -> Self {
        Self(text.as_ptr())
    }
}

impl Text {
    /// The text; `what` is the word for it in errors.
    ///
    /// # Errors
    /// The pointer is null, or the text is not UTF-8.
    pub(crate) fn get(&self, what: &str) -> Result<&str, Failure> {
        self.optional(what)?.ok_or_else(|| format!("argument `{what}` may not be nullptr").into())
    }

    /// The text, or nothing for null.
    ///
    /// # Errors
    /// The text is not UTF-8.
    pub(crate) fn optional(&self, what: &str) -> Result<Option<&str>, Failure> {
        if self.0.is_null() {
            return Ok(None);
        }
        // SAFETY: the caller promises a text that ends with a zero.
        let text = unsafe { CStr::from_ptr(self.0) };
        let text = text.to_str().map_err(|_| Failure::new(format!("argument `{what}` is not UTF-8")))?;
        Ok(Some(text))
    }
}

/// An argument that points to the addresses of texts.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Texts(*const *const c_char);

#[cfg(test)]
impl Texts {
    /// Texts of a caller in C, whose part a test plays.
    pub(crate) const fn of(texts: &[*const c_char]) -> Self {
        Self(texts.as_ptr())
    }
}

impl Texts {
    /// Copies of the first `count` texts; `what` is the word for them in errors.
    ///
    /// # Errors
    /// A pointer is null, or a text is not UTF-8.
    pub(crate) fn get(&self, what: &str, count: u64) -> Result<Vec<String>, Failure> {
        if count == 0 {
            return Ok(Vec::new());
        }
        if self.0.is_null() {
            return Err(format!("argument `{what}` may not be nullptr").into());
        }
        let count = usize::try_from(count).map_err(|_| Failure::new(format!("too many `{what}`")))?;
        let mut texts = Vec::new();
        for index in 0..count {
            // SAFETY: the caller promises as many addresses.
            let text = Text(unsafe { self.0.add(index).read_unaligned() });
            texts.push(text.get(what)?.to_owned());
        }
        Ok(texts)
    }
}

/// An argument through which a function returns the address of a text.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct OutText(*mut *const c_char);

#[cfg(test)]
impl OutText {
    /// Returns what a function gives as a text, as a caller in C sees it.
    pub(crate) fn taken(call: impl FnOnce(Self)) -> String {
        let mut address = ptr::null();
        call(Self(&raw mut address));
        Text(address).get("text").map_or_else(|_| String::new(), str::to_owned)
    }
}

impl OutText {
    /// Returns a text that lasts as long as the library.
    ///
    /// # Errors
    /// The pointer is null.
    pub(crate) fn put(&self, text: &'static CStr) -> Result<(), Failure> {
        self.write(text.as_ptr())
    }

    /// Returns a copy of the text, which `owner` keeps.
    ///
    /// # Errors
    /// The pointer is null.
    pub(crate) fn keep<T: Object>(&self, owner: In<T>, text: &str) -> Result<(), Failure> {
        let mut bytes = text.as_bytes().to_vec();
        bytes.push(0);
        self.write(owner.keep(&bytes)?.cast())
    }

    /// Returns null.
    ///
    /// # Errors
    /// The pointer is null.
    pub(crate) fn put_null(&self) -> Result<(), Failure> {
        self.write(ptr::null())
    }

    /// Returns a copy of the text in memory of its own, which the caller frees: with a function of
    /// the library, or with `free`, for the memory comes from the system's allocator.
    ///
    /// # Errors
    /// The pointer is null, or the text contains a zero.
    pub(crate) fn give(&self, text: &str) -> Result<(), Failure> {
        let text = CString::new(text).map_err(|_| Failure::new("a text contains a zero"))?;
        self.write(ptr::null())?;
        self.write(text.into_raw())
    }

    /// Frees what [`Self::give`] gave, and makes the caller's pointer null.
    pub(crate) fn take_back(&self) {
        if self.0.is_null() {
            return;
        }
        // SAFETY: the caller promises a pointer to its pointer, which `give` returned.
        unsafe {
            let text = self.0.read_unaligned();
            if !text.is_null() {
                drop(CString::from_raw(text.cast_mut()));
            }
            self.0.write_unaligned(ptr::null());
        }
    }

    fn write(&self, address: *const c_char) -> Result<(), Failure> {
        if self.0.is_null() {
            return Err("Invalid output pointer for object".into());
        }
        // SAFETY: the caller promises memory for a pointer.
        unsafe { self.0.write_unaligned(address) };
        Ok(())
    }
}

/// The result of a function that returns a text that lasts as long as the library.
#[repr(transparent)]
pub(crate) struct StaticText(*const c_char);

impl StaticText {
    /// This text.
    pub(crate) const fn new(text: &'static CStr) -> Self {
        Self(text.as_ptr())
    }
}

/// Null.
impl Default for StaticText {
    fn default() -> Self {
        Self(ptr::null())
    }
}
