//! The file or the standard output that a result goes to.

use std::io::{self, Write};
use std::path::Path;

use crate::failure::{Failure, Result};

/// The destination of text, and its name in error messages.
pub(crate) struct Out<'o> {
    pub(crate) out: &'o mut dyn Write,
    pub(crate) path: Option<&'o Path>,
}

impl Out<'_> {
    pub(crate) fn write(&mut self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result {
        write(self.out).map_err(|error| match self.path {
            Some(path) => Failure::at(path, error),
            None => error.into(),
        })
    }
}
