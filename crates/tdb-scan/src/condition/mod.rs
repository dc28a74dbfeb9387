//! The columns of a condition in the tiles of fragments: what their statistics decide, and what has
//! to be decoded.

mod decoded;
mod tiles;

pub use self::decoded::Decoded;
pub(crate) use self::tiles::fragment_of;
pub use self::tiles::{Sources, TileColumns};
