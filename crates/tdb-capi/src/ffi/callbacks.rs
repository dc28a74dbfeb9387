//! Functions of the caller, which a walk calls for each thing that it finds.

use core::ffi::c_char;
use std::ffi::CString;

use super::guard::guarded;
use super::{Failure, Outcome, Raw};

/// The caller's answer to go on; 0 means to stop, and -1 an error.
const GO_ON: i32 = 1;
const STOP: i32 = 0;

/// Called with a text.
pub(crate) type TextCallback = Option<extern "C-unwind" fn(*const c_char, Raw) -> i32>;
/// Called with a text and the number of an enum.
pub(crate) type ObjectCallback = Option<extern "C-unwind" fn(*const c_char, u32, Raw) -> i32>;
/// Called with a text, its length, and the size of the file.
pub(crate) type FileCallback = Option<extern "C-unwind" fn(*const c_char, u64, u64, Raw) -> i32>;
/// Called with a text, its length, the size of the file, and whether it is a folder.
pub(crate) type EntryCallback = Option<extern "C-unwind" fn(*const c_char, u64, u64, u8, Raw) -> i32>;

/// Calls a function of the caller for each of the items, until it says to stop. `call` passes it an
/// item as its arguments.
///
/// # Errors
/// The function answers that there was an error or throws, or a text contains a zero.
pub(crate) fn call_each<T: Copy>(
    items: impl IntoIterator<Item = (String, T)>,
    call: impl Fn(*const c_char, u64, T) -> i32,
) -> Outcome {
    for (text, item) in items {
        let length = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let text = CString::new(text).map_err(|_| Failure::new("a path contains a zero"))?;
        match guarded(|| call(text.as_ptr(), length, item))? {
            GO_ON => {}
            STOP => return Ok(()),
            _ => return Err("Error in callback".into()),
        }
    }
    Ok(())
}
