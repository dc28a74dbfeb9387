//! AnnData in folders of Zarr as experiments of SOMA in TileDB.
//!
//! AnnData keeps single-cell data in Python: tables of cells (`obs`) and genes (`var`), and
//! matrices over both. [`import`] makes an experiment of what its `write_zarr` writes, in version 2
//! or 3 of Zarr: the one that `tdb.soma.from_anndata` makes of it in Python.
//!
//! ```no_run
//! use std::path::Path;
//! use std::sync::Arc;
//!
//! use tdb_anndata::{Import, import};
//! use tdb_array::WriteOptions;
//! use tdb_array::storage::{LocalStorage, WriteStorage};
//! use tdb_soma::Target;
//!
//! // Objects below the experiment have places of their own.
//! let storage = |path: &str| {
//!     let folder = Path::new("cells.soma").join(path);
//!     Ok(Arc::new(LocalStorage::new(folder)) as Arc<dyn WriteStorage>)
//! };
//! let (options, memory) = (WriteOptions::new(), 512 << 20);
//! let target = Target { storage: &storage, options, key: None, memory };
//! let how = Import { measurement: "RNA", layer: "data" };
//! let imported = import(&target, Path::new("cells.zarr"), &how, &|_, _| ())?;
//! for note in &imported.notes {
//!     println!("{} is left out: {}", note.path, note.what);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What becomes of what
//!
//! | AnnData | SOMA |
//! |---|---|
//! | `obs`, `var` | tables, with ids that count from 0 |
//! | the index of a table | a column: that of its name, or `obs_id` and `var_id` |
//! | numbers, truth values, texts, dates; also with a mask | columns whose cells may be null |
//! | a number that is none (NaN) | null |
//! | `categorical` | an enumeration; more than 4096 texts are texts |
//! | `X`, `layers` | layers of `X`: sparse matrices, also of dense ones, whose zeros are left out |
//! | `obsm`, `varm`, `obsp`, `varp` | sparse matrices |
//! | `raw` | the measurement `raw` |
//! | `uns` | a collection: single values are its metadata, texts and tables are tables, numbers dense matrices; a [`Note`] names what is left out, also of what is too large |
//!
//! Encodings are those of AnnData 0.7 to 0.12. What is not known is refused by its path.
//!
//! # Whole or not at all
//!
//! All documents are read before anything is written, and the experiment's own group comes last. A
//! caller that writes to a folder gives it its name when [`import`] has returned.
//!
//! # Folders that are wrong
//!
//! A folder may have been made by anybody: sizes that disagree, indices outside of a matrix, ends
//! of rows that do not ascend, numbers of categories that are none are errors with the path. A
//! chunk that does not fit an eighth of the memory is refused.
#![forbid(unsafe_code)]

mod column;
mod cursor;
mod encoding;
mod error;
mod frame;
mod import;
mod matrix;
mod note;
mod reading;
mod texts;
mod thresholds;
mod uns;

pub use crate::error::{Error, Result};
pub use crate::import::{Import, Imported, import};
pub use crate::note::Note;
