//! New objects, with the schemas and the metadata that tiledbsoma gives them.

use std::sync::Arc;

use tdb_array::group::{GroupMember, ObjectType};
use tdb_array::schema::{
    ArraySchema, Attribute, CellValNum, Datatype, Dimension, Enumeration, Filter, Pipeline, Range,
    enumeration_file_name,
};
use tdb_array::storage::WriteStorage;
use tdb_array::write::MetadataChanges;
use tdb_array::{ArrayWriter, Key, WriteColumn, WriteOptions};

use crate::facts::{DATA, JOINID};
use crate::kind::{TYPE, VERSION};
use crate::{ENCODING_VERSIONS, Error, Kind, Result};

/// Cells in a tile.
const CAPACITY: u64 = 100_000;
/// Coordinates in a tile.
const TILE: i64 = 2048;
/// The entry of the metadata that says, as JSON, which column was the index of a table of pandas.
pub(crate) const INDEX: &str = "soma_dataframe_original_index_name";
/// What a name of a member may have in the name of its folder, beside letters and digits.
const SAFE: &[u8] = b"-_.()^!@+={}~'";

/// Where an experiment is written, and how.
pub struct Target<'a> {
    /// The storage of the folder at a path below the experiment's place; of the experiment itself,
    /// the path is empty.
    pub storage: &'a dyn Fn(&str) -> Result<Arc<dyn WriteStorage>>,
    /// The time and the key.
    pub options: WriteOptions,
    /// The same key, with which what was written is looked at.
    pub key: Option<Key>,
    /// The memory of what is written at a time, in bytes.
    pub memory: usize,
}

/// A column of a new table.
pub(crate) struct NewColumn<'a> {
    pub(crate) name: &'a str,
    pub(crate) values: Vec<&'a str>,
    /// Whether the values are categories.
    pub(crate) is_category: bool,
}

impl Target<'_> {
    /// Creates a table with these columns of texts, whose ids are counted.
    pub(crate) fn table(
        &self,
        path: &str,
        columns: &[NewColumn<'_>],
        rows: usize,
        index: Option<&str>,
    ) -> Result<()> {
        let size = i64::try_from(rows.max(1)).unwrap_or(i64::MAX);
        let mut schema = ArraySchema::sparse().dimension(axis(JOINID, TILE.min(size)));
        let mut options = self.options.clone();
        let mut columns: Vec<Encoded<'_>> = columns.iter().map(Encoded::of).collect();
        for column in &mut columns {
            let name = column.name;
            let attribute = match &column.categories {
                None => Attribute::new(name, Datatype::StringUtf8, CellValNum::Var),
                Some(categories) => {
                    let file = enumeration_file_name().map_err(tdb_array::Error::from)?;
                    let values =
                        Enumeration::new(name, file, Datatype::StringUtf8, CellValNum::Var, categories);
                    let values = values.map_err(Error::Schema)?;
                    schema = schema.enumeration(&values);
                    options = options.enumeration(values);
                    Attribute::new(name, Datatype::Int32, CellValNum::ONE).with_enumeration(name)
                }
            };
            schema = schema.attribute(attribute.with_nulls().with_filters(zstd(-1)));
        }
        let schema = finished(schema, &[size])?;
        let entries = marks(Kind::DataFrame)
            .put_text(INDEX, &index.map_or("null".to_owned(), |name| format!("{name:?}")));
        let writer = self.array(path, options, &schema, &entries)?;
        if rows == 0 {
            return Ok(());
        }
        let (ids, valid): (Vec<i64>, Vec<u8>) = ((0..size).collect(), vec![1; rows]);
        let mut write = writer.write().column(WriteColumn::fixed(JOINID, &ids));
        for column in &columns {
            let values = match &column.categories {
                None => WriteColumn::var(column.name, &column.bytes, &column.offsets),
                Some(_) => WriteColumn::fixed(column.name, &column.codes),
            };
            write = write.column(values.nullable(&valid));
        }
        write.commit()?;
        Ok(())
    }

    /// Creates a sparse matrix without values.
    pub(crate) fn matrix(&self, path: &str, datatype: Datatype, shape: [u64; 2]) -> Result<ArrayWriter> {
        let sizes = shape.map(|size| i64::try_from(size.max(1)).unwrap_or(i64::MAX));
        let data = Attribute::new(DATA, datatype, CellValNum::ONE).with_filters(zstd(-1));
        let schema = ArraySchema::sparse()
            .dimension(axis("soma_dim_0", TILE))
            .dimension(axis("soma_dim_1", TILE))
            .attribute(data);
        let schema = finished(schema, &sizes)?;
        self.array(path, self.options.clone(), &schema, &marks(Kind::SparseNdArray))
    }

    /// Creates a collection of what is in the folders of these names below it.
    pub(crate) fn collection(&self, path: &str, kind: Kind, members: &[(&str, ObjectType)]) -> Result<()> {
        let storage = (self.storage)(path)?;
        self.options.clone().create_group_storage(&*storage)?;
        let mut group = self.options.clone().open_group_storage(storage)?;
        for (name, object) in members {
            group.add(GroupMember::new(*object, folder_of(name)?).with_name(*name).with_relative_uri())?;
        }
        let entries = marks(kind);
        group.metadata(match kind {
            Kind::Experiment => entries.put_text("dataset_type", "soma"),
            _ => entries,
        });
        Ok(group.commit()?)
    }

    fn array(
        &self,
        path: &str,
        options: WriteOptions,
        schema: &ArraySchema,
        entries: &MetadataChanges,
    ) -> Result<ArrayWriter> {
        let storage = (self.storage)(path)?;
        options.create_storage(&*storage, schema)?;
        let writer = self.options.clone().open_storage(storage)?;
        writer.write_metadata(entries)?;
        Ok(writer)
    }
}

/// A column as it is stored.
struct Encoded<'a> {
    name: &'a str,
    bytes: Vec<u8>,
    offsets: Vec<u64>,
    codes: Vec<i32>,
    categories: Option<Vec<&'a str>>,
}

impl<'a> Encoded<'a> {
    fn of(column: &NewColumn<'a>) -> Self {
        let mut own = Self {
            name: column.name,
            bytes: Vec::new(),
            offsets: vec![0],
            codes: Vec::new(),
            categories: None,
        };
        if column.is_category {
            let mut categories = column.values.clone();
            categories.sort_unstable();
            categories.dedup();
            let code =
                |value: &&str| categories.binary_search(value).ok().and_then(|code| i32::try_from(code).ok());
            own.codes = column.values.iter().map(|value| code(value).unwrap_or(-1)).collect();
            own.categories = Some(categories);
            return own;
        }
        for value in &column.values {
            own.bytes.extend_from_slice(value.as_bytes());
            own.offsets.push(u64::try_from(own.bytes.len()).unwrap_or(u64::MAX));
        }
        own
    }
}

fn zstd(level: i32) -> Pipeline {
    Pipeline::new(vec![Filter::Zstd { level }])
}

/// A dimension that can grow to nearly all of its type.
fn axis(name: &str, tile: i64) -> Dimension {
    let last = i64::MAX.saturating_sub(1).saturating_sub(tile);
    Dimension::new(name, 0..=last).with_tile(tile).with_filters(zstd(3))
}

/// The schema with what all arrays have in common.
fn finished(schema: tdb_array::schema::SchemaBuilder, sizes: &[i64]) -> Result<ArraySchema> {
    let range = |size: &i64| Range::new(0i64.to_le_bytes(), size.saturating_sub(1).to_le_bytes());
    let offsets = vec![
        Filter::DoubleDelta { level: -1, reinterpret: None },
        Filter::BitWidthReduction { max_window: 256 },
        Filter::Zstd { level: -1 },
    ];
    let schema = schema
        .current_domain(sizes.iter().map(range).collect())
        .capacity(CAPACITY)
        .offsets_filters(Pipeline::new(offsets))
        .build();
    schema.map_err(Error::Schema)
}

/// The entries of the metadata that say what an object is.
fn marks(kind: Kind) -> MetadataChanges {
    let [.., version] = ENCODING_VERSIONS;
    MetadataChanges::new().put_text(TYPE, kind.name()).put_text(VERSION, version)
}

/// The name of the folder of a member.
///
/// # Errors
/// No folder can be called so.
pub(crate) fn folder_of(name: &str) -> Result<String> {
    if matches!(name, "" | "." | "..") {
        let what = format!("{name:?} is no name of a member: a folder cannot be called so");
        return Err(Error::Input { file: String::new(), line: None, what });
    }
    let mut folder = String::new();
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || SAFE.contains(&byte) {
            folder.push(char::from(byte));
        } else {
            folder.push_str(&format!("%{byte:02X}"));
        }
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_members_become_names_of_folders() {
        assert_eq!(folder_of("RNA").unwrap(), "RNA");
        assert_eq!(folder_of("a b/ü").unwrap(), "a%20b%2F%C3%BC");
        assert!(folder_of("..").is_err() && folder_of("").is_err());
    }
}
