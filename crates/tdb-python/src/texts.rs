//! Texts and bytes: objects of Python from bytes back to back, and bytes from objects.

use std::ffi::CString;

use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};

use crate::errors::Failure;
use crate::memory::Memory;

/// The number of bits of a hash: as many slots as fit the cache of a core, each with four bytes.
const HASH_BITS: u32 = 16;
/// Repetitions are looked for as long as one in [`REPEATED`] of so many cells repeats an earlier
/// one.
const WINDOW: usize = 1 << 16;
const REPEATED: usize = 8;

/// The Python type of a cell.
enum Kind {
    Bytes,
    Utf8,
    /// Another encoding, by Python's name.
    Encoded(CString),
}

impl Kind {
    fn of(encoding: Option<&str>) -> PyResult<Self> {
        match encoding {
            None => Ok(Self::Bytes),
            Some("utf-8") => Ok(Self::Utf8),
            Some(other) => Ok(Self::Encoded(CString::new(other)?)),
        }
    }

    /// Bytes that are not text are kept, so that nothing is lost: as surrogates if they should be
    /// UTF-8.
    fn object(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<Py<PyAny>> {
        Ok(match self {
            Self::Bytes => PyBytes::new(py, bytes).into_any().unbind(),
            Self::Utf8 => match core::str::from_utf8(bytes) {
                Ok(text) => PyString::new(py, text).into_any().unbind(),
                Err(_) => decoded(py, bytes, c"utf-8", c"surrogateescape")?,
            },
            Self::Encoded(encoding) => decoded(py, bytes, encoding, c"replace")?,
        })
    }
}

fn decoded(
    py: Python<'_>,
    bytes: &[u8],
    encoding: &core::ffi::CStr,
    errors: &core::ffi::CStr,
) -> PyResult<Py<PyAny>> {
    let bytes = PyBytes::new(py, bytes);
    Ok(PyString::from_encoded_object(&bytes, Some(encoding), Some(errors))?.into_any().unbind())
}

/// Finds earlier cells with the same bytes, so that cells share objects: making one takes several
/// times as long as counting one reference more, and most columns of texts repeat themselves. Gives
/// up where they do not.
struct Repeats {
    /// The number of a cell with this hash, plus one; 0: none. A cell stays while others repeat it,
    /// so that its bytes stay in the cache.
    slots: Vec<u32>,
    /// Cells of the present window that were looked for, and that repeated an earlier one.
    asked: usize,
    found: usize,
    ended: bool,
}

impl Repeats {
    fn new(cells: usize) -> Self {
        // Few cells are not worth the memory.
        let slots = if cells < 16 { 0 } else { 1 << HASH_BITS };
        Self { slots: vec![0; slots], asked: 0, found: 0, ended: false }
    }

    /// An earlier cell with these bytes, if one is known. The cell is remembered.
    fn earlier<'a>(
        &mut self,
        cell: usize,
        bytes: &[u8],
        at: impl Fn(usize) -> Option<&'a [u8]>,
    ) -> Option<usize> {
        if self.ended {
            return None;
        }
        if self.asked == WINDOW {
            self.ended = self.found < WINDOW / REPEATED;
            (self.asked, self.found) = (0, 0);
        }
        self.asked += 1;
        let first = hash(bytes);
        // Two different texts that many cells have may have one hash, so there is a second place.
        let places = [first, first ^ 1];
        for place in places {
            let Some(before) = self.slots.get(place)?.checked_sub(1) else { continue };
            let before = usize::try_from(before).ok()?;
            if at(before) == Some(bytes) {
                self.found += 1;
                return Some(before);
            }
        }
        let free = places.into_iter().find(|place| self.slots.get(*place) == Some(&0));
        *self.slots.get_mut(free.unwrap_or(first))? = u32::try_from(cell + 1).unwrap_or(0);
        None
    }
}

/// A slot for these bytes: of their length, their first and their last eight.
fn hash(bytes: &[u8]) -> usize {
    let word = |chunk: Option<&[u8; 8]>| chunk.map(|chunk| u64::from_le_bytes(*chunk));
    let (first, last) = match (word(bytes.first_chunk()), word(bytes.last_chunk())) {
        (Some(first), Some(last)) => (first, last),
        _ => (bytes.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)), 0),
    };
    let mixed = (first ^ last.rotate_left(29) ^ u64::try_from(bytes.len()).unwrap_or(0))
        .wrapping_mul(0x9E37_79B9_7F4A_7C15);
    usize::try_from(mixed >> (u64::BITS - HASH_BITS)).unwrap_or(0)
}

/// Texts (`str` in this encoding) or `bytes` as an array of objects. Cells are between offsets, or
/// have a size in bytes.
#[pyfunction]
#[pyo3(signature = (data, offsets, size, encoding))]
pub(crate) fn unpack_texts<'py>(
    py: Python<'py>,
    data: PyReadonlyArray1<'py, u8>,
    offsets: Option<PyReadonlyArray1<'py, u64>>,
    size: usize,
    encoding: Option<&str>,
) -> PyResult<Bound<'py, PyArray1<Py<PyAny>>>> {
    let apart = |_| Failure::Argument("the memory of texts is not contiguous".to_owned());
    let data = data.as_slice().map_err(apart)?;
    let kind = Kind::of(encoding)?;
    let objects = match &offsets {
        Some(offsets) => {
            let offsets = offsets.as_slice().map_err(apart)?;
            let at = |cell: usize| {
                let ends = offsets.get(cell..)?.first_chunk::<2>()?;
                data.get(usize::try_from(ends[0]).ok()?..usize::try_from(ends[1]).ok()?)
            };
            objects(py, offsets.len().saturating_sub(1), &at, &kind)
        }
        None => {
            let cells = data.len().checked_div(size).unwrap_or(0);
            let at = |cell: usize| data.get(cell.checked_mul(size)?..)?.get(..size);
            objects(py, cells, &at, &kind)
        }
    }?;
    Ok(PyArray1::from_vec(py, objects))
}

fn objects<'a>(
    py: Python<'_>,
    cells: usize,
    at: &impl Fn(usize) -> Option<&'a [u8]>,
    kind: &Kind,
) -> PyResult<Vec<Py<PyAny>>> {
    let mut found: Vec<Py<PyAny>> = Vec::with_capacity(cells);
    let mut repeats = Repeats::new(cells);
    for cell in 0..cells {
        let bytes =
            at(cell).ok_or_else(|| Failure::Argument(format!("cell {cell} lies outside of the memory")))?;
        let earlier = repeats.earlier(cell, bytes, at).and_then(|before| found.get(before));
        let object = match earlier {
            Some(object) => object.clone_ref(py),
            None => kind.object(py, bytes)?,
        };
        found.push(object);
    }
    Ok(found)
}

/// A column of texts or bytes for a write: values back to back, an offset for each cell and one
/// more, and a byte for each cell that is 0 where the cell is null. Texts are encoded; without an
/// encoding they become UTF-8.
#[pyfunction]
#[pyo3(signature = (values, encoding=None))]
pub(crate) fn pack_texts(
    values: &Bound<'_, PyAny>,
    encoding: Option<&str>,
) -> PyResult<(Memory, Memory, Memory)> {
    let mut packed = Packed { encoding, bytes: Vec::new(), offsets: vec![0], validity: Vec::new() };
    if let Ok(objects) = values.extract::<PyReadonlyArray1<'_, Py<PyAny>>>() {
        for value in objects.as_array() {
            packed.push(value.bind(values.py()))?;
        }
    } else {
        for value in values.try_iter()? {
            packed.push(&value?)?;
        }
    }
    Ok((packed.bytes.into(), packed.offsets.into(), packed.validity.into()))
}

struct Packed<'a> {
    encoding: Option<&'a str>,
    bytes: Vec<u8>,
    offsets: Vec<u64>,
    validity: Vec<u8>,
}

impl Packed<'_> {
    fn push(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let mut valid = 1;
        if let Ok(text) = value.cast::<PyString>() {
            self.push_text(text)?;
        } else if let Ok(own) = value.cast::<PyBytes>() {
            self.bytes.extend_from_slice(own.as_bytes());
        } else if is_null(value)? {
            valid = 0;
        } else {
            let kind = value.get_type().to_string();
            return Err(Failure::Argument(format!("{kind} is neither a text nor bytes")).into());
        }
        self.validity.push(valid);
        self.offsets.push(u64::try_from(self.bytes.len()).unwrap_or(u64::MAX));
        Ok(())
    }

    fn push_text(&mut self, text: &Bound<'_, PyString>) -> PyResult<()> {
        let errors = match self.encoding {
            None | Some("utf-8") => {
                if let Ok(text) = text.to_str() {
                    self.bytes.extend_from_slice(text.as_bytes());
                    return Ok(());
                }
                // Bytes that were no text when they were read.
                "surrogateescape"
            }
            Some(_) => "strict",
        };
        let encoded = text.call_method1("encode", (self.encoding.unwrap_or("utf-8"), errors))?;
        self.bytes.extend_from_slice(encoded.cast::<PyBytes>()?.as_bytes());
        Ok(())
    }
}

/// Whether this is what Python or pandas says for "nothing".
fn is_null(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    if value.is_none() {
        return Ok(true);
    }
    let kind = value.get_type();
    let name = kind.name()?;
    Ok(matches!(name.to_str()?, "NAType" | "NaTType"))
}
