//! The functions exported to the host. There is one session, because a module has one memory.
//!
//! The only unsafe thing here is that each function keeps its name in the module
//! (`#[unsafe(no_mangle)]`): another function of the same name, anywhere in the program, would be
//! called instead. All names begin with `tdb_`, and no crate below exports any such name. No
//! pointer is dereferenced: the host gets addresses of vectors that the session owns, and writes to
//! them between calls, when no code here accesses them.
#![expect(unsafe_code, reason = "a function keeps its name only with #[unsafe(no_mangle)]")]

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use tdb_array::TimeWindow;
use tdb_codec::to_usize;

use crate::{Session, SessionError};

static SESSION: LazyLock<Mutex<Session>> = LazyLock::new(Mutex::default);

/// A panic ends the module, so a session that a panic left half-changed is never used.
fn session() -> MutexGuard<'static, Session> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Status 0 or 1.
fn status(request: impl FnOnce(&mut Session) -> Result<(), SessionError>) -> u32 {
    u32::from(!session().answer(request))
}

/// An address or a length. Both have 32 bits in WebAssembly; on other targets, a value that does
/// not fit becomes 0.
fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

/// A length given by the host.
fn length(value: u32) -> usize {
    to_usize(u64::from(value)).unwrap_or(usize::MAX)
}

/// Allocates `len` bytes for the host to fill, and returns their address; 0 if there is not enough
/// memory.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_input(len: u32) -> u32 {
    // The provenance is exposed because the host writes there.
    session().input(length(len)).map_or(0, |input| number(input.as_mut_ptr().expose_provenance()))
}

/// Stores the input as a file: the first bytes are its key.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_file(key_len: u32) -> u32 {
    status(|session| session.file(length(key_len)))
}

/// Stores the input as the key of an encrypted array.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_key() -> u32 {
    status(Session::key)
}

/// Opens the array in a time window, both ends included, and reads all cells in the order with this
/// number.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_read(start: u64, end: u64, order: u32) -> u32 {
    status(|session| session.read(TimeWindow::between(start, end), order))
}

/// The address of the output of the last request.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_output() -> u32 {
    number(session().output().as_ptr().expose_provenance())
}

/// The length in bytes of the output of the last request.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_output_len() -> u32 {
    number(session().output().len())
}

/// Removes files, key, input and output.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_clear() {
    *session() = Session::default();
}
