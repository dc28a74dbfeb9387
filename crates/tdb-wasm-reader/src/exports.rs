//! The functions exported to the host. There is one session, because a module has one memory.
//!
//! The only unsafe thing here is that each function keeps its name in the module
//! (`#[unsafe(no_mangle)]`): another function of the same name, anywhere in the program, would be
//! called instead. All names begin with `tdb_`, and no crate below exports any such name. No
//! pointer is dereferenced: the host gets addresses of vectors that the session owns, and writes to
//! them between calls, when no code here accesses them.
#![expect(unsafe_code, reason = "a function keeps its name only with #[unsafe(no_mangle)]")]

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use tdb_codec::to_usize;

use crate::Session;

static SESSION: LazyLock<Mutex<Session>> = LazyLock::new(Mutex::default);

/// A panic ends the module, so a session that a panic left half-changed is never used.
fn session() -> MutexGuard<'static, Session> {
    SESSION.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Begins what the input asks for, whose document has this length. Returns the number of the task.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_begin(document_len: u32) -> u32 {
    session().begin(length(document_len))
}

/// Goes on with a task. Returns a [`Progress`](crate::Progress).
#[unsafe(no_mangle)]
pub extern "C" fn tdb_poll(task: u32) -> u32 {
    session().poll(task).code()
}

/// Ends a task.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_end(task: u32) {
    session().end(task);
}

/// The input is what was wanted under this number. The size is what the server says that the file
/// has; 2^64 - 1 if it did not say.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_give(id: u32, size: u64) {
    session().give(id, (size != u64::MAX).then_some(size));
}

/// What was wanted under this number cannot be had, for the reason in the input; 1 if there is no
/// such file.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_fail(id: u32, is_missing: u32) {
    session().fail(id, is_missing != 0);
}

/// Frees an array.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_close(array: u32) {
    session().close(array);
}

/// The address of the output of the last poll.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_output() -> u32 {
    number(session().output().as_ptr().expose_provenance())
}

/// The length in bytes of the output of the last poll.
#[unsafe(no_mangle)]
pub extern "C" fn tdb_output_len() -> u32 {
    number(session().output().len())
}
