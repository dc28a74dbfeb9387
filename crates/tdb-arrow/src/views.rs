//! Text as Arrow's views.
//!
//! Arrow checks text whenever an array of it is made, each short string on its own: for text that
//! is not ASCII this takes as long as decoding it. Here all the text of a band is checked at once,
//! and Arrow is given strings that Rust knows to be text. Strings of more than 12 bytes stay where
//! they are; the others are in their views.

use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::StringViewBuilder;
use arrow_buffer::{Buffer, NullBuffer};

/// Arrow keeps longer strings outside of their views.
const LONGEST_INSIDE: usize = 12;

/// The views of cells; `None` if their bytes are not text, or if views cannot address them.
/// `offsets` are where the cells begin, and the end of the last one.
pub(crate) fn views(values: &Buffer, offsets: &[u64], nulls: Option<&NullBuffer>) -> Option<ArrayRef> {
    let all = simdutf8::basic::from_utf8(values.as_slice()).ok()?;
    u32::try_from(all.len()).ok()?;
    let cells = offsets.len().checked_sub(1)?;
    let mut views = StringViewBuilder::with_capacity(cells);
    let block = views.append_block(values.clone());
    let mut start = usize::try_from(*offsets.first()?).ok()?;
    for (cell, end) in offsets.iter().skip(1).enumerate() {
        let end = usize::try_from(*end).ok()?;
        // It begins and ends between two characters, or it is no text.
        let text = all.get(start..end)?;
        if nulls.is_some_and(|nulls| nulls.is_null(cell)) {
            views.append_null();
        } else if text.len() <= LONGEST_INSIDE {
            views.try_append_value(text).ok()?;
        } else {
            let (start, len) = (u32::try_from(start).ok()?, u32::try_from(text.len()).ok()?);
            views.try_append_view(block, start, len).ok()?;
        }
        start = end;
    }
    Some(Arc::new(views.finish()))
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;

    use super::*;

    fn of(texts: &[&str]) -> (Buffer, Vec<u64>) {
        let ends = texts.iter().scan(0, |end, text| {
            *end += u64::try_from(text.len()).unwrap();
            Some(*end)
        });
        (Buffer::from_vec(texts.concat().into_bytes()), core::iter::once(0).chain(ends).collect())
    }

    #[test]
    fn views_have_the_strings_and_long_ones_stay_where_they_are() {
        let texts = ["", "é", "twelve bytes", "thirteen byte", "größer als zwölf Bytes", "x"];
        let (values, offsets) = of(&texts);
        let nulls = NullBuffer::from(vec![true, true, true, true, true, false]);
        let array = views(&values, &offsets, Some(&nulls)).unwrap();
        let array = array.as_string_view();
        let found: Vec<Option<&str>> = array.iter().collect();
        assert_eq!(found[..5], texts.map(Some)[..5]);
        assert_eq!(found[5], None);
        assert_eq!(array.value(3).as_ptr(), values.as_slice()[14..].as_ptr());
        assert_eq!(array.data_buffers().len(), 1);
    }

    #[test]
    fn bytes_that_are_no_text_have_no_views() {
        let (values, offsets) = of(&["é", "a"]);
        assert!(views(&values, &[0, 1, 3], None).is_none(), "the first cell ends inside a character");
        assert!(views(&Buffer::from_vec(vec![0xffu8]), &[0, 1], None).is_none());
        assert!(views(&values, &[0, 2, 9], None).is_none(), "the last cell ends after the bytes");
        assert!(views(&values, &[2, 0], None).is_none(), "a cell ends before it begins");
        assert!(views(&values, &offsets, None).is_some());
    }
}
