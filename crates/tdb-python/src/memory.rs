//! Memory of results, which numpy uses without a copy.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tdb_array::query::Buffer;

/// Bytes that were made for Python. numpy makes an array of this object that refers to the memory
/// and keeps the object.
///
/// Nothing in Rust looks at the bytes again, so the array may be written to.
#[pyclass(module = "tdb._tdb", frozen)]
#[derive(Debug)]
pub(crate) struct Memory {
    /// Kept so that the memory stays allocated.
    #[expect(dead_code, reason = "its memory is used through the address")]
    owner: Owner,
    address: usize,
    len: usize,
    /// numpy's name for the type of an item.
    typestr: &'static str,
}

/// The owner of the memory.
#[derive(Debug)]
enum Owner {
    Buffer(#[expect(dead_code, reason = "see above")] Buffer),
    Words(#[expect(dead_code, reason = "see above")] Vec<u64>),
    Bytes(#[expect(dead_code, reason = "see above")] Vec<u8>),
}

impl From<Buffer> for Memory {
    fn from(mut buffer: Buffer) -> Self {
        let bytes = buffer.as_mut_slice();
        let (address, len) = (bytes.as_mut_ptr().addr(), bytes.len());
        Self { owner: Owner::Buffer(buffer), address, len, typestr: "|u1" }
    }
}

impl From<Vec<u64>> for Memory {
    fn from(mut words: Vec<u64>) -> Self {
        let (address, len) = (words.as_mut_ptr().addr(), words.len());
        Self { owner: Owner::Words(words), address, len, typestr: "<u8" }
    }
}

impl From<Vec<u8>> for Memory {
    fn from(mut bytes: Vec<u8>) -> Self {
        let (address, len) = (bytes.as_mut_ptr().addr(), bytes.len());
        Self { owner: Owner::Bytes(bytes), address, len, typestr: "|u1" }
    }
}

#[pymethods]
impl Memory {
    /// How numpy finds the memory: <https://numpy.org/doc/stable/reference/arrays.interface.html>.
    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("shape", (self.len,))?;
        interface.set_item("typestr", self.typestr)?;
        interface.set_item("data", (self.address, false))?;
        Ok(interface)
    }

    fn __len__(&self) -> usize {
        self.len
    }
}
