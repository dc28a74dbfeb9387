//! The buffers of a query, by field.

use std::collections::BTreeMap;

use tdb_array::Layout;
use tdb_array::schema::{ArraySchema, ArrayType, CellValNum, Datatype, Field, FieldKind};

use super::{Kind, Query, QueryObject, Status, failure};
use crate::context::Ctx;
use crate::ffi::{Failure, In, Memory, Out, OutMemory, OutSize, Outcome, Text, UserBuffer};

/// The field of sparse arrays with the time of each cell.
pub(crate) const TIMESTAMPS: &str = "__timestamps";

/// The buffers of one field.
#[derive(Debug, Default)]
pub(crate) struct FieldBuffers {
    /// The values of all cells, one after another.
    pub(crate) data: Option<UserBuffer>,
    /// Where the cells of a field of variable length begin.
    pub(crate) offsets: Option<UserBuffer>,
    /// A byte a cell: 0 is null.
    pub(crate) validity: Option<UserBuffer>,
}

/// The buffers of all fields that the caller named: attributes, dimensions, labels, aggregates.
pub(crate) type Buffers = BTreeMap<String, FieldBuffers>;

/// What a name means for a query, and the type of its cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FieldType {
    /// What it is.
    pub(crate) origin: Origin,
    /// Type of the values.
    pub(crate) datatype: Datatype,
    /// How many values a cell has.
    pub(crate) cell_val_num: CellValNum,
    /// Whether cells may be null.
    pub(crate) nullable: bool,
}

/// What a name means for a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A field of the array's cells that is no dimension.
    Attribute,
    /// A dimension.
    Dimension,
    /// A label of a dimension.
    Label,
    /// An aggregate of cells.
    Aggregate,
}

impl FieldType {
    /// What a name means for an array.
    pub(crate) fn of(schema: &ArraySchema, name: &str) -> Option<Self> {
        if let Some(label) = schema.labels.iter().find(|label| label.name == name) {
            let (datatype, cell_val_num) = (label.datatype, label.cell_val_num);
            return Some(Self { origin: Origin::Label, datatype, cell_val_num, nullable: false });
        }
        if name == TIMESTAMPS {
            let (datatype, cell_val_num) = (Datatype::Uint64, CellValNum::ONE);
            return Some(Self { origin: Origin::Attribute, datatype, cell_val_num, nullable: false });
        }
        schema.field(name).map(|field| Self::of_field(&field))
    }

    /// Whether cells are of variable length.
    pub(crate) const fn is_var(&self) -> bool {
        self.cell_val_num.is_var()
    }

    fn of_field(field: &Field<'_>) -> Self {
        let origin = match field.kind {
            FieldKind::Dimension(_) => Origin::Dimension,
            FieldKind::Attribute(_) => Origin::Attribute,
        };
        let (datatype, cell_val_num, nullable) = (field.datatype, field.cell_val_num, field.nullable);
        Self { origin, datatype, cell_val_num, nullable }
    }
}

/// The three kinds of buffers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Data,
    Offsets,
    Validity,
}

impl FieldBuffers {
    const fn part(&self, part: Part) -> Option<&UserBuffer> {
        match part {
            Part::Data => self.data.as_ref(),
            Part::Offsets => self.offsets.as_ref(),
            Part::Validity => self.validity.as_ref(),
        }
    }
}

impl Query {
    /// What a name means for this query, if it means something.
    pub(crate) fn known_field(&self, name: &str) -> Option<FieldType> {
        let aggregate = self.aggregates.iter().find(|(own, _)| own == name);
        aggregate.map(|(_, wanted)| wanted.field()).or_else(|| FieldType::of(&self.schema, name))
    }

    /// What a name means for this query.
    ///
    /// # Errors
    /// Nothing has the name.
    pub(crate) fn field(&self, name: &str) -> Result<FieldType, Failure> {
        self.known_field(name).ok_or_else(|| {
            let why = "it should be an attribute, dimension, or dimension label";
            failure(format!(
                "Cannot set buffer; Invalid attribute/dimension/label '{name}' (invalid buffer name; {why})"
            ))
        })
    }

    /// Whether the query writes the fields of its cells one after the other.
    pub(super) fn writes_fields_apart(&self) -> bool {
        self.kind.writes()
            && self.layout == Layout::Unordered
            && self.config.get("sm.allow_separate_attribute_writes").as_deref() == Some("true")
    }

    fn set_buffer(&mut self, name: &str, part: Part, memory: Memory, size: Out<u64>) -> Outcome {
        if self.kind == Kind::Delete {
            return Err(failure("Cannot set buffer; Unsupported query type."));
        }
        let field = self.field(name)?;
        let word = match part {
            Part::Data => "buffer",
            Part::Offsets => "offsets buffer",
            Part::Validity => "validity buffer",
        };
        if size.is_null() {
            return Err(failure(format!("Cannot set buffer; {name} {word} size is null")));
        }
        let buffer = UserBuffer::new(memory, size)?;
        // A write of no bytes needs no memory.
        let may_be_null = part == Part::Data && self.kind.writes() && buffer.capacity() == 0;
        if buffer.is_null() && !may_be_null {
            return Err(failure(format!("Cannot set buffer; {name} {word} is null")));
        }
        match part {
            Part::Offsets if !field.is_var() => {
                return Err(failure(format!(
                    "Cannot set buffer; Input attribute/dimension '{name}' is fixed-sized"
                )));
            }
            Part::Validity if !field.nullable => {
                return Err(failure(format!("Cannot set buffer; Input attribute '{name}' is not nullable")));
            }
            _ => {}
        }
        if self.schema.array_type == ArrayType::Dense
            && self.kind.writes()
            && field.origin == Origin::Dimension
        {
            return Err(failure("Dense write queries cannot set dimension buffers"));
        }
        let is_new = !self.buffers.contains_key(name);
        if self.status != Status::Uninitialized && is_new && !self.writes_fields_apart() {
            return Err(failure(format!(
                "Cannot set buffer for new attribute/dimension '{name}' after initialization"
            )));
        }
        let buffers = self.buffers.entry(name.to_owned()).or_default();
        let slot = match part {
            Part::Data => &mut buffers.data,
            Part::Offsets => &mut buffers.offsets,
            Part::Validity => &mut buffers.validity,
        };
        *slot = Some(buffer);
        Ok(())
    }

    fn put_buffer(&self, name: &str, part: Part, memory: OutMemory, size: OutSize) -> Outcome {
        if self.kind == Kind::Delete {
            return Err(failure("Cannot get buffer; Unsupported query type."));
        }
        let field = self.known_field(name).ok_or_else(|| {
            failure(format!("Cannot get buffer; Invalid attribute/dimension/label name '{name}'"))
        })?;
        match part {
            Part::Offsets if !field.is_var() => {
                return Err(failure(format!("Cannot get buffer; '{name}' is fixed-sized")));
            }
            Part::Validity if !field.nullable => {
                return Err(failure(format!("Cannot get buffer; '{name}' is non-nullable")));
            }
            _ => {}
        }
        memory.put(self.buffers.get(name).and_then(|buffers| buffers.part(part)), size)
    }

    /// Checks that the fields that were named have all buffers that they need.
    ///
    /// # Errors
    /// One is missing.
    pub(crate) fn check_buffers(&self) -> Outcome {
        for (name, buffers) in &self.buffers {
            let field = self.field(name)?;
            let (kind, missing) = match (field.is_var(), &buffers.data, &buffers.offsets) {
                (true, None, _) => ("Var-Sized", "Var size buffer is not set"),
                (true, _, None) => ("Var-Sized", "Offsets buffer is not set"),
                (false, None, _) => ("Fix-Sized", "Data buffer is not set"),
                _ if field.nullable && buffers.validity.is_none() => {
                    ("Nullable", "Validity buffer is not set")
                }
                _ => continue,
            };
            let what = format!("{kind} input attribute/dimension '{name}' is not set correctly");
            return Err(failure(format!("{what}. \n{missing}.")));
        }
        Ok(())
    }
}

exported! {
    fn tiledb_query_set_data_buffer(ctx: Ctx, query: In<QueryObject>, name: Text, buffer: Memory, size: Out<u64>) -> Code for ctx {
        query.get()?.0.lock().set_buffer(name.get("name")?, Part::Data, buffer, size)
    }

    fn tiledb_query_set_offsets_buffer(ctx: Ctx, query: In<QueryObject>, name: Text, buffer: Memory, size: Out<u64>) -> Code for ctx {
        query.get()?.0.lock().set_buffer(name.get("name")?, Part::Offsets, buffer, size)
    }

    fn tiledb_query_set_validity_buffer(ctx: Ctx, query: In<QueryObject>, name: Text, buffer: Memory, size: Out<u64>) -> Code for ctx {
        query.get()?.0.lock().set_buffer(name.get("name")?, Part::Validity, buffer, size)
    }

    fn tiledb_query_get_data_buffer(ctx: Ctx, query: In<QueryObject>, name: Text, buffer: OutMemory, size: OutSize) -> Code for ctx {
        query.get()?.0.lock().put_buffer(name.get("name")?, Part::Data, buffer, size)
    }

    fn tiledb_query_get_offsets_buffer(ctx: Ctx, query: In<QueryObject>, name: Text, buffer: OutMemory, size: OutSize) -> Code for ctx {
        query.get()?.0.lock().put_buffer(name.get("name")?, Part::Offsets, buffer, size)
    }

    fn tiledb_query_get_validity_buffer(ctx: Ctx, query: In<QueryObject>, name: Text, buffer: OutMemory, size: OutSize) -> Code for ctx {
        query.get()?.0.lock().put_buffer(name.get("name")?, Part::Validity, buffer, size)
    }
}
