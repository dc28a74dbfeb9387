//! The library that writes and reads Zstandard frames.
//!
//! There are two: the C library (feature `zstd`), and a crate in safe Rust (feature
//! `zstd-rust`), which reads frames of every level, writes levels up to 4, and writes higher levels
//! as 4. With both features the C library is used.

#[cfg(feature = "zstd")]
pub(crate) mod c;
#[cfg(all(feature = "zstd-rust", any(test, not(feature = "zstd"))))]
pub(crate) mod rust;

#[cfg(feature = "zstd")]
pub(crate) use c::{Contexts, decode, encode};
#[cfg(all(feature = "zstd-rust", not(feature = "zstd")))]
pub(crate) use rust::{Contexts, decode, encode};
