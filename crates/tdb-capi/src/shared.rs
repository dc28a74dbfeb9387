//! A value that several threads may look at and change.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A value behind a lock. A panic while it was locked leaves it as it was at that moment, as the
/// caller got an error and may go on.
#[derive(Debug, Default)]
pub(crate) struct Shared<T>(Mutex<T>);

impl<T> Shared<T> {
    /// The value, to share.
    pub(crate) const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// The value, until the guard is dropped.
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone> Shared<T> {
    /// A copy of the value.
    pub(crate) fn copy(&self) -> T {
        self.lock().clone()
    }
}
