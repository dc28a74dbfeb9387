//! The sections of a fragment metadata file, and the footer's table of their offsets.

use tdb_codec::{FormatVersion, Gate, Reader, Result};

use crate::Slots;

/// One section of the metadata file: a separate generic tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Section {
    /// MBRs of all tiles.
    RTree,
    /// Offsets of a field's tiles in its data file.
    TileOffsets(usize),
    /// Offsets of a field's value tiles in its `_var` file.
    VarOffsets(usize),
    /// Unfiltered sizes of a field's value tiles.
    VarSizes(usize),
    /// Offsets of a field's validity tiles.
    ValidityOffsets(usize),
    /// Smallest value of each tile.
    Mins(usize),
    /// Largest value of each tile.
    Maxes(usize),
    /// Sum of each tile.
    Sums(usize),
    /// Null count of each tile.
    NullCounts(usize),
    /// Statistics of the whole fragment.
    FragmentStatistics,
    /// Delete conditions that were already applied.
    ProcessedConditions,
    /// A dimension's coordinate of each tile's first cell in global order (version 23, unreleased).
    GlobalOrderMins(usize),
    /// A dimension's coordinate of each tile's last cell in global order (version 23, unreleased).
    GlobalOrderMaxes(usize),
}

impl Section {
    /// The section's name, for messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RTree => "R-tree",
            Self::TileOffsets(_) => "tile offsets",
            Self::VarOffsets(_) => "tile var offsets",
            Self::VarSizes(_) => "tile var sizes",
            Self::ValidityOffsets(_) => "tile validity offsets",
            Self::Mins(_) => "tile mins",
            Self::Maxes(_) => "tile maxes",
            Self::Sums(_) => "tile sums",
            Self::NullCounts(_) => "tile null counts",
            Self::FragmentStatistics => "fragment statistics",
            Self::ProcessedConditions => "processed conditions",
            Self::GlobalOrderMins(_) => "tile global order mins",
            Self::GlobalOrderMaxes(_) => "tile global order maxes",
        }
    }

    /// The field slot that the section belongs to, if any.
    #[must_use]
    pub const fn slot(self) -> Option<usize> {
        match self {
            Self::TileOffsets(slot)
            | Self::VarOffsets(slot)
            | Self::VarSizes(slot)
            | Self::ValidityOffsets(slot)
            | Self::Mins(slot)
            | Self::Maxes(slot)
            | Self::Sums(slot)
            | Self::NullCounts(slot) => Some(slot),
            Self::RTree
            | Self::FragmentStatistics
            | Self::ProcessedConditions
            | Self::GlobalOrderMins(_)
            | Self::GlobalOrderMaxes(_) => None,
        }
    }
}

/// How often a section occurs.
#[derive(Clone, Copy)]
enum Count {
    Once,
    PerField,
    PerVarField,
}

type Row = (fn(usize) -> Section, Gate, Count);

/// The table of sections: the footer's offsets in wire order, each with the gate that introduced
/// it.
const TABLE: [Row; 11] = [
    (|_| Section::RTree, Gate::FragmentFooter, Count::Once),
    (Section::TileOffsets, Gate::FragmentFooter, Count::PerField),
    (Section::VarOffsets, Gate::FragmentFooter, Count::PerVarField),
    (Section::VarSizes, Gate::FragmentFooter, Count::PerVarField),
    (Section::ValidityOffsets, Gate::Nullable, Count::PerField),
    (Section::Mins, Gate::TileStatistics, Count::PerField),
    (Section::Maxes, Gate::TileStatistics, Count::PerField),
    (Section::Sums, Gate::TileStatistics, Count::PerField),
    (Section::NullCounts, Gate::TileStatistics, Count::PerField),
    (|_| Section::FragmentStatistics, Gate::FragmentStatistics, Count::Once),
    (|_| Section::ProcessedConditions, Gate::DeleteFiles, Count::Once),
];

/// Whether metadata files of a version end in the section of processed conditions although the
/// footer has no offset for it: it follows all other sections.
#[must_use]
pub const fn has_unlisted_conditions(version: FormatVersion) -> bool {
    version.has(Gate::DeleteMetadata) && !version.has(Gate::DeleteFiles)
}

/// Every section of a file with its offset, in the footer's order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectionOffsets {
    /// Offsets in wire order; `sections` contains the meaning of each.
    offsets: Vec<u64>,
    /// The same offsets in ascending order, to find the end of a section.
    ascending: Vec<u64>,
    /// Index in `offsets` of the first slot of each table row, and its slot count.
    rows: Vec<(usize, usize)>,
    /// Offsets of the global-order bounds, from an optional section: minimums, then maximums.
    bounds: (Vec<u64>, Vec<u64>),
}

impl Count {
    fn number(self, gate: Gate, version: FormatVersion, slots: Slots) -> usize {
        match self {
            _ if !version.has(gate) => 0,
            Self::Once => 1,
            Self::PerField => slots.len(),
            Self::PerVarField => slots.var_len(version),
        }
    }
}

impl SectionOffsets {
    /// Collects the offset of every section that a fragment of `version` has, by calling `offset`
    /// for each. The calls are in the footer's order, which is also the order in which libtiledb
    /// writes the sections.
    ///
    /// # Errors
    /// The first error that `offset` returns.
    pub fn build<E>(
        version: FormatVersion,
        slots: Slots,
        mut offset: impl FnMut(Section) -> core::result::Result<u64, E>,
    ) -> core::result::Result<Self, E> {
        let mut offsets = Vec::new();
        let mut rows = Vec::with_capacity(TABLE.len());
        for (section, gate, count) in &TABLE {
            let count = count.number(*gate, version, slots);
            rows.push((offsets.len(), count));
            for slot in 0..count {
                offsets.push(offset(section(slot))?);
            }
        }
        Ok(Self::new(offsets, rows))
    }

    pub(crate) fn parse(reader: &mut Reader<'_>, version: FormatVersion, slots: Slots) -> Result<Self> {
        Self::build(version, slots, |section| reader.u64(section.name()))
    }

    fn new(offsets: Vec<u64>, rows: Vec<(usize, usize)>) -> Self {
        let mut ascending = offsets.clone();
        ascending.sort_unstable();
        Self { offsets, ascending, rows, bounds: Default::default() }
    }

    /// Stores the offsets from the footer's optional section.
    pub(crate) fn set_global_order_bounds(&mut self, mins: &[u64], maxes: &[u64]) {
        self.bounds = (mins.to_vec(), maxes.to_vec());
        self.ascending.extend(mins.iter().chain(maxes));
        self.ascending.sort_unstable();
    }

    /// The number of offsets here, and the number in a footer of `version`.
    pub(crate) fn counts(&self, version: FormatVersion, slots: Slots) -> (usize, usize) {
        let expected = TABLE.iter().map(|(_, gate, count)| count.number(*gate, version, slots)).sum();
        (self.offsets.len(), expected)
    }

    /// Offset of a section; `None` if the file's version does not have it.
    #[must_use]
    pub fn get(&self, section: Section) -> Option<u64> {
        match section {
            Section::GlobalOrderMins(dimension) => return self.bounds.0.get(dimension).copied(),
            Section::GlobalOrderMaxes(dimension) => return self.bounds.1.get(dimension).copied(),
            _ => {}
        }
        let row = TABLE
            .iter()
            .position(|(make, ..)| core::mem::discriminant(&make(0)) == core::mem::discriminant(&section))?;
        let (start, count) = self.rows.get(row)?;
        let slot = section.slot().unwrap_or(0);
        if slot >= *count {
            return None;
        }
        self.offsets.get(start.checked_add(slot)?).copied()
    }

    /// The smallest section offset after `offset`.
    pub(crate) fn next_after(&self, offset: u64) -> Option<u64> {
        let index = self.ascending.partition_point(|other| *other <= offset);
        self.ascending.get(index).copied()
    }

    /// All sections with their offsets, in the footer's order.
    pub fn iter(&self) -> impl Iterator<Item = (Section, u64)> {
        let (mins, maxes) = &self.bounds;
        let mins = mins.iter().enumerate().map(|(dimension, at)| (Section::GlobalOrderMins(dimension), *at));
        let maxes =
            maxes.iter().enumerate().map(|(dimension, at)| (Section::GlobalOrderMaxes(dimension), *at));
        let table = TABLE.iter().zip(&self.rows).flat_map(move |((make, ..), (start, count))| {
            let offsets = self.offsets.get(*start..start.saturating_add(*count)).unwrap_or_default();
            offsets.iter().enumerate().map(move |(slot, offset)| (make(slot), *offset))
        });
        table.chain(mins).chain(maxes)
    }

    pub(crate) fn write(&self, writer: &mut tdb_codec::Writer) {
        self.offsets.iter().for_each(|offset| writer.u64(*offset));
    }
}

#[cfg(test)]
mod tests {
    use tdb_codec::{ArrayType, CellValNum, Datatype};
    use tdb_schema::{ArraySchema, Attribute, Dimension, Domain};

    use super::*;

    /// The offsets of a file with four slots, of which each is its place in the footer.
    fn offsets(version: FormatVersion) -> SectionOffsets {
        let domain = Domain::new(vec![Dimension::new("x", 0u8..=9)]);
        let attribute = |name| Attribute::new(name, Datatype::Int32, CellValNum::ONE);
        let schema = ArraySchema::new(ArrayType::Sparse, domain)
            .with_attribute(attribute("a"))
            .with_attribute(attribute("b"));
        let mut next = 0..;
        let slots = Slots::new(&schema, version, false, false);
        SectionOffsets::build::<()>(version, slots, |_| Ok(next.next().unwrap())).unwrap()
    }

    #[test]
    fn sections_have_a_name_and_those_of_a_field_its_slot() {
        type Of = fn(usize) -> Section;
        let of_fields: [(Of, &str); 8] = [
            (Section::TileOffsets, "tile offsets"),
            (Section::VarOffsets, "tile var offsets"),
            (Section::VarSizes, "tile var sizes"),
            (Section::ValidityOffsets, "tile validity offsets"),
            (Section::Mins, "tile mins"),
            (Section::Maxes, "tile maxes"),
            (Section::Sums, "tile sums"),
            (Section::NullCounts, "tile null counts"),
        ];
        for (section, name) in of_fields {
            assert_eq!((section(7).name(), section(7).slot()), (name, Some(7)));
        }
        for (section, name) in [
            (Section::RTree, "R-tree"),
            (Section::FragmentStatistics, "fragment statistics"),
            (Section::ProcessedConditions, "processed conditions"),
            (Section::GlobalOrderMins(7), "tile global order mins"),
            (Section::GlobalOrderMaxes(7), "tile global order maxes"),
        ] {
            assert_eq!((section.name(), section.slot()), (name, None));
        }
    }

    #[test]
    fn sections_stand_in_the_order_of_the_footer() {
        let current = offsets(FormatVersion::CURRENT);
        let listed: Vec<(Section, u64)> = current.iter().collect();
        assert_eq!(listed.len(), 1 + 8 * 4 + 2);
        for (index, (section, offset)) in listed.iter().enumerate() {
            assert_eq!((*offset, current.get(*section)), (index as u64, Some(*offset)), "{section:?}");
        }
        assert_eq!(current.get(Section::TileOffsets(0)), Some(1));
        assert_eq!(current.get(Section::NullCounts(3)), Some(32));
        assert_eq!(current.get(Section::TileOffsets(4)), None, "there are four slots");
        assert_eq!(current.get(Section::GlobalOrderMins(0)), None);
        let old = offsets(FormatVersion::parse(4).unwrap());
        assert_eq!(old.get(Section::VarSizes(1)), Some(7), "the R-tree, 3 slots, 2 attributes");
        assert_eq!((old.get(Section::VarSizes(2)), old.get(Section::Mins(0))), (None, None));
    }

    #[test]
    fn conditions_are_unlisted_only_in_the_version_between_their_gates() {
        let unlisted: Vec<u32> = FormatVersion::all()
            .filter(|version| has_unlisted_conditions(*version))
            .map(FormatVersion::number)
            .collect();
        assert_eq!(unlisted, [15]);
    }
}
