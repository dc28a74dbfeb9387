//! What an object of SOMA is: its kind, and the versions of the encoding.

use core::fmt;

/// The entries of the metadata that say what an object is.
pub(crate) const TYPE: &str = "soma_object_type";
pub(crate) const VERSION: &str = "soma_encoding_version";
pub(crate) const SPATIAL_VERSION: &str = "soma_spatial_encoding_version";

/// The versions of the encoding that are known; objects are written with the last one.
pub const ENCODING_VERSIONS: [&str; 2] = ["1", "1.1.0"];
/// The versions of the encoding of what is about space.
pub const SPATIAL_ENCODING_VERSIONS: [&str; 2] = ["0.1.0", "0.2.0"];

/// The kind of an object, which its metadata names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Named objects of any kind.
    Collection,
    /// Cells and what was measured of them.
    Experiment,
    /// Variables (genes), and matrices of cells and variables.
    Measurement,
    /// A table with a column of ids.
    DataFrame,
    /// A sparse matrix, or one of more or fewer axes.
    SparseNdArray,
    /// A dense matrix, or one of more or fewer axes.
    DenseNdArray,
    /// What is at places of a tissue: images, points, geometries.
    Scene,
    /// An image in several resolutions.
    MultiscaleImage,
    /// A table of points.
    PointCloudDataFrame,
    /// A table of geometries.
    GeometryDataFrame,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 10] = [
        Self::Collection,
        Self::Experiment,
        Self::Measurement,
        Self::DataFrame,
        Self::SparseNdArray,
        Self::DenseNdArray,
        Self::Scene,
        Self::MultiscaleImage,
        Self::PointCloudDataFrame,
        Self::GeometryDataFrame,
    ];

    /// The kind of this name.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The name that the metadata has.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Collection => "SOMACollection",
            Self::Experiment => "SOMAExperiment",
            Self::Measurement => "SOMAMeasurement",
            Self::DataFrame => "SOMADataFrame",
            Self::SparseNdArray => "SOMASparseNDArray",
            Self::DenseNdArray => "SOMADenseNDArray",
            Self::Scene => "SOMAScene",
            Self::MultiscaleImage => "SOMAMultiscaleImage",
            Self::PointCloudDataFrame => "SOMAPointCloudDataFrame",
            Self::GeometryDataFrame => "SOMAGeometryDataFrame",
        }
    }

    /// Whether objects of this kind are groups, which have members; others are arrays.
    #[must_use]
    pub const fn is_collection(self) -> bool {
        matches!(
            self,
            Self::Collection | Self::Experiment | Self::Measurement | Self::Scene | Self::MultiscaleImage
        )
    }

    /// Whether objects of this kind are tables, whose rows have ids.
    #[must_use]
    pub const fn is_table(self) -> bool {
        matches!(self, Self::DataFrame | Self::PointCloudDataFrame | Self::GeometryDataFrame)
    }

    /// Whether objects of this kind are matrices.
    #[must_use]
    pub const fn is_matrix(self) -> bool {
        matches!(self, Self::SparseNdArray | Self::DenseNdArray)
    }

    /// Whether objects of this kind say the version of the encoding of what is about space.
    #[must_use]
    pub const fn is_spatial(self) -> bool {
        matches!(
            self,
            Self::Scene | Self::MultiscaleImage | Self::PointCloudDataFrame | Self::GeometryDataFrame
        )
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_name_and_is_found_by_it() {
        for kind in Kind::ALL {
            assert_eq!(Kind::of(kind.name()), Some(kind));
            assert_eq!(kind.is_collection(), !(kind.is_table() || kind.is_matrix()), "{kind}");
        }
        assert_eq!(Kind::of("SOMAExperimen"), None);
        assert_eq!(Kind::of("experiment"), None);
    }
}
