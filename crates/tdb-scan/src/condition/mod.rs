//! The columns of a condition in the tiles of fragments: what their statistics decide, and what has
//! to be decoded.

mod columns;
mod decoded;
mod sources;

pub use self::columns::TileColumns;
pub use self::decoded::Decoded;
pub use self::sources::Sources;
pub(crate) use self::sources::fragment_of;
