//! SQL over TileDB arrays: tables of Apache DataFusion.
//!
//! A [`TdbTable`] is a `TableProvider`: its columns are the dimensions and the attributes of an array. Filters become ranges of
//! dimensions and conditions on cells, so that a query reads the tiles that it needs and no others; columns and limits reach the read,
//! and its partitions cost about the same each.
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
//! With [`register`], SQL makes tables itself, also of the past:
//!
//! ```sql
//! CREATE EXTERNAL TABLE weather STORED AS TILEDB LOCATION 'path/to/weather';
//! CREATE EXTERNAL TABLE before STORED AS TILEDB LOCATION 'path/to/weather' OPTIONS (timestamp '1700000000000');
//! INSERT INTO weather VALUES (…);
//! ```
//!
//! # What is pushed down
//!
//! A filter is left to the read alone only where cell by cell it means what SQL means.
//!
//! | Filter | Dense arrays | Sparse arrays |
//! |---|---|---|
//! | dimensions of integers, dates, times: `=`, `<>`, `<`, …, `IN`, `BETWEEN`, and `OR` of these | ranges | ranges |
//! | dimensions of strings | | ranges; for `<` and `<>` a condition |
//! | attributes of integers, dates, times, text, truth values; also with `IS NULL`, `OR`, `NOT` | DataFusion | condition |
//! | reals: `=`, `<>`, `IN` | DataFusion | condition, or ranges |
//! | reals between two bounds | DataFusion | condition or ranges, and DataFusion looks again |
//! | reals with one bound | DataFusion | DataFusion: to SQL, NaN is larger than all numbers |
//! | enumerated attributes: `=`, `IN` | DataFusion | condition |
//! | attributes that an older fragment does not have, lists, blobs | DataFusion | DataFusion |
//!
//! `EXPLAIN` shows what was pushed, and how many fragments and tiles are read.
//!
//! # Memory
//!
//! Each partition takes its memory of the session's pool before it reads, and keeps to it. A session that has too little for one batch
//! fails with `ResourcesExhausted`.
//!
//! # Features
//!
//! Codecs are those of `tdb-array`, on by default. `datafusion` is re-exported, because its types are in this crate's signatures.
//! What this crate does not know: files, byte layouts, how queries are answered.
#![forbid(unsafe_code)]

mod columns;
mod error;
mod exec;
mod factory;
mod insert;
mod intervals;
mod options;
mod predicate;
mod pushdown;
mod ranges;
mod reading;
mod scan;
mod state;
mod statistics;
mod table;
mod value;

pub use datafusion;
pub use datafusion::error::Result;

pub use self::exec::TdbExec;
pub use self::factory::{TdbTableFactory, register};
pub use self::options::TableOptions;
pub use self::table::TdbTable;
