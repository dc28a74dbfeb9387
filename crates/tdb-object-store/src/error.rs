//! Errors of stores as I/O errors, with the kinds that tdb knows and without secrets.

use std::error::Error;
use std::io;

use tdb_storage::without_secrets;

/// The error of a store as an I/O error of the matching kind.
///
/// Clients name the URL of a request that failed, with the user name and the password in it. Such
/// an error is replaced by its text without them.
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
    if shows_secrets(&error) {
        return io::Error::new(kind, without_secrets(&error.to_string()).into_owned());
    }
    io::Error::new(kind, error)
}

/// Whether the text of an error, or of one of its causes, contains secrets.
fn shows_secrets(error: &dyn Error) -> bool {
    let text = error.to_string();
    *without_secrets(&text) != *text || error.source().is_some_and(shows_secrets)
}

/// Whether a store does not support what was requested, usually conditional puts.
pub(crate) const fn is_unsupported(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::NotImplemented { .. } | object_store::Error::NotSupported { .. })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(text: &str) -> io::Error {
        io_error(object_store::Error::NotFound { path: "a".to_owned(), source: text.into() })
    }

    #[test]
    fn errors_of_clients_lose_passwords_and_keep_their_kind() {
        let error = failed("GET http://user:secret@host/a: 404");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let all = format!("{error} {error:?}");
        assert!(!all.contains("secret") && all.contains("http://host/a: 404"), "{all}");
        // The Debug form includes the causes.
        let plain = failed("GET http://host/a: 404");
        let inner = plain.get_ref().and_then(|inner| inner.downcast_ref::<object_store::Error>());
        assert!(inner.is_some(), "{plain:?}");
    }
}
