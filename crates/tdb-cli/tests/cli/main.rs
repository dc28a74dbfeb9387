//! What `tdb` does, run as users run it.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that panics has failed, as it should"
)]

#[cfg(all(unix, feature = "browse"))]
mod browse;
mod changes;
mod cluster;
mod command;
mod common;
mod compress;
mod convert;
#[cfg(feature = "convert")]
mod convert_export;
#[cfg(feature = "convert")]
mod convert_files;
#[cfg(feature = "convert")]
mod convert_import;
mod copy;
mod create;
mod damage;
mod dates;
mod delete;
mod failures;
#[cfg(unix)]
mod first_hour;
mod fixtures;
mod future;
mod groups;
mod import;
mod import_duplicates;
mod import_enumerations;
mod import_files;
mod import_formats;
mod import_growth;
mod import_long;
mod import_parallel;
mod import_text;
mod info_all;
mod language;
mod limits;
mod log;
mod ndjson;
mod numbers;
mod objects;
mod overwrite;
mod pictures;
mod places;
mod progress;
mod publish;
mod queries;
mod raw_writes;
mod rebuild;
mod screens;
// It interrupts a query with the program `timeout`, which not every Unix has.
#[cfg(all(target_os = "linux", feature = "sql"))]
mod second_hour;
mod serve;
mod shells;
mod show;
mod soma;
mod soma_anndata;
mod soma_cells;
mod soma_market;
#[cfg(feature = "sql")]
mod soma_sql;
mod sql;
#[cfg(feature = "sql")]
mod sql_copy;
#[cfg(feature = "sql")]
mod sql_files;
#[cfg(feature = "sql")]
mod sql_language;
#[cfg(all(unix, feature = "sql"))]
mod sql_prompt;
#[cfg(feature = "sql")]
mod sql_results;
mod streams;
mod times;
#[cfg(all(unix, any(feature = "browse", feature = "sql")))]
mod typist;
mod verbose;
mod words;
mod wrong_inputs;
mod zarr;
