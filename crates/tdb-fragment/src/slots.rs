//! The order of fields in all per-field lists of fragment metadata.

use tdb_codec::{FormatVersion, Gate};
use tdb_schema::{ArraySchema, FieldKind};

/// The position of each field in the per-field lists of a fragment's metadata.
///
/// | slot | versions 3–4 | 5 on |
/// |---|---|---|
/// | `0..A` | attributes | attributes |
/// | `A` | `__coords` | `__coords` placeholder, present and zero |
/// | `A+1..A+1+D` | – | dimensions |
/// | next | – | `__timestamps` if flagged |
/// | next two | – | `__delete_timestamps`, `__delete_condition_index` if flagged |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slots {
    attributes: usize,
    dimensions: usize,
    timestamps: bool,
    deletes: bool,
}

impl Slots {
    /// The slots of a fragment of `version` written with `schema`.
    #[must_use]
    pub fn new(schema: &ArraySchema, version: FormatVersion, timestamps: bool, deletes: bool) -> Self {
        let has_dimensions = version.has(Gate::DimensionFiles);
        let dimensions = if has_dimensions { schema.domain.dimensions.len() } else { 0 };
        Self { attributes: schema.attributes.len(), dimensions, timestamps, deletes }
    }

    /// Number of slots.
    #[must_use]
    pub fn len(&self) -> usize {
        let extra = usize::from(self.timestamps).saturating_add(2 * usize::from(self.deletes));
        self.attributes.saturating_add(1).saturating_add(self.dimensions).saturating_add(extra)
    }

    /// Always false: there is always the coordinates slot.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        false
    }

    /// Number of slots in the lists about variable-length data: up to version 4, only attributes
    /// have such slots.
    #[must_use]
    pub fn var_len(&self, version: FormatVersion) -> usize {
        if version.has(Gate::DimensionFiles) { self.len() } else { self.attributes }
    }

    /// The slot of an attribute or dimension. Up to version 4 dimensions share the coordinates
    /// slot.
    #[must_use]
    pub const fn field(&self, kind: FieldKind) -> usize {
        match kind {
            FieldKind::Attribute(index) => index,
            FieldKind::Dimension(_) if self.dimensions == 0 => self.coords(),
            FieldKind::Dimension(index) => self.attributes.saturating_add(1).saturating_add(index),
        }
    }

    /// The slot of `__coords`.
    #[must_use]
    pub const fn coords(&self) -> usize {
        self.attributes
    }

    /// The slot of the delete timestamps, if the fragment has them.
    #[must_use]
    pub const fn delete_timestamps(&self) -> Option<usize> {
        if self.deletes {
            let first = self.attributes.saturating_add(1).saturating_add(self.dimensions);
            Some(if self.timestamps { first.saturating_add(1) } else { first })
        } else {
            None
        }
    }

    /// The slot of the cell timestamps, if the fragment has them.
    #[must_use]
    pub const fn timestamps(&self) -> Option<usize> {
        if self.timestamps {
            Some(self.attributes.saturating_add(1).saturating_add(self.dimensions))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use tdb_codec::{ArrayType, CellValNum, Datatype};
    use tdb_schema::{Attribute, Dimension, Domain};

    use super::*;

    /// Two attributes and three dimensions.
    fn slots(version: u32, timestamps: bool, deletes: bool) -> (Slots, FormatVersion) {
        let dimensions = ["x", "y", "z"].map(|name| Dimension::new(name, 0u8..=9));
        let schema = ArraySchema::new(ArrayType::Sparse, Domain::new(dimensions.to_vec()))
            .with_attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
            .with_attribute(Attribute::new("b", Datatype::Int32, CellValNum::ONE));
        let version = FormatVersion::parse(version).unwrap();
        (Slots::new(&schema, version, timestamps, deletes), version)
    }

    #[test]
    fn dimensions_share_the_slot_of_the_coordinates_until_they_have_files() {
        let (old, version) = slots(4, false, false);
        assert_eq!((old.len(), old.var_len(version), old.coords()), (3, 2, 2));
        assert_eq!([0, 1].map(|index| old.field(FieldKind::Attribute(index))), [0, 1]);
        assert_eq!([0, 1, 2].map(|index| old.field(FieldKind::Dimension(index))), [2, 2, 2]);
        let (new, version) = slots(5, false, false);
        assert_eq!((new.len(), new.var_len(version), new.coords()), (6, 6, 2));
        assert_eq!([0, 1].map(|index| new.field(FieldKind::Attribute(index))), [0, 1]);
        assert_eq!([0, 1, 2].map(|index| new.field(FieldKind::Dimension(index))), [3, 4, 5]);
        assert!(!new.is_empty());
    }

    #[test]
    fn times_of_cells_and_of_deletes_follow_the_dimensions() {
        let seen = |timestamps, deletes| {
            let (slots, _) = slots(22, timestamps, deletes);
            (slots.len(), slots.timestamps(), slots.delete_timestamps())
        };
        assert_eq!(seen(false, false), (6, None, None));
        assert_eq!(seen(true, false), (7, Some(6), None));
        assert_eq!(seen(false, true), (8, None, Some(6)));
        assert_eq!(seen(true, true), (9, Some(6), Some(7)));
    }
}
