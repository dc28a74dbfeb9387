//! Single cells in TileDB: experiments of SOMA, described, checked, and made of Matrix Market.
//!
//! SOMA (stack of matrices, annotated) is how single-cell data is kept in TileDB: groups and arrays
//! whose metadata says what they are. This crate opens such objects, whoever wrote them
//! (`tiledbsoma`, `tdb.soma` in Python), and says what is in them:
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use tdb_array::OpenOptions;
//! use tdb_array::group::{LocalPlaces, Places};
//! use tdb_soma::{Object, rows};
//!
//! let places: Arc<dyn Places> = Arc::new(LocalPlaces);
//! let experiment = Object::open(&OpenOptions::new(), &places, "path/to/experiment")?;
//! for measurement in experiment.measurements() {
//!     let var = measurement.table("var").and_then(Object::array).ok_or("no var")?;
//!     println!("{}: {} variables", measurement.name, rows(var)?);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The layout
//!
//! An experiment is a tree of groups, whose leaves are arrays:
//!
//! ```text
//! experiment                 SOMAExperiment
//! ├─ obs                     SOMADataFrame       a row for each observation (cell)
//! ├─ ms                      SOMACollection      measurements, by name
//! │  └─ RNA                  SOMAMeasurement
//! │     ├─ var               SOMADataFrame       a row for each variable (gene)
//! │     ├─ X                 SOMACollection      layers: matrices of observations × variables
//! │     │  └─ data           SOMASparseNDArray
//! │     ├─ obsm, varm        SOMACollection      matrices with a row for each observation, variable
//! │     ├─ obsp, varp        SOMACollection      matrices of observations × observations, …
//! │     └─ uns               SOMACollection      what has no axis
//! ├─ obs_spatial_presence    SOMADataFrame       which observation is in which scene
//! └─ spatial                 SOMACollection      scenes (SOMAScene): images, points, geometries
//! ```
//!
//! Members have names, and URIs relative to their group if all of it was written together.
//!
//! | Object | Is | Has |
//! |---|---|---|
//! | every one | a group or an array | in its metadata `soma_object_type` (the names above) and `soma_encoding_version` (`1.1.0`; `1` in experiments of the first releases) |
//! | `SOMADataFrame` | a sparse array | a column `soma_joinid` (`INT64`): the id of the row. It is the only dimension, unless the table has another index; all other columns are attributes, categories are enumerations |
//! | `SOMASparseNDArray` | a sparse array | dimensions `soma_dim_0`, `soma_dim_1`, … (`INT64`, from 0 on), an attribute `soma_data` |
//! | `SOMADenseNDArray` | a dense array | the same |
//! | what is about space | | `soma_spatial_encoding_version` (`0.2.0`), and mostly `soma_coordinate_space` |
//!
//! Ids tie it together: `soma_dim_0` of `X` is a `soma_joinid` of `obs`, and `soma_dim_1` one of
//! `var`. The *shape* of a matrix is its current domain, which can grow; the domain is nearly as
//! large as 64 bits allow. The shapes of `obs`, `var` and all matrices agree, and
//! [`verify`] checks this and the rest of the table.
//!
//! # Matrix Market
//!
//! [`import`] makes an experiment of what Cell Ranger writes, and [`export`] writes it. The matrix
//! is read and written in parts; only the names of cells and genes are in memory.
//!
//! This crate opens no files, and knows no clocks, threads, terminals or byte layouts.
#![forbid(unsafe_code)]

mod create;
mod entries;
mod error;
mod export;
mod facts;
mod ids;
mod import;
mod kind;
mod lines;
mod market;
mod matrix;
mod names;
mod object;
mod rules;
mod table;

pub use self::create::{Build, Target, folder_of};
pub use self::error::{Error, Result};
pub use self::export::{Export, TenXFiles, export};
pub use self::facts::{
    DATA, JOINID, TableColumn, bytes, columns, largest_shape, rows, shape, whole, written,
};
pub use self::import::{Imported, TenX, import};
pub use self::kind::{ENCODING_VERSIONS, Kind, SPATIAL_ENCODING_VERSIONS};
pub use self::matrix::{MatrixValues, NewMatrix};
pub use self::object::{Content, Object};
pub use self::rules::{Depth, Finding, Rule, Weight, verify};
pub use self::table::{MAX_CATEGORIES, NewCells, NewField, NewRows, NewTable, wrong_column_name};
