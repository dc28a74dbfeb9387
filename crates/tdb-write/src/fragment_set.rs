//! The fragments that one write becomes.

use std::mem;

use tdb_fragment::TimestampedName;
use tdb_schema::Range;

use crate::boxes::BoxCutter;
use crate::merged::{Marks, Merged};
use crate::names::{Names, Nonces};
use crate::open_fragment::{FinishedFragment, OpenFragment, commit, size_of_row, sync};
use crate::tile::{EncodedTile, FieldEncoder};
use crate::{ArrayWriter, Error, OrInternal, Result, WriteError};

/// The fragments of one write: one, or several if their size is limited.
#[derive(Debug)]
pub(super) struct FragmentSet<'a> {
    array: &'a ArrayWriter,
    /// Their names, all with the time at which they are written.
    names: Names,
    /// The name of the first one, until it is begun.
    first: Option<TimestampedName>,
    /// The area that a dense fragment covers; `None` for sparse ones.
    domain: Option<Vec<Range>>,
    tile_cells: u64,
    /// The maximum number of bytes of tiles in a fragment; for dense ones, `boxes` has the limit.
    limit: Option<u64>,
    boxes: Option<BoxCutter>,
    open: Option<OpenFragment<'a>>,
    finished: Vec<FinishedFragment<'a>>,
    /// The system fields of a fragment that replaces others.
    marks: Marks,
}

impl<'a> FragmentSet<'a> {
    pub(super) fn new(array: &'a ArrayWriter, domain: Option<Vec<Range>>, tile_cells: u64) -> Result<Self> {
        let mut names = array.fragment_names()?;
        let first = names.next_fragment(array.schema().version)?;
        Self::named(array, names, first, domain, tile_cells)
    }

    fn named(
        array: &'a ArrayWriter,
        names: Names,
        first: TimestampedName,
        domain: Option<Vec<Range>>,
        tile_cells: u64,
    ) -> Result<Self> {
        let limit = array.options.fragment_bytes;
        let boxes =
            domain.as_ref().zip(limit).map(|(domain, limit)| BoxCutter::new(array.schema(), domain, limit));
        let boxes = boxes.transpose()?;
        let limit = limit.filter(|_| domain.is_none());
        let (open, finished, marks) = (None, Vec::new(), Marks::default());
        Ok(Self { array, names, first: Some(first), domain, tile_cells, limit, boxes, open, finished, marks })
    }

    /// One fragment that replaces others, of whatever size.
    pub(super) fn merged(
        array: &'a ArrayWriter,
        domain: Option<Vec<Range>>,
        tile_cells: u64,
        merged: Merged,
    ) -> Result<Self> {
        let Merged { name, marks } = merged;
        let parts = Self::named(array, Names::first(name.timestamps.1), name, domain, tile_cells)?;
        Ok(Self { marks, limit: None, boxes: None, ..parts })
    }

    /// The number of bytes of tiles in the current fragment.
    pub(super) fn open_bytes(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.bytes)
    }

    /// Number of cells in a whole tile.
    pub(super) const fn tile_cells(&self) -> u64 {
        self.tile_cells
    }

    /// Leaves the fragment durable but without a marker; returns its folder.
    pub(super) fn keep(mut self) -> Result<String> {
        let Some(mut fragment) = self.finished.pop() else { return Err(WriteError::NoCells.into()) };
        if !self.finished.is_empty() {
            return Err(Error::internal("several fragments where there is one"));
        }
        let parent = fragment.folder.key.rsplit_once('/').map_or("", |(parent, _)| parent);
        sync(self.array, parent)?;
        if fragment.made_folders {
            sync(self.array, "")?;
        }
        fragment.folder.keep = true;
        Ok(mem::take(&mut fragment.folder.key))
    }

    /// The name of the first fragment.
    pub(super) fn name(&self) -> String {
        let begun = self.open.as_ref().map(|open| &open.name).or(self.first.as_ref());
        let first = self.finished.first().map(|finished| &finished.name).or(begun);
        // Only after a failed append there is none.
        first.map(TimestampedName::to_string).unwrap_or_default()
    }

    /// Appends a tile of every field, and begins a new fragment if it would make the current one
    /// too large. Returns tiles that were written.
    pub(super) fn append(
        &mut self,
        row: Vec<EncodedTile>,
        encoders: &[FieldEncoder],
        nonces: &Nonces,
    ) -> Result<Vec<EncodedTile>> {
        if let Some(boxes) = &mut self.boxes {
            let Some(slab) = boxes.push(row) else { return Ok(Vec::new()) };
            self.append_slab(&slab, encoders, nonces)?;
            return Ok(slab.into_iter().flatten().collect());
        }
        let size = size_of_row(&row);
        if let Some(limit) = self.limit {
            if size > limit {
                return Err(WriteError::TileSize { bytes: size, limit }.into());
            }
            if self.open_bytes().saturating_add(size) > limit {
                self.finish(nonces)?;
            }
        }
        self.append_open(&row, encoders)?;
        Ok(row)
    }

    /// Appends all tiles with one index along the slowest dimension: to the current fragment, to a
    /// new one, or cut into several.
    fn append_slab(
        &mut self,
        slab: &[Vec<EncodedTile>],
        encoders: &[FieldEncoder],
        nonces: &Nonces,
    ) -> Result<()> {
        let sizes: Vec<u64> = slab.iter().map(|row| size_of_row(row)).collect();
        let bytes: u64 = sizes.iter().sum();
        let limit = self.boxes.as_ref().or_internal("a slab without a box")?.limit;
        if self.open_bytes().saturating_add(bytes) > limit {
            self.finish(nonces)?;
        }
        if bytes <= limit {
            slab.iter().try_for_each(|row| self.append_open(row, encoders))?;
        } else if let Some(boxes) = &self.boxes {
            let groups = boxes.cut(&sizes)?.into_iter();
            let groups = groups.map(|group| Ok((boxes.covered_by(&group)?, group.rows)));
            for (domain, rows) in groups.collect::<Result<Vec<_>>>()? {
                let rows = slab.get(rows).or_internal("a group of tiles that are not in the slab")?;
                rows.iter().try_for_each(|row| self.append_open(row, encoders))?;
                self.finish_over(Some(domain), nonces)?;
            }
        }
        if let Some(boxes) = &mut self.boxes {
            boxes.advance();
            if self.open.is_none() {
                boxes.restart();
            }
        }
        Ok(())
    }

    /// Appends to the current fragment, or to a new one if there is none.
    fn append_open(&mut self, row: &[EncodedTile], encoders: &[FieldEncoder]) -> Result<()> {
        let mut fragment = match self.open.take() {
            Some(fragment) => fragment,
            None => {
                let name = match self.first.take() {
                    Some(first) => first,
                    None => self.names.next_fragment(self.array.schema().version)?,
                };
                let mut fragment =
                    OpenFragment::begin(self.array, name, self.domain.clone(), self.tile_cells, encoders)?;
                fragment.summary.marks.clone_from(&self.marks);
                fragment
            }
        };
        fragment.append(row)?;
        self.open = Some(fragment);
        Ok(())
    }

    /// Ends the current fragment, if there is one.
    pub(super) fn finish(&mut self, nonces: &Nonces) -> Result<()> {
        if self.boxes.as_ref().is_some_and(BoxCutter::is_within_slab) {
            return Err(Error::internal("a slab without all of its tiles"));
        }
        let covered = self.boxes.as_ref().map(BoxCutter::covered).transpose()?;
        self.finish_over(covered, nonces)?;
        if let Some(boxes) = &mut self.boxes {
            boxes.restart();
        }
        Ok(())
    }

    /// Like [`Self::finish`]; the fragment covers this box, if it does not cover the whole one.
    fn finish_over(&mut self, covered: Option<Vec<Range>>, nonces: &Nonces) -> Result<()> {
        if let Some(mut fragment) = self.open.take() {
            if covered.is_some() {
                fragment.summary.domain = covered;
            }
            self.finished.push(fragment.finish(nonces)?);
        }
        Ok(())
    }

    /// Commits all fragments; returns their names.
    pub(super) fn commit(self) -> Result<Vec<String>> {
        if self.finished.is_empty() {
            return Err(WriteError::NoCells.into());
        }
        commit(self.array, self.names.time(), self.finished)
    }
}
