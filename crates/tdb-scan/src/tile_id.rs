//! Names a tile of an array.

/// A data tile of a sparse fragment, or of a dense one, in a snapshot of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TileId {
    /// The number of the fragment in the snapshot.
    pub fragment: usize,
    /// The number of the tile in the fragment.
    pub tile: usize,
}
