//! The contents of a folder that `tdb read --format raw` has written.

use std::fs;
use std::path::{Component, Path};

use tdb_array::Layout;
use tdb_array::schema::{ArraySchema, ArrayType};
use tdb_codec::to_u64;
use tdb_schema::{Field, FieldKind, Range};
use tdb_text::json::Json;
use tdb_text::schema::{At, cell_val_num, datatype_at, ends, layout};

use crate::buffers::Buffers;
use crate::failure::{Failure, Result};

/// The cells in a folder.
#[derive(Debug)]
pub(super) struct Manifest {
    pub(super) order: Layout,
    pub(super) cells: u64,
    /// The range of each dimension of a dense array; `None` for all of it.
    pub(super) subarray: Vec<Option<Range>>,
    pub(super) fields: Vec<Buffers>,
}

impl Manifest {
    /// Reads the manifest, and the buffers of the fields that a write to an array with this schema
    /// needs.
    pub(super) fn read(folder: &Path, schema: &ArraySchema) -> Result<Self> {
        let path = folder.join("manifest.json");
        let text = fs::read(&path).map_err(|error| {
            Failure::at(
                &path,
                format!("{error}; tdb read --format raw --out makes a folder with such a file"),
            )
        })?;
        let json = Json::parse(&text).map_err(|error| Failure::at(&path, error))?;
        let wrong = |error: String| Failure::at(&path, error);
        let at = At::root(&json);
        let is_dense = schema.array_type == ArrayType::Dense;
        let order = at.need("order").and_then(|order| order.parsed("order", layout)).map_err(wrong)?;
        let cells = at.need("cells").and_then(|cells| cells.whole()).map_err(wrong)?;
        let mut subarray = Vec::new();
        if is_dense {
            subarray = ranges(&at, schema).map_err(wrong)?;
            if cells != 0 && order != Layout::GlobalOrder && at.get("shape").is_none() {
                return Err(wrong("shape: there is none, so the cells do not form a whole box".to_owned()));
            }
        }
        let mut fields = Vec::new();
        for at in at.list("fields").map_err(wrong)? {
            let name = at.need("name").and_then(|name| name.text()).map_err(wrong)?;
            let field = schema.field(name);
            let field = field.ok_or_else(|| wrong(at.error(format!("the array has no field {name:?}"))))?;
            // In a dense array, the subarray determines the position of the cells.
            if is_dense && matches!(field.kind, FieldKind::Dimension(_)) {
                continue;
            }
            check_type(&at, &field).map_err(wrong)?;
            fields.push(buffers(folder, &at, &field, cells, &wrong)?);
        }
        Ok(Self { order, cells, subarray, fields })
    }
}

/// The box that is written.
fn ranges(at: &At<'_>, schema: &ArraySchema) -> Result<Vec<Option<Range>>, String> {
    let list = at.need("subarray")?;
    let items = list.items()?;
    let dimensions = &schema.domain.dimensions;
    if items.len() != dimensions.len() {
        let what = format!("there are {} ranges for {} dimensions", items.len(), dimensions.len());
        return Err(list.error(what));
    }
    let range = |(at, dimension): (&At<'_>, _)| {
        if at.value.is_null() {
            return Ok(None);
        }
        if at.items()?.first().is_some_and(|first| first.value.as_list().is_some()) {
            return Err(at.error("there are several ranges, but a write covers one box"));
        }
        ends(at, dimension).map(|(low, high)| Some(Range::new(low, high)))
    };
    items.iter().zip(dimensions).map(range).collect()
}

/// Returns an error if the buffers have another type than the array's field.
fn check_type(at: &At<'_>, field: &Field<'_>) -> Result<(), String> {
    let datatype = datatype_at(at)?;
    if datatype != field.datatype {
        return Err(at.error(format!(
            "the buffers contain {datatype}, but field {:?} contains {}",
            field.name, field.datatype
        )));
    }
    let count = cell_val_num(at, field.cell_val_num)?;
    if count != field.cell_val_num {
        let what = format!(
            "the buffers contain {count} values per cell, but field {:?} has {}",
            field.name, field.cell_val_num
        );
        return Err(at.error(what));
    }
    Ok(())
}

/// The buffers of a field, from the files listed in the manifest.
fn buffers(
    folder: &Path,
    at: &At<'_>,
    field: &Field<'_>,
    cells: u64,
    wrong: &dyn Fn(String) -> Failure,
) -> Result<Buffers> {
    let file = |key: &str| -> Result<Option<Vec<u8>>> {
        let Some(name) = at.get(key) else { return Ok(None) };
        let plain = |name: &str| {
            let mut parts = Path::new(name).components();
            matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
                .then(|| folder.join(name))
        };
        let path = name.parsed("name of a file in the folder", plain).map_err(wrong)?;
        fs::read(&path).map(Some).map_err(|error| Failure::at(&path, error))
    };
    let data = file("data")?.ok_or_else(|| wrong(at.error("\"data\" is missing")))?;
    let offsets = match file("offsets")? {
        None => None,
        Some(bytes) => {
            let (starts, rest) = bytes.as_chunks::<8>();
            if to_u64(starts.len()) != cells || !rest.is_empty() {
                let what = format!("the offsets have {} bytes instead of {cells} times 8", bytes.len());
                return Err(wrong(at.error(what)));
            }
            // The files contain the starts of cells; the end of the last cell is the end of the
            // values.
            let starts = starts.iter().map(|start| u64::from_le_bytes(*start));
            Some(starts.chain([to_u64(data.len())]).collect())
        }
    };
    Ok(Buffers { name: field.name.to_owned(), data, offsets, validity: file("validity")? })
}
