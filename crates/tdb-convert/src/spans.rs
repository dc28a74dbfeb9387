//! The range of the coordinates in a file, and the number of its rows: read before a new array gets
//! its domain, or an array grows.

use tdb_array::schema::{CellValNum, Datatype, Dimension, Range};
use tdb_arrow::{ArrowCells, Coordinates};

use crate::error::{Error, FileProblem, Result};
use crate::source::Source;

/// Is shown the number of a row and its coordinates, each as bytes.
pub type Watch<'a> = &'a mut dyn FnMut(u64, &[&[u8]]) -> std::io::Result<()>;

/// The findings of one pass over the columns of some dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Spans {
    /// Number of rows.
    pub rows: u64,
    /// The smallest and the largest coordinate in each dimension; `None` if there are no rows.
    pub ranges: Vec<Option<Range>>,
}

impl Spans {
    /// The span that is known without a look at the coordinates: this many rows, and a range in
    /// each dimension.
    #[must_use]
    pub const fn new(rows: u64, ranges: Vec<Option<Range>>) -> Self {
        Self { rows, ranges }
    }

    /// Reads the coordinates of a file that was just opened. A coordinate outside the domain of its
    /// dimension is refused.
    ///
    /// # Errors
    /// Errors of the file; a dimension without a column, or of another type; a null as a
    /// coordinate.
    pub fn of(source: Source, dimensions: &[Dimension]) -> Result<Self> {
        Self::watched(source, dimensions, &mut |_, _| Ok(()))
    }

    /// The same, and shows each coordinate: the number of its row, and its values in the order of
    /// the dimensions. Without dimensions, nothing is shown.
    ///
    /// # Errors
    /// As [`Self::of`]; those of `watch`.
    pub fn watched(source: Source, dimensions: &[Dimension], watch: Watch<'_>) -> Result<Self> {
        let name = source.name().to_owned();
        if let (Some(rows), true) = (source.rows(), dimensions.is_empty()) {
            return Ok(Self { rows, ranges: Vec::new() });
        }
        let columns: Vec<&str> = dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
        let source = if columns.is_empty() { source } else { source.only(&columns)? };
        let coordinates = Coordinates::new(dimensions)?;
        let mut found = Self { rows: 0, ranges: vec![None; dimensions.len()] };
        for batch in source {
            let batch = batch?;
            if !dimensions.is_empty() {
                let cells = coordinates.of(&batch).map_err(|error| Error::cells(&name, error))?;
                found.add(&cells, dimensions, &name)?;
                let mut values = Vec::with_capacity(dimensions.len());
                for (row, number) in (0..batch.num_rows()).zip(found.rows..) {
                    values.clear();
                    values.extend(dimensions.iter().filter_map(|own| cells.cell(&own.name, row)));
                    watch(number, &values).map_err(|error| Error::file(&name, FileProblem::Io(error)))?;
                }
            }
            found.rows = found.rows.saturating_add(u64::try_from(batch.num_rows()).unwrap_or(u64::MAX));
        }
        Ok(found)
    }

    fn add(&mut self, cells: &ArrowCells, dimensions: &[Dimension], file: &str) -> Result<()> {
        for (dimension, range) in dimensions.iter().zip(&mut self.ranges) {
            cells.span(dimension, range).map_err(|row| Error::Outside {
                file: file.to_owned(),
                row: self.rows.saturating_add(u64::try_from(row).unwrap_or(0)),
                dimension: dimension.name.clone(),
            })?;
        }
        Ok(())
    }
}

/// The domain of a new dimension of this type that was not given one: wide, so that later files
/// find room. Libraries take the whole domain for the tile extent if there is none, so its length
/// must fit the type.
pub(crate) fn wide(datatype: Datatype) -> Option<Range> {
    use tdb_array::schema::Physical as P;
    fn range<const N: usize>(low: [u8; N], high: [u8; N]) -> Option<Range> {
        Some(Range::new(low, high))
    }
    if let Some(per_day) = ticks_per_day(datatype) {
        // From 0001-01-01 to 9999-12-31.
        let (first, last) = (-719_162i64.saturating_mul(per_day), 2_932_897i64.saturating_mul(per_day));
        return range(first.to_le_bytes(), last.saturating_sub(1).to_le_bytes());
    }
    match datatype.physical() {
        P::I8 => range((-60i8).to_le_bytes(), 60i8.to_le_bytes()),
        P::U8 => range(0u8.to_le_bytes(), (u8::MAX - 1).to_le_bytes()),
        P::I16 => range((-16_000i16).to_le_bytes(), 16_000i16.to_le_bytes()),
        P::U16 => range(0u16.to_le_bytes(), (u16::MAX - 1).to_le_bytes()),
        P::I32 => range((-1_000_000_000i32).to_le_bytes(), 1_000_000_000i32.to_le_bytes()),
        P::U32 => range(0u32.to_le_bytes(), (u32::MAX - 1).to_le_bytes()),
        P::I64 => {
            range((-4_000_000_000_000_000_000i64).to_le_bytes(), 4_000_000_000_000_000_000i64.to_le_bytes())
        }
        P::U64 => range(0u64.to_le_bytes(), (u64::MAX - 1).to_le_bytes()),
        P::F32 => range((-1e30f32).to_le_bytes(), 1e30f32.to_le_bytes()),
        P::F64 => range((-1e300f64).to_le_bytes(), 1e300f64.to_le_bytes()),
    }
}

/// Units of a day, for dates and times whose unit leaves room for these years.
const fn ticks_per_day(datatype: Datatype) -> Option<i64> {
    const DAY: i64 = 86_400;
    match datatype {
        Datatype::DatetimeDay => Some(1),
        Datatype::DatetimeHr => Some(24),
        Datatype::DatetimeMin => Some(1_440),
        Datatype::DatetimeSec => Some(DAY),
        Datatype::DatetimeMs => Some(DAY * 1_000),
        Datatype::DatetimeUs => Some(DAY * 1_000_000),
        _ => None,
    }
}

/// Whether a column can become a dimension of text.
pub(crate) fn is_text(datatype: Datatype, cell_val_num: CellValNum) -> bool {
    cell_val_num.is_var() && (datatype.is_string() || matches!(datatype, Datatype::Char | Datatype::Blob))
}
