//! The functions of the module, as the host sees them. There is one session, because a module has one memory.
//!
//! The only unsafe thing here is that each function keeps its name in the module (`#[unsafe(no_mangle)]`), so that another
//! function of the same name, anywhere in the program, would be called in its stead: all begin with `tdb_`, and no crate below
//! exports any. No pointer is followed: the host gets addresses of vectors that the session owns, and writes into them between
//! calls, when nothing here looks at them.
#![expect(unsafe_code, reason = "a function keeps its name only with #[unsafe(no_mangle)]")]

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use tdb_array::TimeWindow;
use tdb_codec::to_usize;

use crate::{Session, SessionError};

static SESSION: LazyLock<Mutex<Session>> = LazyLock::new(Mutex::default);

/// A panic ends the module, so that no session is seen that one left half-changed.
fn session() -> MutexGuard<'static, Session> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Status 0 or 1.
fn status(request: impl FnOnce(&mut Session) -> Result<(), SessionError>) -> u32 {
    u32::from(!session().answer(request))
}

/// An address or a length. Both have 32 bits in WebAssembly; elsewhere, what does not fit is 0.
fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

/// A length that the host gave.
fn length(value: u32) -> usize {
    to_usize(u64::from(value)).unwrap_or(usize::MAX)
}

/// Sets aside so many bytes for the host to fill, and says where; 0 if there is no memory for them.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_input(len: u32) -> u32 {
    // Exposed: the host writes there.
    session().input(length(len)).map_or(0, |input| number(input.as_mut_ptr().expose_provenance()))
}

/// Takes the input as a file: the first bytes are its key.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_file(key_len: u32) -> u32 {
    status(|session| session.file(length(key_len)))
}

/// Takes the input as the key of an encrypted array.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_key() -> u32 {
    status(Session::key)
}

/// Opens the array as of a window of time, both ends included, and reads all cells in the order with this number.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_read(start: u64, end: u64, order: u32) -> u32 {
    status(|session| session.read(TimeWindow::between(start, end), order))
}

/// Where the output of the last request is.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_output() -> u32 {
    number(session().output().as_ptr().expose_provenance())
}

/// How many bytes the output of the last request has.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_output_len() -> u32 {
    number(session().output().len())
}

/// Forgets files, key, input and output.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_clear() {
    *session() = Session::default();
}
