//! The tests of arrays as record batches, and back, in one program: linking one takes as long as
//! linking each of four. `cargo test -p tdb-arrow --test arrow -- MODULE` runs one file.

mod common;
mod from_arrow;
mod record_batches;
mod round_trip;
mod to_arrow;
