//! The second look at a file: its cells are written.

use std::io;

use tdb_array::ArrayWriter;

use super::args::ImportArgs;
use super::convert::Conversion;
use super::duplicates::{LeftOut, places};
use super::npy::Npy;
use super::table::Table;
use super::tables::Tables;
use super::target::Target;
use crate::failure::{Failure, Result};
use crate::progress::Unit;

impl ImportArgs {
    /// Writes the cells of an NPY file, except in a dry run; returns how many there are.
    pub(super) fn write_npy(&self, npy: &Npy, writer: &ArrayWriter) -> Result<u64> {
        let write = npy.write(writer).map_err(|error| self.wrong(error))?;
        let _meter = self.progress.wait("writing");
        if !self.dry_run {
            write.commit().map_err(|error| Failure::of_array(&self.array, error))?;
        }
        Ok(npy.len())
    }

    /// Returns an error if a cell of the tables cannot be written.
    pub(super) fn check_tables(&self, tables: &Tables, conversion: Conversion<'_>) -> Result {
        let wrong = |error: String| self.wrong(error);
        let meter = self.progress.bar("checking", Unit::Rows, None);
        let columns = |table: &Table| conversion.columns(table).map(|_| table.len());
        tables.for_each(&wrong, columns, &mut |rows| {
            meter.add(rows.map_err(wrong)?);
            Ok(())
        })?;
        meter.clear();
        Ok(())
    }

    /// Writes the cells of tables with this many rows, without those that are left out, except in a
    /// dry run; returns how many are written.
    pub(super) fn write_tables(
        &self,
        tables: &Tables,
        writer: &ArrayWriter,
        conversion: Conversion<'_>,
        rows: u64,
        left_out: &mut LeftOut,
    ) -> Result<u64> {
        if rows == 0 {
            return Ok(0);
        }
        let wrong = |error: String| self.wrong(error);
        let failed = |error| Failure::of_array(&self.array, error);
        let mut target = match self.dry_run {
            true => Target::None,
            false => Target::new(writer, tables.first()?.names(), rows).map_err(failed)?,
        };
        let meter = self.progress.bar("writing", Unit::Rows, Some(rows));
        let cells = rows.saturating_sub(left_out.len());
        let drops = cells < rows;
        let columns = |table: &Table| {
            let places: Vec<u64> = if drops { places(table).collect() } else { Vec::new() };
            (table.len(), conversion.columns(table), places)
        };
        tables.for_each(&wrong, columns, &mut |(rows, columns, places)| {
            meter.add(rows);
            let mut columns = columns.map_err(wrong)?;
            if drops {
                let kept = places.iter().map(|place| left_out.has(*place).map(|out| !out));
                let kept = kept.collect::<io::Result<Vec<bool>>>().map_err(|error| self.temporary(&error))?;
                columns = columns.iter().map(|column| column.only(&kept)).collect();
            }
            target.append(&columns).map_err(failed)
        })?;
        target.commit().map_err(failed)?;
        Ok(cells)
    }
}
