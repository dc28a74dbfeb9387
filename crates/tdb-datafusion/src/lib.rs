//! SQL over TileDB arrays.
