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
