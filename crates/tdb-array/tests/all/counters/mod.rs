//! What queries decode and copy, beside the least that a reader can do with what is stored.
//!
//! The least is computed from the query, the places of its cells and the size of a chunk (`least`),
//! not by any code that plans. A field cannot be decoded in fewer chunks than its least, or cells
//! of the result would be missing; so where the number of all chunks is the sum of the leasts, each
//! field was decoded in as many as its own.
//!
//! The least of a copy is: nothing for a tile that is a run of the result, because it can be
//! decoded there; once for each other byte of the result. Every test says where a query does more,
//! and why.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::arithmetic_side_effects,
    reason = "a test that panics has failed, and its numbers are small"
)]

mod dense;
mod least;
mod sparse;
mod strings;
