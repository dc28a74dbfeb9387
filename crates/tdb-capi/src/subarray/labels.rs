//! Ranges of dimension labels.

use tdb_array::schema::{DimensionLabel, Range};

use super::get::{put, put_copies, put_sizes};
use super::ranges::{Ends, RangeList};
use super::{DimensionRanges, Subarray, SubarrayObject, check_stride, failure, place};
use crate::context::Ctx;
use crate::ffi::{Data, Failure, In, Out, OutData, OutText, Outcome, Text};

impl Subarray {
    /// The number of a label in the schema, and the label.
    fn label(&self, name: &str) -> Result<(usize, &DimensionLabel), Failure> {
        let mut labels = self.schema.labels.iter().enumerate();
        let found = labels.find(|(_, label)| label.name == name);
        found.ok_or_else(|| {
            let why = format!("No dimension label named '{name}'.");
            Failure::of("ArraySchema", format!("Unable to get dimension label reference; {why}"))
        })
    }

    fn add_label(&mut self, name: &str, range: Range) -> Outcome {
        let (number, label) = self.label(name)?;
        let refused = |why: String| {
            failure(format!("[add_label_range] Cannot add label range for dimension label '{name}'; {why}"))
        };
        let range = Ends::of_label(label).checked(range).map_err(refused)?;
        let (index, datatype) = (place(label.dimension), label.datatype);
        let set_to = match self.dimensions.get(index) {
            Some(DimensionRanges::Label(other, _)) if *other != number => self.schema.labels.get(*other),
            _ => None,
        };
        if let Some(other) = set_to {
            return Err(failure(format!(
                "[add_label_range] Dimension is already to set to use dimension label '{}'",
                other.name
            )));
        }
        match self.dimensions.get_mut(index) {
            Some(DimensionRanges::Label(_, list)) => list.add(range, datatype, self.coalesces),
            Some(ranges @ DimensionRanges::All) => {
                *ranges = DimensionRanges::Label(number, RangeList::of(range));
            }
            _ => {
                let why = format!("Dimension '{index}' already has ranges set to it.");
                return Err(failure(format!("[add_label_range] {why}")));
            }
        }
        Ok(())
    }

    /// The ranges of a label, if it has some.
    fn label_ranges(&self, name: &str) -> Result<&[Range], Failure> {
        let (number, label) = self.label(name)?;
        Ok(match self.dimensions.get(place(label.dimension)) {
            Some(DimensionRanges::Label(own, list)) if *own == number => list.ranges(),
            _ => &[],
        })
    }

    fn label_range(&self, what: &str, name: &str, number: u64) -> Result<Range, Failure> {
        let ranges = self.label_ranges(name)?;
        let found = usize::try_from(number).ok().and_then(|number| ranges.get(number));
        let none = || match ranges {
            [] => failure(format!("[{what}] No ranges set on dimension label '{name}'")),
            _ => failure(format!("[{what}] Invalid range index")),
        };
        found.cloned().ok_or_else(none)
    }

    fn label_name(&self, index: usize) -> Option<&str> {
        match self.dimensions.get(index)? {
            DimensionRanges::Label(number, _) => Some(&self.schema.labels.get(*number)?.name),
            _ => None,
        }
    }
}

exported! {
    fn tiledb_subarray_add_label_range(ctx: Ctx, subarray: In<SubarrayObject>, name: Text, start: Data, end: Data, stride: Data) -> Code for ctx {
        check_stride(stride)?;
        let name = name.get("label_name")?;
        let mut subarray = subarray.get()?.0.lock();
        if start.is_null() || end.is_null() {
            return Err(failure("[add_label_range] Invalid range"));
        }
        let (_, label) = subarray.label(name)?;
        if label.cell_val_num.is_var() {
            return Err(failure("[add_label_range] Cannot add a fixed-sized range to a variable sized dimension label"));
        }
        let size = crate::number(label.datatype.size());
        subarray.add_label(name, Range::new(start.bytes(size)?, end.bytes(size)?))
    }

    fn tiledb_subarray_add_label_range_var(ctx: Ctx, subarray: In<SubarrayObject>, name: Text, start: Data, start_size: u64, end: Data, end_size: u64) -> Code for ctx {
        let name = name.get("label_name")?;
        let mut subarray = subarray.get()?.0.lock();
        if start.is_null() && start_size != 0 || end.is_null() && end_size != 0 {
            return Err(failure("[add_label_range_var] Invalid range"));
        }
        let (_, label) = subarray.label(name)?;
        if !label.cell_val_num.is_var() {
            return Err(failure("[add_label_range_var] Cannot add a variable-sized range to a fixed-sized dimension label"));
        }
        subarray.add_label(name, Range::new(start.bytes(start_size)?, end.bytes(end_size)?))
    }

    fn tiledb_subarray_has_label_ranges(ctx: Ctx, subarray: In<SubarrayObject>, index: u32, has: Out<i32>) -> Code for ctx {
        has.set(i32::from(subarray.get()?.0.lock().label_name(place(index)).is_some()))
    }

    fn tiledb_subarray_get_label_name(ctx: Ctx, subarray: In<SubarrayObject>, index: u32, name: OutText) -> Code for ctx {
        let found = subarray.get()?.0.lock().label_name(place(index)).map(str::to_owned);
        name.keep(subarray, &found.ok_or_else(|| failure("[get_label_name] No label ranges set"))?)
    }

    fn tiledb_subarray_get_label_range_num(ctx: Ctx, subarray: In<SubarrayObject>, name: Text, count: Out<u64>) -> Code for ctx {
        count.set(crate::number(subarray.get()?.0.lock().label_ranges(name.get("label_name")?)?.len()))
    }

    fn tiledb_subarray_get_label_range(ctx: Ctx, subarray: In<SubarrayObject>, name: Text, number: u64, start: OutData, end: OutData, stride: OutData) -> Code for ctx {
        let range = subarray.get()?.0.lock().label_range("get_label_range", name.get("label_name")?, number)?;
        put(subarray, &range, (start, end, stride))
    }

    fn tiledb_subarray_get_label_range_var_size(ctx: Ctx, subarray: In<SubarrayObject>, name: Text, number: u64, start: Out<u64>, end: Out<u64>) -> Code for ctx {
        let subarray = subarray.get()?.0.lock();
        put_sizes(&subarray.label_range("get_label_range_var_size", name.get("label_name")?, number)?, (start, end))
    }

    fn tiledb_subarray_get_label_range_var(ctx: Ctx, subarray: In<SubarrayObject>, name: Text, number: u64, start: Out<u8>, end: Out<u8>) -> Code for ctx {
        let subarray = subarray.get()?.0.lock();
        put_copies(&subarray.label_range("get_label_range_var", name.get("label_name")?, number)?, (start, end))
    }
}
