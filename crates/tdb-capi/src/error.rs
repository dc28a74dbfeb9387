//! Errors as objects: the text of a failure, for the caller to read and free.

use crate::ffi::{Failure, Freed, INVALID_ERROR, In, Object, OutHandle, OutText, Reporter};

/// The text of a failure.
pub(crate) struct ErrorText(pub(crate) String);

impl Object for ErrorText {
    const NAME: &'static str = "error";
}

/// The last argument of functions without a context.
pub(crate) type OutError = OutHandle<ErrorText>;

impl Reporter for OutError {
    fn begin(&self) -> Result<(), i32> {
        // Without a place for the error there is none that could be told.
        self.put_null().map_err(|_| INVALID_ERROR)
    }

    fn keep(&self, failure: &Failure) {
        if self.is_wanted() {
            // As above.
            let _ = self.put(ErrorText(failure.text().to_owned()));
        }
    }
}

exported! {
    fn tiledb_error_message(error: In<ErrorText>, message: OutText) -> Code for nobody {
        match &error.get()?.0 {
            text if text.is_empty() => message.put_null(),
            text => message.keep(error, text),
        }
    }

    fn tiledb_error_free(error: Freed<ErrorText>) {
        error.free();
    }
}
