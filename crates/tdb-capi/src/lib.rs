//! TileDB's C functions, on the crates of tdb: a `libtiledb.so.2.30` for programs that load one.
//!
//! A module an object, named as the functions are. Each function is some lines inside
//! `exported!` (in `ffi`), which makes the outer shell: it refuses a context that is none, catches
//! panics, keeps the text of a failure for the caller, and returns the code. Only the folder `ffi`
//! touches the caller's pointers; the rest is safe code over Rust types.
//!
//! Functions that are not written yet are made by the build script from `signatures.tsv`, and
//! return an error that names them. A function is written as soon as a file of `src` has a line
//! `    fn tiledb_…(` inside of `exported!`; nothing else has to be registered.
#![deny(unsafe_code)]

#[cfg(target_endian = "big")]
compile_error!("values go to callers as the format stores them: in little-endian order");

#[macro_use]
mod ffi;

mod array;
mod array_schema;
mod array_schema_evolution;
mod attribute;
mod buffer;
mod codes;
mod config;
mod consolidation;
mod consolidation_plan;
mod context;
mod current_domain;
mod dimension;
mod dimension_label;
mod domain;
mod dump;
mod enumeration;
mod enums;
mod error;
mod filestore;
mod filter;
mod filter_list;
mod fragment_info;
mod group;
mod metadata;
mod misc;
mod ndrectangle;
mod object;
mod place;
mod profile;
mod query;
mod query_condition;
mod shared;
mod stats;
mod stores;
mod string;
mod subarray;
mod version;
mod vfs;

mod unsupported {
    //! What the build script makes: functions that say that they are not written.
    #![expect(unused_variables, reason = "the arguments are there for the signature")]

    include!(concat!(env!("OUT_DIR"), "/stubs.rs"));
}

#[cfg(test)]
mod tests;

/// A length as the C API counts.
pub(crate) fn number(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
