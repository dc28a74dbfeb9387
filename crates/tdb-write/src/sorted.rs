//! The order that cells of a sparse fragment must have, and other checks of their coordinates.

use core::cmp::Ordering;
use core::ops::Range as Cells;
use std::collections::BTreeSet;

use tdb_codec::{Layout, Native, PhysicalVisitor, to_u64};
use tdb_order::hilbert::Curve;
use tdb_order::{CellOrder, KeyPart, reals};
use tdb_schema::{ArraySchema, Dimension};

use crate::column::{CheckedColumn, check_whole};
use crate::coordinates::{CoordinateBounds, of_dimensions, overlapping_bands};
use crate::{Error, OrInternal, Result, WriteError, parallel};

/// The global order of an array's cells, and the last cell that was checked.
#[derive(Debug)]
pub struct GlobalOrder {
    dimensions: Vec<Dimension>,
    bounds: CoordinateBounds,
    /// Most significant first.
    parts: Vec<KeyPart>,
    hilbert: bool,
    duplicates: bool,
    last: Option<LastCell>,
    /// Number of cells checked so far.
    cells: u64,
}

/// The reason why a cell cannot follow those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum OrderFault {
    NotSorted,
    Duplicate,
}

/// Cells that do not sort after the previous one, by their numbers, ascending.
#[derive(Debug, Default)]
pub struct Neighbours {
    /// Cells that sort before the previous one.
    pub unsorted: Vec<usize>,
    /// Cells that compare equal to the previous one.
    pub equal: Vec<usize>,
}

impl GlobalOrder {
    /// The order of an array's cells, with no cell checked yet.
    pub fn new(schema: &ArraySchema) -> Self {
        let dimensions = schema.domain.dimensions.clone();
        let mut parts = tdb_order::parts(schema, CellOrder::of(Layout::GlobalOrder, schema));
        // Tiles that cannot differ, or that are in the order of the only dimension anyway, are not
        // compared.
        let alone = dimensions.len() == 1 && dimensions.iter().all(reals::tiles_ascend);
        parts.retain(|part| match *part {
            KeyPart::Tile(index) => !alone && dimensions.get(index).is_none_or(has_many_tiles),
            KeyPart::Cell(_) | KeyPart::Bytes(_) => true,
        });
        Self {
            bounds: CoordinateBounds::new(schema),
            parts,
            hilbert: schema.cell_order == Layout::Hilbert,
            duplicates: schema.allows_duplicates,
            last: None,
            cells: 0,
            dimensions,
        }
    }

    /// The dimensions, and the parts of the order that cells can differ in, most significant first.
    /// The Hilbert value is none of them.
    pub(super) fn into_parts(self) -> (Vec<Dimension>, Vec<KeyPart>) {
        (self.dimensions, self.parts)
    }

    /// The number of cells checked so far.
    pub(super) const fn cells(&self) -> u64 {
        self.cells
    }

    /// Checks `cells` cells that follow those checked before.
    pub(super) fn check(
        &mut self,
        threads: usize,
        columns: &[CheckedColumn<'_>],
        cells: usize,
    ) -> Result<()> {
        let coordinates = of_dimensions(columns, self.dimensions.len())?;
        self.bounds.check(threads, &coordinates, cells, self.cells)?;
        if cells == 0 {
            return Ok(());
        }
        let mut wrong = None;
        if let Some(last) = &self.last {
            let both = last.with_first_of(&coordinates)?;
            let both: Vec<_> =
                both.iter().zip(&coordinates).map(|(cells, column)| cells.column(column)).collect();
            wrong = self.first_wrong(&both, 0..2)?.map(|(_, wrong)| (0, wrong));
        }
        if wrong.is_none() {
            let bands = overlapping_bands(cells);
            let found =
                parallel::run(threads, bands, || (), |band, ()| self.first_wrong(&coordinates, band))?;
            wrong = found.into_iter().flatten().next();
        }
        if let Some((cell, wrong)) = wrong {
            let cell = self.cells.saturating_add(to_u64(cell));
            return Err(match wrong {
                OrderFault::NotSorted => WriteError::NotSorted { cell },
                OrderFault::Duplicate => WriteError::Duplicate { first: cell.saturating_sub(1) },
            }
            .into());
        }
        self.last = Some(LastCell::new(&coordinates, cells)?);
        self.cells = self.cells.saturating_add(to_u64(cells));
        Ok(())
    }

    /// Compares `cells` cells of all dimensions, in the schema's order, with their predecessors:
    /// the first one with the last cell of the previous call.
    ///
    /// # Errors
    /// [`Error::Internal`] if a coordinate of a cell is missing.
    pub fn look(&mut self, coordinates: &[CheckedColumn<'_>], cells: usize) -> Result<Neighbours> {
        check_whole(coordinates, cells)?;
        let mut found = Neighbours::default();
        if cells == 0 {
            return Ok(found);
        }
        if let Some(last) = &self.last {
            let both = last.with_first_of(coordinates)?;
            let both: Vec<_> =
                both.iter().zip(coordinates).map(|(cells, column)| cells.column(column)).collect();
            let Neighbours { unsorted, equal } = self.neighbours(&both, 0..2)?;
            found.unsorted.extend(unsorted.iter().map(|_| 0));
            found.equal.extend(equal.iter().map(|_| 0));
        }
        let Neighbours { unsorted, equal } = self.neighbours(coordinates, 0..cells)?;
        found.unsorted.extend(unsorted);
        found.equal.extend(equal);
        self.last = Some(LastCell::new(coordinates, cells)?);
        Ok(found)
    }

    /// The first cell of a run that sorts before the previous one, or has the same coordinates as
    /// another one.
    fn first_wrong(
        &self,
        coordinates: &[CheckedColumn<'_>],
        run: Cells<usize>,
    ) -> Result<Option<(usize, OrderFault)>> {
        let Neighbours { unsorted, equal } = self.neighbours(coordinates, run)?;
        let unsorted = unsorted.first().map(|cell| (*cell, OrderFault::NotSorted));
        if self.duplicates {
            return Ok(unsorted);
        }
        let repeated = first_repeated(coordinates, &equal);
        Ok(unsorted.into_iter().chain(repeated.map(|cell| (cell, OrderFault::Duplicate))).min())
    }

    /// The cells of a run that do not sort after the previous one.
    ///
    /// Cells are compared part by part: the first part of all, each further one of those that were
    /// equal so far.
    fn neighbours(&self, coordinates: &[CheckedColumn<'_>], run: Cells<usize>) -> Result<Neighbours> {
        if coordinates.len() != self.dimensions.len() {
            return Err(Error::internal("a dimension without coordinates"));
        }
        let start = run.start;
        let mut pairs = NeighbourPairs { undecided: None, run: run.clone(), unsorted: Vec::new() };
        if self.hilbert {
            let values = curve(&self.dimensions, coordinates, run);
            let value = |cell: usize| values.get(cell.wrapping_sub(start));
            pairs.compare(|before, cell| value(before).cmp(&value(cell)));
        }
        for part in &self.parts {
            let index = part.dimension();
            let both = self.dimensions.get(index).zip(coordinates.get(index));
            let (dimension, column) = both.or_internal("a part of the order without a dimension")?;
            match part {
                KeyPart::Cell(_) if column.cell_size.is_some() => {
                    dimension.datatype.physical().visit(ComparePairs { column, pairs: &mut pairs });
                }
                _ => {
                    // The column is whole, so there is a value.
                    let value = |cell: usize| column.cell(cell).unwrap_or_default();
                    pairs.compare(|before, cell| {
                        tdb_order::compare_part(*part, dimension, value(before), value(cell))
                    });
                }
            }
            if pairs.undecided.as_ref().is_some_and(Vec::is_empty) {
                break;
            }
        }
        let NeighbourPairs { undecided, mut unsorted, .. } = pairs;
        unsorted.sort_unstable();
        // At least one part was compared, because an array has a dimension.
        Ok(Neighbours { unsorted, equal: undecided.unwrap_or_default() })
    }
}

/// The first cell, among those that compare equal to the previous one, whose coordinates are the
/// same as another cell's, byte by byte: zeros of both signs compare equal, but are not the same.
fn first_repeated(coordinates: &[CheckedColumn<'_>], equal: &[usize]) -> Option<usize> {
    // The columns are whole, so there is a value.
    let cell = |index: usize| -> Vec<&[u8]> {
        coordinates.iter().map(|column| column.cell(index).unwrap_or_default()).collect()
    };
    let groups = equal.chunk_by(|a, b| a.checked_add(1) == Some(*b));
    groups.into_iter().find_map(|group| {
        let first = group.first()?.checked_sub(1)?;
        let mut seen = BTreeSet::from([cell(first)]);
        group.iter().copied().find(|index| !seen.insert(cell(*index)))
    })
}

/// Whether cells can be in different tiles along a dimension.
fn has_many_tiles(dimension: &Dimension) -> bool {
    match (dimension.last_ordinal(), dimension.extent_cells()) {
        (Some(last), Some(extent)) => last >= extent,
        _ => true,
    }
}

/// The Hilbert values of a run of cells.
pub(super) fn curve<'a>(
    dimensions: &[Dimension],
    coordinates: &[CheckedColumn<'a>],
    run: Cells<usize>,
) -> Vec<u64> {
    let curve = Curve::new(dimensions);
    // There is a column of each dimension, and it is whole.
    let place = |cell: usize| {
        let of = |column: &CheckedColumn<'a>| column.cell(cell).unwrap_or_default();
        curve.place(|dimension| coordinates.get(dimension).map_or(&[][..], of))
    };
    run.map(place).collect()
}

/// Neighbours that are being compared.
struct NeighbourPairs {
    /// The second cells of the pairs that were equal in all parts so far; `None` means all but the
    /// first cell of the run.
    undecided: Option<Vec<usize>>,
    run: Cells<usize>,
    /// The cells that sort before the previous one.
    unsorted: Vec<usize>,
}

impl NeighbourPairs {
    #[inline]
    fn compare(&mut self, compare: impl Fn(usize, usize) -> Ordering) {
        let mut equal = Vec::new();
        let unsorted = &mut self.unsorted;
        let mut look = |cell: usize| match compare(cell.wrapping_sub(1), cell) {
            Ordering::Less => {}
            Ordering::Equal => equal.push(cell),
            Ordering::Greater => unsorted.push(cell),
        };
        match &self.undecided {
            None => self.run.clone().skip(1).for_each(&mut look),
            Some(cells) => cells.iter().copied().for_each(&mut look),
        }
        self.undecided = Some(equal);
    }
}

struct ComparePairs<'p, 'a> {
    column: &'p CheckedColumn<'a>,
    pairs: &'p mut NeighbourPairs,
}

impl PhysicalVisitor for ComparePairs<'_, '_> {
    type Output = ();

    fn visit<T: Native>(self) {
        let Self { column, pairs } = self;
        let values = column.values;
        let value = |cell: usize| {
            let start = cell.wrapping_mul(T::SIZE);
            values.get(start..start.wrapping_add(T::SIZE)).and_then(T::from_le)
        };
        // The column is whole, so there is a value. There is no NaN: no domain contains it. Zeros
        // of both signs are equal here, as in libtiledb.
        pairs.compare(|before, cell| value(before).partial_cmp(&value(cell)).unwrap_or(Ordering::Equal));
    }
}

/// The coordinates of the last appended cell.
#[derive(Debug)]
struct LastCell(Vec<Vec<u8>>);

impl LastCell {
    fn new(coordinates: &[CheckedColumn<'_>], cells: usize) -> Result<Self> {
        let last = cells.checked_sub(1).or_internal("cells without a last one")?;
        let value = |column: &CheckedColumn<'_>| column.cell(last).map(<[u8]>::to_vec);
        let cell: Option<_> = coordinates.iter().map(value).collect();
        Ok(Self(cell.or_internal("a dimension without the coordinate of the last cell")?))
    }

    /// This cell and the first one of the columns.
    fn with_first_of(&self, coordinates: &[CheckedColumn<'_>]) -> Result<Vec<TwoCells>> {
        let two = |(last, column): (&Vec<u8>, &CheckedColumn<'_>)| {
            let mut values = last.clone();
            let middle = to_u64(values.len());
            values.extend_from_slice(column.cell(0)?);
            Some(TwoCells { offsets: [0, middle, to_u64(values.len())], values })
        };
        let both: Option<Vec<_>> = self.0.iter().zip(coordinates).map(two).collect();
        both.or_internal("a dimension without the coordinate of the first cell")
    }
}

/// Coordinates of two cells in one dimension.
struct TwoCells {
    values: Vec<u8>,
    offsets: [u64; 3],
}

impl TwoCells {
    /// These two as a column of the same field as another one.
    fn column<'s>(&'s self, like: &CheckedColumn<'_>) -> CheckedColumn<'s> {
        let offsets = if like.cell_size.is_some() { &[][..] } else { &self.offsets };
        let CheckedColumn { kind, cell_size, value_size, is_real, .. } = *like;
        let (values, validity) = (self.values.as_slice(), &[][..]);
        CheckedColumn { kind, cell_size, value_size, is_real, values, offsets, validity, cells: 2 }
    }
}
