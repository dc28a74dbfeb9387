//! Schema evolution: writes a new schema file in addition to the existing ones.

mod apply;
mod extend;

use std::sync::Arc;

use tdb_codec::Gate;
use tdb_schema::{ArraySchema, Attribute, Enumeration, EnumerationName, Range};

use self::apply::stored_otherwise;
use crate::WriteOptions;
use crate::context::Context;
use crate::create::generic_tile;
use crate::deletes;
use crate::directory::Directory;
use crate::names::{self, Names, Nonces};
use crate::options::WriteTime;
use crate::paths::{ENUMERATIONS, OLD_SCHEMA, SCHEMA_FOLDER};
use crate::publish::renew;
use crate::put::{ensure_folder, never_put, put};
use crate::schemas::{load_enumeration, load_schema};
use crate::storage::{LocalStorage, WriteStorage, join};
use crate::transaction::Transaction;
use crate::{Error, OrInternal, Result, clock};

const WHAT: &str = "schema evolution";

/// Changes to an array's schema. Cells written before keep their own schema: an attribute they lack
/// reads as its fill value, and an attribute that is dropped still exists at earlier times.
///
/// ```
/// use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
/// use tdb_array::storage::MemoryStorage;
/// use tdb_array::write::SchemaEvolution;
/// use tdb_array::{OpenOptions, WriteOptions};
///
/// let schema = ArraySchema::sparse()
///     .dimension(Dimension::new("x", 0i32..=99))
///     .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
///     .build()?;
/// let storage = MemoryStorage::default();
/// WriteOptions::new().timestamp(1).create_storage(&storage, &schema)?;
///
/// let add = SchemaEvolution::new().add_attribute(Attribute::new("b", Datatype::Float64, CellValNum::ONE));
/// WriteOptions::new().timestamp(2).evolve_storage(storage.clone(), &add)?;
/// assert!(OpenOptions::new().open_storage(storage.clone())?.schema().attribute("b").is_some());
///
/// let drop = SchemaEvolution::new().drop_attribute("nothing");
/// let error = WriteOptions::new().timestamp(3).evolve_storage(storage, &drop).unwrap_err();
/// assert!(error.to_string().contains("\"nothing\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "an evolution does nothing until it is applied"]
pub struct SchemaEvolution {
    added: Vec<Attribute>,
    dropped: Vec<String>,
    enumerations: Vec<Enumeration>,
    extended: Vec<(String, Vec<Vec<u8>>)>,
    dropped_enumerations: Vec<String>,
    current_domain: Option<Vec<Range>>,
    upgrade: bool,
    where_needed: bool,
}

impl SchemaEvolution {
    /// No change.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an attribute.
    pub fn add_attribute(mut self, attribute: Attribute) -> Self {
        self.added.push(attribute);
        self
    }

    /// Drops an attribute. While a delete tests it, this is refused: nobody could read the array
    /// any more.
    pub fn drop_attribute(mut self, name: impl Into<String>) -> Self {
        self.dropped.push(name.into());
        self
    }

    /// Adds an enumeration. Its file gets a new name, whatever name the value contains.
    pub fn add_enumeration(mut self, enumeration: Enumeration) -> Self {
        self.enumerations.push(enumeration);
        self
    }

    /// Adds values at the end of an enumeration.
    pub fn extend_enumeration<T: Into<Vec<u8>>>(
        mut self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        self.extended.push((name.into(), values.into_iter().map(Into::into).collect()));
        self
    }

    /// Drops an enumeration that no attribute uses.
    pub fn drop_enumeration(mut self, name: impl Into<String>) -> Self {
        self.dropped_enumerations.push(name.into());
        self
    }

    /// Enlarges the current domain: one interval for each dimension.
    pub fn expand_current_domain(mut self, ranges: Vec<Range>) -> Self {
        self.current_domain = Some(ranges);
        self
    }

    /// Upgrades the array to the version that libtiledb writes today. Existing fragments stay
    /// unchanged; where libtiledb would no longer read them (strings under RLE or a dictionary in
    /// another form), this is refused.
    pub const fn upgrade(mut self) -> Self {
        self.upgrade = true;
        self
    }

    /// Enlarges the current domain and extends enumerations only as far as the array lacks it: a
    /// change that another process has made in the meantime is no error. Nothing is written if the
    /// array has everything already.
    ///
    /// ```
    /// use tdb_array::WriteOptions;
    /// use tdb_array::schema::{ArraySchema, Dimension, Range};
    /// use tdb_array::storage::MemoryStorage;
    /// use tdb_array::write::SchemaEvolution;
    ///
    /// let range = |high: i32| Range::new(0i32.to_le_bytes(), high.to_le_bytes());
    /// let schema = ArraySchema::sparse().dimension(Dimension::new("x", 0i32..=99)).current_domain(vec![range(9)]).build()?;
    /// let storage = MemoryStorage::default();
    /// WriteOptions::new().create_storage(&storage, &schema)?;
    /// let grow = |high| SchemaEvolution::new().expand_current_domain(vec![range(high)]).where_needed();
    /// let first = WriteOptions::new().evolve_storage(storage.clone(), &grow(20))?;
    /// assert_eq!(WriteOptions::new().evolve_storage(storage.clone(), &grow(15))?, first, "there is room already");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn where_needed(mut self) -> Self {
        self.where_needed = true;
        self
    }
}

impl WriteOptions {
    /// Changes the schema of the array in a local folder. Returns the new schema file's key.
    ///
    /// # Errors
    /// No array there, a change that does not fit the schema or the array's version, a time before
    /// that of the newest schema, or any I/O error of the storage. The array is unchanged then.
    pub fn evolve(self, path: impl Into<std::path::PathBuf>, evolution: &SchemaEvolution) -> Result<String> {
        self.evolve_storage(LocalStorage::new(path), evolution)
    }

    /// Changes the schema of the array in a storage. Returns the new schema file's key.
    ///
    /// # Errors
    /// As for [`Self::evolve`].
    pub fn evolve_storage(
        self,
        storage: impl WriteStorage + 'static,
        evolution: &SchemaEvolution,
    ) -> Result<String> {
        let storage: Arc<dyn WriteStorage> = Arc::new(storage);
        let context = self.context(storage.clone());
        // If two changes are made at once, the second is applied to the result of the first.
        let _transaction = Transaction::begin(&*storage, &self)?;
        let directory = Directory::load(&*context.storage)?;
        let last = directory.schemas.last().cloned().or_internal("an array without a schema")?;
        let old = load_schema(&context, &last)?;
        let load = |entry: &EnumerationName| load_enumeration(&context, &last, entry);
        let (new, files) = evolution.apply(&old, &load, self.any_filters)?;
        if new == old {
            return Ok(last);
        }
        if !evolution.dropped.is_empty()
            && let Some((path, name)) = deletes::first_that_tests(&context, &directory, &evolution.dropped)?
        {
            let why = format!(
                "attribute \"{name}\" cannot be dropped: the delete {path} tests it, and no library reads an array whose \
                 deletes test what its schema does not have"
            );
            return Err(Error::refused(WHAT, why));
        }
        if !directory.fragments.is_empty()
            && let Some(name) = stored_otherwise(&old, &new)
        {
            let why = format!(
                "the array cannot be upgraded from version {}: its fragments store the strings of field \"{name}\" by a filter \
                 (RLE or a dictionary) in the form of that version, and libtiledb would read them as those of version {}, and \
                 fail; copy the array instead (tdb copy), which writes all cells anew",
                old.version, new.version
            );
            return Err(Error::refused(WHAT, why));
        }
        if !new.version.has(Gate::SchemaFolder) {
            let why = format!(
                "the schema of arrays of version {} cannot change; upgrade the array first or in the same change",
                new.version
            );
            return Err(Error::refused(WHAT, why));
        }
        let key = join(SCHEMA_FOLDER, &self.schema_name(&*storage, &last)?);
        let payload = new.to_bytes(new.version).map_err(|error| Error::refused(WHAT, error.to_string()))?;
        let key = self.store(&context, &*storage, &new, &files, &key, &payload)?;
        renew(&*storage, &self, &[])?;
        Ok(key)
    }

    /// A name after that of the current schema: the last name in byte order is the current schema.
    fn schema_name(&self, storage: &dyn WriteStorage, last: &str) -> Result<String> {
        let last = if last == OLD_SCHEMA { "" } else { last.rsplit('/').next().unwrap_or_default() };
        let WriteTime { mut time, given } = self.when()?;
        let newest = names::time_of(last).unwrap_or(0);
        if self.older_schema && given {
            let names = Names::behind(storage, SCHEMA_FOLDER, WriteTime { time, given });
            return Ok(names?.next_file()?.to_string());
        }
        loop {
            if let Some(mut names) = Names::after(time, Some(last)) {
                return Ok(names.next_file()?.to_string());
            }
            // With two clocks, this change follows the other and takes effect after it.
            let behind = newest.saturating_add(1);
            if !given && newest >= time {
                let followed = clock::for_writing_from(behind).unwrap_or(0);
                if followed >= behind {
                    time = followed;
                    continue;
                }
                let why = format!(
                    "the array's newest schema, {last}, has a time in the future: a change made now would neither become the \
                     newest nor be seen; give a later time"
                );
                return Err(Error::refused(WHAT, why));
            }
            let why = format!(
                "a schema with time {time} would not be the array's newest, which is {last}: schemas are ordered by \
                 their names"
            );
            return Err(Error::refused(WHAT, why));
        }
    }

    fn store(
        &self,
        context: &Context,
        storage: &dyn WriteStorage,
        new: &ArraySchema,
        files: &[Enumeration],
        key: &str,
        payload: &[u8],
    ) -> Result<String> {
        let mut scratch = Nonces::new()?.scratch();
        ensure_folder(storage, SCHEMA_FOLDER, self.durability)?;
        if new.version.has(Gate::Enumerations) {
            ensure_folder(storage, &join(SCHEMA_FOLDER, ENUMERATIONS), self.durability)?;
        }
        let enumeration_key =
            |enumeration: &Enumeration| join(&join(SCHEMA_FOLDER, ENUMERATIONS), &enumeration.file_name);
        let mut put_all = || {
            // Enumerations have no effect until a schema refers to them.
            for enumeration in files {
                let payload = enumeration.to_bytes(new.version);
                let payload = payload.map_err(|error| Error::refused(WHAT, error.to_string()))?;
                let bytes = generic_tile(&payload, context.key.as_ref(), &mut scratch)?;
                put(storage, &enumeration_key(enumeration), &bytes, self.durability)?;
            }
            let bytes = generic_tile(payload, context.key.as_ref(), &mut scratch)?;
            put(storage, key, &bytes, self.durability)
        };
        let done = put_all();
        if let Err(error) = &done
            && never_put(storage, key, error)
        {
            for enumeration in files {
                // A file that cannot be removed is harmless.
                let _ = storage.remove_file(&enumeration_key(enumeration));
            }
        }
        done.map(|()| key.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use tdb_array::OpenOptions;
    use tdb_codec::{CellValNum, Datatype, FormatVersion};
    use tdb_filters::{Filter, Pipeline};
    use tdb_schema::{Dimension, SchemaBuilder};

    use super::*;
    use crate::WriteColumn;
    use crate::storage::MemoryStorage;

    fn at(time: u64) -> WriteOptions {
        WriteOptions::new().timestamp(time)
    }

    fn evolve(storage: &MemoryStorage, time: u64, evolution: &SchemaEvolution) -> Result<String> {
        at(time).evolve_storage(storage.clone(), evolution)
    }

    fn version(number: u32) -> FormatVersion {
        FormatVersion::parse(number).unwrap()
    }

    fn schema() -> SchemaBuilder {
        ArraySchema::sparse().dimension(Dimension::new("x", 0i32..=99)).attribute(Attribute::new(
            "a",
            Datatype::Int32,
            CellValNum::ONE,
        ))
    }

    #[test]
    fn an_added_attribute_can_index_all_values_of_an_enumeration_that_is_there() {
        let storage = MemoryStorage::default();
        at(1).create_storage(&storage, &schema().build().unwrap()).unwrap();
        let values = (0..200u8).map(|value| [value]);
        let many = Enumeration::new("e", "", Datatype::Uint8, CellValNum::ONE, values).unwrap();
        evolve(&storage, 2, &SchemaEvolution::new().add_enumeration(many)).unwrap();
        let add = |name: &str, datatype| {
            let attribute = Attribute::new(name, datatype, CellValNum::ONE).with_enumeration("e");
            SchemaEvolution::new().add_attribute(attribute)
        };
        let error = evolve(&storage, 3, &add("b", Datatype::Int8)).unwrap_err().to_string();
        assert!(error.contains("\"b\"") && error.contains("200"), "{error}");
        evolve(&storage, 3, &add("b", Datatype::Uint8)).unwrap();
        // Together with the values that are too many for an attribute, too.
        let more = (200..=255u8).map(|value| [value]);
        let both = add("c", Datatype::Uint16).extend_enumeration("e", more);
        let error = evolve(&storage, 4, &both).unwrap_err().to_string();
        assert!(error.contains("\"b\"") && error.contains("256"), "{error}");
        // One value more than a new enumeration may have for a type.
        let most = SchemaEvolution::new().extend_enumeration("e", (200..255u8).map(|value| [value]));
        evolve(&storage, 4, &most).unwrap();
    }

    #[test]
    fn of_equal_changes_where_needed_only_the_first_writes_a_schema() {
        let storage = MemoryStorage::default();
        let colours = Enumeration::new("e", "", Datatype::StringUtf8, CellValNum::Var, ["red"]).unwrap();
        let name = Dimension::string("s");
        let current = vec![Range::new(0i32.to_le_bytes(), 9i32.to_le_bytes()), Range::new(*b"b", *b"")];
        let schema = schema().dimension(name).current_domain(current).build().unwrap();
        at(1).create_storage(&storage, &schema).unwrap();
        evolve(&storage, 2, &SchemaEvolution::new().add_enumeration(colours)).unwrap();
        let need = |low: &[u8], high: i32, values: &[&str]| {
            let ranges = vec![Range::new(5i32.to_le_bytes(), high.to_le_bytes()), Range::new(low, *b"d")];
            let values = values.iter().copied();
            SchemaEvolution::new()
                .expand_current_domain(ranges)
                .extend_enumeration("e", values)
                .where_needed()
        };
        let first = evolve(&storage, 3, &need(b"a", 20, &["red", "blue", "pink", "blue"])).unwrap();
        assert_eq!(evolve(&storage, 4, &need(b"c", 20, &["pink", "blue"])).unwrap(), first);
        assert_ne!(evolve(&storage, 5, &need(b"c", 20, &["teal"])).unwrap(), first);
        let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
        let found = array.enumeration("e").unwrap().unwrap();
        let found: Vec<_> = (0..found.len()).map(|at| found.value(at).unwrap().to_vec()).collect();
        assert_eq!(found, [&b"red"[..], b"blue", b"pink", b"teal"]);
        let current = array.schema().current_domain.clone().unwrap().ranges;
        assert_eq!(current[0], Range::new(0i32.to_le_bytes(), 20i32.to_le_bytes()));
        assert_eq!(current[1], Range::new(*b"a", *b""), "what is open stays open");
        let grow = SchemaEvolution::new().expand_current_domain(current);
        assert!(evolve(&storage, 6, &grow).unwrap_err().to_string().contains("changes nothing"));
    }

    #[test]
    fn a_current_domain_of_more_dimensions_than_there_are_is_refused_where_needed_too() {
        let range = Range::new(0i32.to_le_bytes(), 9i32.to_le_bytes());
        let storage = MemoryStorage::default();
        let schema = schema().current_domain(vec![range.clone()]).build().unwrap();
        at(1).create_storage(&storage, &schema).unwrap();
        let grow = SchemaEvolution::new().expand_current_domain(vec![range.clone(), range]);
        for grow in [grow.clone(), grow.where_needed()] {
            let error = evolve(&storage, 2, &grow).unwrap_err().to_string();
            assert!(error.contains("has 2 intervals"), "{error}");
        }
    }

    #[test]
    fn an_enumeration_that_no_release_of_the_version_reads_is_not_added() {
        let storage = MemoryStorage::default();
        at(1).create_storage(&storage, &schema().version(version(20)).build().unwrap()).unwrap();
        let none: [&[u8]; 0] = [];
        let empty = Enumeration::new("e", "", Datatype::Uint8, CellValNum::ONE, none).unwrap();
        let add = SchemaEvolution::new().add_enumeration(empty);
        let error = evolve(&storage, 2, &add).unwrap_err().to_string();
        assert!(error.contains("its values have no bytes"), "{error}");
        evolve(&storage, 2, &add.upgrade()).unwrap();
    }

    /// An array of a version whose strings have one filter, with a fragment or without one.
    fn strings(number: u32, datatype: Datatype, filter: &Filter, filled: bool) -> MemoryStorage {
        let storage = MemoryStorage::default();
        let mut strings = Attribute::new("s", datatype, CellValNum::Var);
        strings.filters = Pipeline::new(vec![filter.clone()]);
        let schema = schema().attribute(strings).version(version(number));
        at(1).create_storage(&storage, &schema.build().unwrap()).unwrap();
        if filled {
            let writer = at(2).open_storage(storage.clone()).unwrap();
            let write = writer.write();
            let write =
                write.column(WriteColumn::fixed("x", &[1i32, 2])).column(WriteColumn::fixed("a", &[1i32, 2]));
            write.column(WriteColumn::var("s", b"abab", &[0, 2, 4])).commit().unwrap();
        }
        storage
    }

    #[test]
    fn an_array_is_not_upgraded_if_libtiledb_would_misread_the_strings_of_its_fragments() {
        let rle = Filter::Rle { level: -1 };
        let upgrade = SchemaEvolution::new().upgrade();
        for (number, datatype) in
            [(7, Datatype::StringAscii), (11, Datatype::StringAscii), (16, Datatype::StringUtf8)]
        {
            let storage = strings(number, datatype, &rle, true);
            let error = evolve(&storage, 3, &upgrade).unwrap_err().to_string();
            assert!(error.contains("\"s\"") && error.contains("tdb copy"), "{error}");
            // Nobody reads the strings of an attribute that is dropped.
            evolve(&storage, 3, &upgrade.clone().drop_attribute("s")).unwrap();
            evolve(&strings(number, datatype, &rle, false), 3, &upgrade).unwrap();
        }
        let same = [
            (12, Datatype::StringAscii, rle.clone()),
            (17, Datatype::StringUtf8, rle),
            (11, Datatype::StringAscii, Filter::Gzip { level: 1 }),
        ];
        for (number, datatype, filter) in same {
            let storage = strings(number, datatype, &filter, true);
            evolve(&storage, 3, &upgrade).unwrap();
            let array = OpenOptions::new().open_storage(storage).unwrap();
            assert_eq!(array.schema().version, FormatVersion::CURRENT);
        }
    }

    #[test]
    fn dimensions_have_the_filters_of_coordinates_for_an_upgrade() {
        let storage = MemoryStorage::default();
        let schema = ArraySchema::sparse().dimension(Dimension::string("d")).version(version(11));
        let schema = schema.coords_filters(Pipeline::new(vec![Filter::Rle { level: -1 }]));
        at(1).create_storage(&storage, &schema.build().unwrap()).unwrap();
        let writer = at(2).open_storage(storage.clone()).unwrap();
        let write = writer.write();
        write.column(WriteColumn::var("d", b"abc", &[0, 1, 3])).commit().unwrap();
        let error = evolve(&storage, 3, &SchemaEvolution::new().upgrade()).unwrap_err().to_string();
        assert!(error.contains("\"d\""), "{error}");
    }
}
