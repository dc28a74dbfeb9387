//! Errors of stores, as the kinds of I/O errors that tdb knows.

use std::io;

/// The error of a store as an I/O error of the kind that fits it.
pub(crate) fn io_error(error: object_store::Error) -> io::Error {
    use object_store::Error as Store;
    let kind = match &error {
        Store::NotFound { .. } => io::ErrorKind::NotFound,
        Store::AlreadyExists { .. } | Store::Precondition { .. } => io::ErrorKind::AlreadyExists,
        Store::PermissionDenied { .. } | Store::Unauthenticated { .. } => io::ErrorKind::PermissionDenied,
        Store::NotImplemented { .. } | Store::NotSupported { .. } => io::ErrorKind::Unsupported,
        Store::InvalidPath { .. } | Store::UnknownConfigurationKey { .. } => io::ErrorKind::InvalidInput,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, error)
}

/// Whether a store cannot do what was asked of it: conditional puts, mostly.
pub(crate) const fn is_unsupported(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. })
}
