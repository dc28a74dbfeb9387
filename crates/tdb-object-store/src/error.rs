//! Errors of stores as I/O errors, with the kinds that tdb knows.

use std::io;

/// The error of a store as an I/O error of the matching kind.
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

/// Whether a store does not support what was requested, usually conditional puts.
pub(crate) const fn is_unsupported(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. })
}
