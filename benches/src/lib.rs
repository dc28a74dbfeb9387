//! What the benchmarks measure on: cells of a few kinds, and the fixtures.
//!
//! `cargo bench -p tdb-benches` runs all of them,
//! `cargo bench -p tdb-benches --bench tiles -- zstd` some; the filters' are in their own crate
//! (`cargo bench -p tdb-filters`). Figures are only worth comparing within one run; each that moves
//! bytes has a copy of the same bytes beside it.
#![forbid(unsafe_code)]

mod synthetic;

use std::path::{Path, PathBuf};

use tdb_codec::{Datatype, FormatVersion, to_u64};
use tdb_filters::TileContext;

pub use synthetic::{DENSE_BYTES, dense};

/// What cells look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Ascending with small steps, irregular where the width leaves room: time stamps, coordinates.
    Realistic,
    /// Random bits.
    Incompressible,
}

impl Kind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Realistic, Self::Incompressible];

    /// For the benchmark's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Realistic => "realistic",
            Self::Incompressible => "incompressible",
        }
    }

    /// `len` bytes of cells of `width` bytes each, the same in every run.
    ///
    /// ```
    /// use tdb_benches::Kind;
    ///
    /// let cells = Kind::Realistic.cells(4, 1024);
    /// let values: Vec<u32> = cells.as_chunks().0.iter().map(|cell| u32::from_le_bytes(*cell)).collect();
    /// assert!(values.is_sorted());
    /// ```
    #[must_use]
    pub fn cells(self, width: usize, len: usize) -> Vec<u8> {
        let mut random = 0x9e37_79b9_7f4a_7c15u64;
        let mut value = 0u64;
        let count = to_u64(len / width.max(1));
        let mut cells = Vec::with_capacity(len);
        for index in 0..count {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let cell = match self {
                Self::Incompressible => random,
                Self::Realistic if width == 1 => index.saturating_mul(0x7f) / count,
                Self::Realistic if width == 2 => index.saturating_mul(0x7fff) / count,
                Self::Realistic => {
                    value = value.saturating_add(random & 15);
                    value
                }
            };
            cells.extend(cell.to_le_bytes().into_iter().take(width));
        }
        cells
    }
}

/// A tile of fixed-size cells of this type.
#[must_use]
pub const fn context(datatype: Datatype) -> TileContext {
    TileContext::new(datatype, datatype.size() as u64, FormatVersion::CURRENT)
}

/// The folder of a fixture array, e.g. `2.30.0/base_dense`.
#[must_use]
pub fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../xtask/fixtures/arrays").join(name)
}
