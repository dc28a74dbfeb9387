//! Streams of the caller, to print texts to.
#![expect(unsafe_code, reason = "the pointers of the caller are followed here")]

use core::ffi::c_void;

use std::io::Write as _;

use super::{Failure, Outcome};

// SAFETY: the C library, which the standard library of Rust rests on, has this function.
unsafe extern "C" {
    fn fwrite(data: *const c_void, size: usize, count: usize, stream: *mut c_void) -> usize;
}

/// An argument that is a `FILE*`.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct OutFile(*mut c_void);

impl OutFile {
    /// Writes a text to the stream.
    ///
    /// # Errors
    /// The stream is null, or does not take the whole text.
    pub(crate) fn print(&self, text: &str) -> Outcome {
        if self.0.is_null() {
            return Err("FILE stream may not be nullptr".into());
        }
        // SAFETY: the caller promises an open stream; the text has this many bytes.
        let written = unsafe { fwrite(text.as_ptr().cast(), 1, text.len(), self.0) };
        if written == text.len() { Ok(()) } else { Err(Failure::new("Error writing to output stream")) }
    }

    /// Writes a text to the stream, or to the standard output at null.
    ///
    /// # Errors
    /// As [`Self::print`], but for null.
    pub(crate) fn print_or_show(&self, text: &str) -> Outcome {
        if self.0.is_null() {
            let mut out = std::io::stdout();
            out.write_all(text.as_bytes())?;
            return Ok(out.flush()?);
        }
        self.print(text)
    }
}
