//! SQL over TileDB arrays: tables of Apache DataFusion.
//!
//! A [`TdbTable`] is a `TableProvider`: its columns are the dimensions and the attributes of an
//! array. Filters become ranges of dimensions and conditions on cells, so that a query reads only
//! the tiles that it needs. Columns and limits are pushed down to the read, and its partitions all
//! cost about the same.
//!
//! ```
//! use std::sync::Arc;
//!
//! use datafusion::arrow::array::AsArray;
//! use datafusion::arrow::datatypes::Int64Type;
//! use datafusion::prelude::SessionContext;
//! use tdb_datafusion::TdbTable;
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> datafusion::error::Result<()> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
//! let session = SessionContext::new();
//! session.register_table("quickstart", Arc::new(TdbTable::open(path)?))?;
//! let found = session.sql("SELECT sum(a) FROM quickstart WHERE rows <= 2").await?.collect().await?;
//! assert_eq!(found[0].column(0).as_primitive::<Int64Type>().value(0), 36);
//! # Ok(())
//! # }
//! ```
//!
//! With [`register`], SQL can create tables itself, including tables of past states:
//!
//! ```sql
//! CREATE EXTERNAL TABLE weather STORED AS TILEDB LOCATION 'path/to/weather';
//! CREATE EXTERNAL TABLE before STORED AS TILEDB LOCATION 'path/to/weather' OPTIONS (timestamp '1700000000000');
//! INSERT INTO weather VALUES (…);
//! UPDATE weather SET temperature = temperature - 32 WHERE station = 'OSLO';
//! DELETE FROM weather WHERE station = 'OSLO' AND temperature > 60;
//! ```
//!
//! [`TdbTableFactory`] registers the same for arrays in object stores ([`Locate`]), and makes
//! locations names of tables: `SELECT … FROM 's3://bucket/weather'`. Functions tell what an array
//! is made of, and what is in a group: `SELECT * FROM tiledb_fragments('path/to/weather')`
//! ([`FUNCTIONS`]).
//!
//! In sessions that [`register`] prepared, comparisons of values of different types are exact,
//! `INSERT` stores the values that it was given or fails, and overflow of integers is an error. In
//! others, they are as in DataFusion, which rounds, truncates and wraps around.
//!
//! # What is pushed down
//!
//! A filter is left to the read alone only if it has exactly the same meaning for every cell as in
//! SQL.
//!
//! | Filter | Dense arrays | Sparse arrays |
//! |---|---|---|
//! | dimensions of integers, dates, times: `=`, `<>`, `<`, …, `IN`, `BETWEEN`, and `OR` of these | ranges | ranges |
//! | dimensions of strings | | ranges; for `<` and `<>` a condition |
//! | attributes of integers, dates, times, text, booleans; also with `IS NULL`, `OR`, `NOT` | DataFusion | condition |
//! | floating-point: `=`, `<>`, `IN` | DataFusion | condition, or ranges |
//! | floating-point between two bounds | DataFusion | condition or ranges, and DataFusion filters again |
//! | floating-point with one bound | DataFusion | condition that keeps NaN, which SQL orders above all numbers, and DataFusion filters again |
//! | enumerated attributes: `=`, `IN` | DataFusion | condition |
//! | attributes that an older fragment does not have, lists, blobs | DataFusion | DataFusion |
//!
//! In dense arrays, DataFusion filters attributes. Where one fragment has all rows, the read
//! applies the same conditions as in sparse arrays before, so that rows which do not satisfy them
//! never become batches.
//!
//! `EXPLAIN` shows what was pushed down, and how many fragments and tiles are read.
//!
//! Filters that other operators make while a query runs (the keys of a join's other side, the last
//! row of a top-k sort) leave out tiles of sparse arrays. In sessions that [`register`] prepared,
//! aggregates without groups are read from statistics of tiles where these are exact, and groups
//! are made where tiles are decoded.
//!
//! # Memory
//!
//! Each partition reserves its memory from the session's pool before it reads, and stays within it.
//! If the session has too little memory for one batch, the query fails with `ResourcesExhausted`.
//!
//! # Features
//!
//! Codecs are features of `tdb-array`, on by default. `functions` adds the functions that
//! DataFusion has features for (dates, strings, regular expressions, mathematics, lists); the
//! program may also choose these itself. `datafusion` is re-exported, because its types are in this
//! crate's signatures. This crate does not know files, byte layouts, or how queries are answered.
#![forbid(unsafe_code)]

mod aggregate;
mod batch;
mod checked;
mod clocks;
mod columns;
mod dates;
mod delete;
mod delete_rule;
mod dynamic;
mod error;
mod exact;
mod exec;
mod factory;
mod figures;
mod functions;
mod insert;
mod intervals;
mod locate;
mod members;
mod named;
mod options;
mod plan_functions;
mod planning;
mod predicate;
mod pushdown;
mod ranges;
mod reading;
mod remote;
mod rewrite;
mod rules;
mod scan;
mod state;
mod statement;
mod statistics;
mod store;
mod table;
mod tasks;
mod thresholds;
mod update_rule;
mod value;

pub use datafusion;
pub use datafusion::error::Result;

pub use self::exec::TdbExec;
pub use self::factory::{TdbTableFactory, register};
pub use self::functions::FUNCTIONS;
pub use self::locate::{LocalFolders, Locate};
pub use self::options::TableOptions;
pub use self::plan_functions::PlanFunctions;
pub use self::remote::{ScanDescription, SortedColumn, TableDescription};
pub use self::statement::plan_statement;
pub use self::table::TdbTable;
