//! Texts as objects, which some functions return.

use crate::ffi::{Freed, In, Object, Out, OutText};

/// A text that the library made for the caller.
pub(crate) struct StringObject(pub(crate) String);

impl Object for StringObject {
    const NAME: &'static str = "string";
}

exported! {
    fn tiledb_string_view(string: In<StringObject>, data: OutText, length: Out<u64>) -> Code for nobody {
        let text = &string.get()?.0;
        data.keep(string, text)?;
        length.set(u64::try_from(text.len()).unwrap_or(u64::MAX))
    }

    fn tiledb_string_free(string: Freed<StringObject>) -> Code for nobody {
        if string.free() { Ok(()) } else { Err("Invalid TileDB string".into()) }
    }
}
