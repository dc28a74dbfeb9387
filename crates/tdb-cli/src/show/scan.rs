//! Reads the cells of a picture, batch by batch.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use tdb_array::query::Batches;
use tdb_array::schema::{ArrayType, Range};
use tdb_array::{Array, Layout, Read};
use tdb_codec::Datatype;
use tdb_schema::Dimension;
use tdb_text::value::coordinate_text;

use super::ShowArgs;
use super::axis::BinnedAxis;
use super::value::Value;
use crate::bounds::Bounds;
use crate::condition;
use crate::failure::{Failure, Result};
use crate::place::shown;
use crate::progress::{Meter, Unit};
use crate::ranges::QueryRanges;
use crate::thresholds::{MAX_AXIS_TEXT_BYTES, MAX_AXIS_TEXTS};

/// The cells of a picture.
pub(super) struct Scan<'a> {
    pub(super) array: &'a Array,
    pub(super) args: &'a ShowArgs,
    asked: QueryRanges,
    /// The domain of all cells; `None` if there are none.
    bounds: Option<Vec<Range>>,
}

/// Takes the values of a cell, of which those of null are missing.
pub(super) type TakeCell<'t> = &'t mut dyn FnMut(&[Option<&[u8]>]) -> Result;

impl<'a> Scan<'a> {
    pub(super) fn new(array: &'a Array, args: &'a ShowArgs, asked: QueryRanges) -> Self {
        Self { array, args, asked, bounds: array.bounds() }
    }

    pub(super) fn is_dense(&self) -> bool {
        self.array.schema().array_type == ArrayType::Dense
    }

    /// The array's name, for titles.
    pub(super) fn name(&self) -> String {
        let path = shown(&self.args.array);
        let path = path.trim_end_matches('/');
        path.rsplit('/').next().filter(|name| !name.is_empty()).unwrap_or(path).to_owned()
    }

    /// Fixes the dimensions of a dense array that are not drawn, and have no range, at their first
    /// coordinate. Returns what was fixed, in words.
    pub(super) fn fix(&mut self, drawn: &[usize]) -> Vec<String> {
        let Some(bounds) = self.bounds.clone().filter(|_| self.is_dense()) else { return Vec::new() };
        let schema = self.array.schema();
        let labelled = |index: usize| {
            let label = |name: &String| schema.labels.iter().find(|label| label.name == *name);
            let of = |(name, _): &(String, Bounds)| {
                label(name).is_some_and(|label| usize::try_from(label.dimension) == Ok(index))
            };
            self.asked.labels.iter().any(of)
        };
        let mut fixed = Vec::new();
        for (index, (dimension, range)) in schema.domain.dimensions.iter().zip(bounds).enumerate() {
            let Some(ranges) = self.asked.dimensions.get(index) else { continue };
            if !ranges.is_empty() || labelled(index) {
                continue;
            }
            // Beyond what was written there is nothing to read, however large the domain is.
            let is_drawn = drawn.contains(&index);
            if !is_drawn && range.low != range.high {
                fixed.push(format!("{} = {}", dimension.name, coordinate_text(dimension, &range.low)));
            }
            let high = if is_drawn { range.high } else { range.low.clone() };
            let ends = Bounds { low: Some(range.low), high: Some(high) };
            self.asked.dimensions.get_mut(index).into_iter().for_each(|ranges| ranges.push(ends.clone()));
        }
        fixed
    }

    /// The first and the last coordinate that may be drawn; `None` if there are no cells, and
    /// nobody says where to look.
    fn ends(&self, index: usize, dimension: &Dimension) -> Option<(Vec<u8>, Vec<u8>)> {
        let bounds = self.bounds.as_ref().and_then(|bounds| bounds.get(index));
        let whole =
            bounds.map(|range| (range.low.clone(), range.high.clone())).or_else(|| dimension.domain.clone());
        let ranges = self.asked.dimensions.get(index).filter(|ranges| !ranges.is_empty());
        let Some(ranges) = ranges else { return whole };
        let compare = |a: &[u8], b: &[u8]| Range::compare(dimension.datatype, a, b);
        let pick = |of: fn(&Bounds) -> &Option<Vec<u8>>, wanted: Ordering| {
            let ends: Option<Vec<&Vec<u8>>> = ranges.iter().map(|ends| of(ends).as_ref()).collect();
            let best = |a, b| if compare(b, a) == wanted { b } else { a };
            ends.and_then(|ends| ends.into_iter().map(Vec::as_slice).reduce(best).map(<[u8]>::to_vec))
        };
        let (first, last) = whole.clone().unzip();
        let mut low = pick(|ends| &ends.low, Ordering::Less).or(first)?;
        let mut high = pick(|ends| &ends.high, Ordering::Greater).or(last)?;
        if let Some((first, last)) = &dimension.domain {
            low = if compare(&low, first) == Ordering::Less { first.clone() } else { low };
            high = if compare(&high, last) == Ordering::Greater { last.clone() } else { high };
        }
        Some((low, high))
    }

    /// The axis of a dimension, in at most `most` parts.
    pub(super) fn axis(&self, index: usize, most: usize, round: bool) -> Result<BinnedAxis> {
        let Some(dimension) = self.array.schema().domain.dimensions.get(index) else {
            return Err(self.args.usage("there is no such dimension"));
        };
        if dimension.is_var() {
            return self.words(&dimension.name, dimension.datatype, most);
        }
        let ends = self.ends(index, dimension);
        let value = |bytes: &[u8], or| Value::of(dimension.datatype, bytes).unwrap_or(or);
        // A domain may be infinite, and one that is not known may be anywhere.
        let (low, high) = match (ends, dimension.datatype.physical().is_float()) {
            (Some((low, high)), true) => {
                (value(&low, Value::Real(f64::MIN)), value(&high, Value::Real(f64::MAX)))
            }
            (Some((low, high)), false) => (value(&low, Value::Whole(0)), value(&high, Value::Whole(0))),
            (None, _) => (Value::Whole(0), Value::Whole(0)),
        };
        Ok(BinnedAxis::between(dimension.datatype, low, high, most, round))
    }

    /// The axis of the texts of a field.
    pub(super) fn words(&self, name: &str, datatype: Datatype, most: usize) -> Result<BinnedAxis> {
        let mut words: BTreeSet<Vec<u8>> = BTreeSet::new();
        let mut bytes = 0usize;
        self.each("reading texts", &[name], &mut |row| {
            if let [Some(word)] = row
                && !words.contains(*word)
            {
                bytes = bytes.saturating_add(word.len());
                words.insert(word.to_vec());
            }
            if words.len() <= MAX_AXIS_TEXTS && bytes <= MAX_AXIS_TEXT_BYTES {
                return Ok(());
            }
            let much = match bytes > MAX_AXIS_TEXT_BYTES {
                true => format!("{} MiB of different texts", MAX_AXIS_TEXT_BYTES >> 20),
                false => format!("{MAX_AXIS_TEXTS} different texts"),
            };
            Err(self.args.usage(format!(
                "{name:?} has more than {much}, which are no axis: choose another field with --dims or --attr, or a part with \
                 --range or --where"
            )))
        })?;
        Ok(BinnedAxis::of_texts(datatype, words.into_iter().collect(), most))
    }

    /// A query for the cells.
    pub(super) fn read(&self) -> Result<Read> {
        let schema = self.array.schema();
        // In row-major order, a dense cell is returned once for each range that contains it.
        let several =
            self.asked.dimensions.iter().any(|ranges| ranges.len() > 1) || !self.asked.labels.is_empty();
        let mut read = self.asked.clone().apply(self.array.read(), schema).memory(self.args.memory);
        if self.is_dense() && several {
            read = read.order(Layout::GlobalOrder);
        }
        if let Some(text) = &self.args.condition {
            let condition = tdb_text::condition::parse(text, schema);
            read = read.condition(condition.map_err(|error| condition::bad(&self.args.array, text, &error))?);
        }
        Ok(read.selection(true))
    }

    /// An error of reading.
    pub(super) fn failed(&self, error: tdb_array::Error) -> Failure {
        condition::failed(&self.args.array, self.args.condition.as_deref(), error)
    }

    /// Reads fields of all cells, and hands on each cell that there is: its values, or nothing for
    /// null.
    pub(super) fn each(&self, what: &'static str, fields: &[&str], take: TakeCell<'_>) -> Result {
        if self.bounds.is_none() {
            return Ok(());
        }
        let mut batches: Batches =
            self.read()?.fields(fields.iter().copied()).batches().map_err(|error| self.failed(error))?;
        let meter = self.args.progress.bar(what, Unit::Share, Some(Meter::WHOLE));
        // Not a for loop: that would keep the previous batch while the next one is made.
        while let Some(cells) = batches.next().transpose().map_err(|error| self.failed(error))? {
            let columns = cells.columns();
            let mut row: Vec<Option<&[u8]>> = Vec::with_capacity(columns.len());
            for cell in 0..cells.len() {
                if cells.selected().is_some_and(|selected| selected.get(cell) == Some(&0)) {
                    continue;
                }
                row.clear();
                row.extend(columns.iter().map(|column| column.cell(cell).filter(|_| !column.is_null(cell))));
                take(&row)?;
            }
            drop(row);
            meter.show(batches.progress());
        }
        meter.clear();
        Ok(())
    }
}
