//! A Parquet or Arrow file whose cells are added to an existing array.

use std::io::Write;
use std::sync::Arc;

use tdb_array::Array;
use tdb_array::schema::{ArraySchema, ArrayType};
use tdb_array::storage::WriteStorage;
use tdb_arrow::{Mapping, Options, Text};
use tdb_convert::{Source, Spans, Subarray, check};
use tdb_schema::{Dimension, Range};

use super::super::duplicates::{Finder, LeftOut};
use super::super::enumerations::{Additions, Enumerated};
use super::super::existing::RequiredChanges;
use super::super::grow::{self, Growth};
use super::super::report::Report;
use super::super::rows;
use super::BatchFile;
use crate::failure::{Failure, Result};

impl BatchFile<'_> {
    /// Adds the cells of the file to an array.
    pub(super) fn append(&self, storage: &Arc<dyn WriteStorage>, out: &mut dyn Write) -> Result {
        let args = self.args;
        let of_array = |error| Failure::of_array(&args.array, error);
        let writer = args.change.options()?.open_storage(storage.clone()).map_err(of_array)?;
        args.refuse_what_is_for_new_arrays(writer.schema())?;
        let array = args.array(storage)?;
        let schema = array.schema().clone();
        let along = rows::along(&schema, &self.columns());
        let numbered = along.filter(|_| schema.array_type == ArrayType::Sparse);
        let first = numbered.map_or(0, |dimension| rows::next(&array, dimension));
        let open = || -> Result<Source> {
            let source = self.open()?;
            Ok(match numbered {
                Some(dimension) => source.numbered(&dimension.name, first),
                None => source,
            })
        };
        let mapping = self.mapping(&array)?;
        check(&mapping, &open()?).map_err(|error| self.unknown(error, &schema))?;
        let mut report = Report::default();
        let mut needs = RequiredChanges::default();
        if args.extend_enumerations {
            needs.additions = self.additions(&mapping, open()?)?;
            report.extended = Enumerated::of(&writer, false, true).map_err(of_array)?.shown(&needs.additions);
        }
        let mut left_out = LeftOut::default();
        let (count, part) = match schema.array_type {
            ArrayType::Sparse => {
                let mut finder = Finder::default();
                let spans = self.room(&schema, numbered, first, &mut finder)?;
                left_out = self.left_out(&schema, numbered.is_some(), Some(finder), false)?;
                report.left_out = left_out.len();
                let mut growth = Growth::new(&schema);
                growth.unite(&spans.ranges);
                needs.ranges = growth.finish();
                (spans.rows, None)
            }
            ArrayType::Dense => {
                let count = self.count()?;
                let part = self.place(&schema, along, count)?;
                if let Some(part) = part.as_ref().filter(|_| count > 0) {
                    args.refuse_overwriting(storage, sides(&schema, part).into_iter())?;
                }
                (count, part)
            }
        };
        let writer = args.evolve(storage, writer, needs, &mut report, out)?;
        report.cells = count.saturating_sub(left_out.len());
        if args.dry_run || report.cells == 0 {
            return report.print(args, out);
        }
        // The schema of an array that has grown is another one.
        let mapping = self.mapping(&args.array(storage)?)?;
        report.cells = self.write(&writer, &mapping, &mut open()?.without(left_out), part.as_ref())?;
        report.print(args, out)
    }

    /// The conversion of batches of the file to cells of an existing array.
    fn mapping(&self, array: &Array) -> Result<Mapping> {
        let mapping = Mapping::of(array, Options::new().text(Text::Binary));
        let mapping = mapping.map_err(|error| self.failed(error.into()))?;
        Ok(if self.args.codes { mapping } else { mapping.plain_values() })
    }

    /// The values of the file that the array's enumerations lack.
    fn additions(&self, mapping: &Mapping, source: Source) -> Result<Additions> {
        let mut found = Additions::default();
        for batch in source {
            let batch = batch.map_err(|error| self.failed(error))?;
            let missing = mapping.missing_values(&batch).map_err(|error| self.failed(error.into()))?;
            missing.into_iter().for_each(|(name, value)| found.add(&name, value));
        }
        Ok(found)
    }

    /// The coordinates of the file, which must be in the domain of an array.
    fn room(
        &self,
        schema: &ArraySchema,
        numbered: Option<&Dimension>,
        first: u64,
        finder: &mut Finder,
    ) -> Result<Spans> {
        let Some(dimension) = numbered else { return self.spans(&schema.domain.dimensions, Some(finder)) };
        let rows = self.count()?;
        if rows == 0 {
            return Ok(Spans::new(rows, vec![None]));
        }
        let last = first.saturating_add(rows.saturating_sub(1)).to_le_bytes();
        if !grow::is_inside(dimension, &last) {
            return Err(self.args.wrong(grow::outside(dimension, "the last row", &last)));
        }
        Ok(Spans::new(rows, vec![Some(Range::new(first.to_le_bytes(), last))]))
    }

    /// The part of a dense array that the cells are: where they were exported from, or the first
    /// rows.
    fn place(&self, schema: &ArraySchema, along: Option<&Dimension>, count: u64) -> Result<Option<Subarray>> {
        if let Some(stored) = Subarray::stored(&self.schema).map_err(|error| self.failed(error))? {
            return Ok(Some(stored));
        }
        let Some(dimension) = along.filter(|_| count > 0) else { return Ok(None) };
        let (first, last) = (dimension.coordinate(0), dimension.coordinate(count.saturating_sub(1)));
        if dimension.last_ordinal().is_some_and(|last| count.saturating_sub(1) > last) {
            let last = last.unwrap_or_default();
            return Err(self.args.wrong(grow::outside(dimension, "the last row", &last)));
        }
        Ok(first.zip(last).map(|(first, last)| Subarray::new(schema, vec![Range::new(first, last)])))
    }
}

/// The sides of a box, as distances from the low end of the domain.
fn sides(schema: &ArraySchema, part: &Subarray) -> Vec<core::ops::Range<u64>> {
    let side = |(dimension, range): (&Dimension, &Range)| {
        let end = |value: &[u8]| dimension.ordinal(value).unwrap_or(0);
        end(&range.low)..end(&range.high).saturating_add(1)
    };
    schema.domain.dimensions.iter().zip(part.ranges()).map(side).collect()
}
