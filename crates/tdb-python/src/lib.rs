//! The extension module `tdb._tdb` of the Python package `tdb`.
//!
//! The package has two layers. This module wraps the public interfaces of `tdb-array`, `tdb-arrow`,
//! `tdb-text`, `tdb-zarr` and `tdb-object-store` one to one; the Python files in `python/tdb` make
//! of it what people call. Neither has logic of arrays. Schemas, fragments, histories and plans
//! pass between the two as JSON, in the notation of the command `tdb`.
//!
//! No call holds the interpreter's lock while it reads or writes. A read on the main thread looks
//! for signals, so that Ctrl-C ends it (`watch`). Memory of results is given to numpy without a
//! copy (`memory`). Threads of queries end with the query, and the runtime for object stores is
//! started again in a forked process, so `fork` is safe. With the feature `sql` the module also
//! has the command itself (`tdb-cli`), and the sessions of its SQL.
#![forbid(unsafe_code)]

mod array;
mod arrow;
mod cells;
#[cfg(feature = "sql")]
mod command;
mod condition;
#[cfg(feature = "datafusion")]
mod datafusion;
mod errors;
mod evolve;
mod group;
mod maintain;
mod memory;
mod open_array;
mod place;
mod read;
mod schema;
#[cfg(feature = "sql")]
mod sql;
mod texts;
mod values;
mod watch;
mod write;
mod zarr;

use pyo3::prelude::*;

/// The extension module. The package `tdb` is what programs import.
#[pymodule]
mod _tdb {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::array::{history, metadata, object_type};
    #[pymodule_export]
    use crate::arrow::{from_arrow, write_arrow};
    #[pymodule_export]
    use crate::cells::{Batches, Cells};
    #[cfg(feature = "sql")]
    #[pymodule_export]
    use crate::command::command;
    #[pymodule_export]
    use crate::condition::Condition;
    #[cfg(feature = "datafusion")]
    #[pymodule_export]
    use crate::datafusion::Table;
    #[pymodule_export]
    use crate::evolve::evolve;
    #[pymodule_export]
    use crate::group::{create_group, group_members, group_update};
    #[pymodule_export]
    use crate::maintain::{consolidate, publish, vacuum, verify};
    #[pymodule_export]
    use crate::memory::Memory;
    #[pymodule_export]
    use crate::open_array::Array;
    #[pymodule_export]
    use crate::place::Place;
    #[pymodule_export]
    use crate::read::Read;
    #[pymodule_export]
    use crate::schema::{check_schema, create, filters_of_text, ticks_of_text};
    #[cfg(feature = "sql")]
    #[pymodule_export]
    use crate::sql::Sql;
    #[pymodule_export]
    use crate::texts::{pack_texts, unpack_texts};
    #[pymodule_export]
    use crate::values::{date_span, hint, memory_bytes};
    #[pymodule_export]
    use crate::write::{create_filled, delete, write, write_metadata};
    #[pymodule_export]
    use crate::zarr::Zarr;

    /// Adds the version.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
