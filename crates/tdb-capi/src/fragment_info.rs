//! Fragments of an array, as they are when they are loaded.

pub(crate) mod rectangles;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use tdb_array::Array;
use tdb_array::schema::Range;
use tdb_array::stored::Fragment;

use crate::array_schema::{Origin, Schema, SchemaObject};
use crate::config::{Config, ConfigObject};
use crate::context::{Context, Ctx};
use crate::dump;
use crate::ffi::{Failure, Freed, In, Object, Out, OutFile, OutHandle, OutText, Text};
use crate::object::or_missing;
use crate::place::{self, Place};
use crate::shared::Shared;
use crate::string::StringObject;

/// The name of the only schema of arrays before format version 10.
const OLD_SCHEMA: &str = "__array_schema.tdb";

/// The fragments of an array behind a pointer, once they were loaded.
pub(crate) struct FragmentInfoObject {
    place: Place,
    state: Shared<State>,
}

struct State {
    config: Config,
    loaded: Option<Arc<Loaded>>,
}

/// What was loaded.
pub(crate) struct Loaded {
    array: Array,
    /// The fragments whose times are all inside of those at which the array was opened. A
    /// consolidated one that ends in the future is read in part, and not listed.
    fragments: Vec<Arc<Fragment>>,
    place: Place,
    /// The fragments that consolidated ones replace.
    replaced: Vec<String>,
    /// The rectangles of the tiles of those fragments that were asked for them.
    rectangles: Shared<BTreeMap<u32, Rectangles>>,
}

/// One interval per dimension for each tile.
pub(super) type Rectangles = Arc<Vec<Vec<Range>>>;

impl Object for FragmentInfoObject {
    const NAME: &'static str = "fragment info";
}

pub(super) fn failure(text: impl core::fmt::Display) -> Failure {
    Failure::of("FragmentInfo", text)
}

/// A number of the caller as an index, which no list has if it is too large.
pub(super) fn place_of(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl FragmentInfoObject {
    /// What was loaded.
    ///
    /// # Errors
    /// Nothing was.
    pub(super) fn loaded(&self) -> Result<Arc<Loaded>, Failure> {
        let loaded = self.state.lock().loaded.clone();
        loaded.ok_or_else(|| failure("Fragment info has not been loaded."))
    }

    fn load(&self, context: &Context) -> Result<(), Failure> {
        let mut state = self.state.lock();
        let opened = place::open_options(context, &state.config)?.open_storage(self.place.storage()?);
        let array = opened.map_err(|error| or_missing(&self.place, error))?;
        let replaced = array.replaced_fragments()?;
        let replaced = replaced.iter().map(|key| self.place.below(key).uri()).collect();
        let is_inside = |fragment: &&Arc<Fragment>| array.window().contains(fragment.timestamps());
        let fragments = array.fragments().iter().filter(is_inside).cloned().collect();
        let (place, rectangles) = (self.place.clone(), Shared::default());
        state.loaded = Some(Arc::new(Loaded { array, fragments, place, replaced, rectangles }));
        Ok(())
    }
}

impl Loaded {
    /// A fragment.
    ///
    /// # Errors
    /// There is none of this number; the text begins with `what`.
    pub(super) fn fragment(&self, number: u32, what: &str) -> Result<&Fragment, Failure> {
        let found = self.fragments.get(place_of(number));
        found.map(Arc::as_ref).ok_or_else(|| failure(format!("{what}; Invalid fragment index")))
    }

    /// The rectangles of the tiles of a sparse fragment; none of a dense one.
    ///
    /// # Errors
    /// There is no such fragment, or its metadata is damaged.
    pub(super) fn rectangles(&self, number: u32, what: &str) -> Result<Rectangles, Failure> {
        let fragment = self.fragment(number, what)?;
        let mut known = self.rectangles.lock();
        if let Some(found) = known.get(&number) {
            return Ok(found.clone());
        }
        let found = Arc::new(self.array.tile_bounds(fragment)?);
        known.insert(number, found.clone());
        Ok(found)
    }

    fn uri(&self, fragment: &Fragment) -> String {
        self.place.below(fragment.folder()).uri()
    }

    /// The bytes of all files of a fragment.
    fn size(&self, fragment: &Fragment) -> Result<u64, Failure> {
        let metadata = self.place.storage()?.size(fragment.metadata_key())?;
        Ok(fragment.footer().data_bytes().saturating_add(metadata))
    }

    /// How many fragments have their footers in their own files only.
    fn unconsolidated(&self) -> usize {
        let fragments = self.fragments.iter();
        fragments.filter(|fragment| !fragment.is_in_consolidated_metadata()).count()
    }

    fn dump(&self) -> Result<String, Failure> {
        let fragments = &self.fragments;
        let mut text = format!("- Fragment num: {}\n", fragments.len());
        // Writing to a text cannot fail.
        let _ = writeln!(text, "- Unconsolidated metadata num: {}", self.unconsolidated());
        let _ = writeln!(text, "- To vacuum num: {}", self.replaced.len());
        if !self.replaced.is_empty() {
            let _ = writeln!(text, "- To vacuum URIs:");
        }
        for uri in &self.replaced {
            let _ = writeln!(text, "  > {uri}");
        }
        for (index, fragment) in fragments.iter().enumerate() {
            let _ = writeln!(text, "- Fragment #{}:", index.saturating_add(1));
            text.push_str(&self.dump_fragment(fragment)?);
        }
        Ok(text)
    }

    fn dump_fragment(&self, fragment: &Fragment) -> Result<String, Failure> {
        let ranges = fragment.non_empty_domain().unwrap_or_default();
        let dimensions = &fragment.schema().domain.dimensions;
        let domain: Vec<String> = ranges
            .iter()
            .zip(dimensions)
            .map(|(range, dimension)| dump::range(dimension.datatype, &range.low, &range.high))
            .collect();
        let (first, last) = fragment.timestamps();
        let lines = [
            ("URI", self.uri(fragment)),
            // Old fragments name no schema.
            ("Schema name", fragment.footer().schema_name.clone().unwrap_or_default()),
            ("Type", if fragment.is_dense() { "dense" } else { "sparse" }.to_owned()),
            ("Non-empty domain", domain.join(" x ")),
            ("Size", self.size(fragment)?.to_string()),
            ("Cell num", fragment.stored_cell_count()?.to_string()),
            ("Timestamp range", format!("[{first}, {last}]")),
            ("Format version", fragment.version().to_string()),
            (
                "Has consolidated metadata",
                if fragment.is_in_consolidated_metadata() { "yes" } else { "no" }.to_owned(),
            ),
        ];
        Ok(lines.into_iter().map(|(name, value)| format!("  > {name}: {value}\n")).collect())
    }
}

exported! {
    fn tiledb_fragment_info_alloc(ctx: Ctx, uri: Text, info: OutHandle<FragmentInfoObject>) -> Code for ctx {
        let context = ctx.get()?;
        let place = Place::of(context, uri.get("array_uri")?)?;
        let state = State { config: context.config().clone(), loaded: None };
        info.put(FragmentInfoObject { place, state: Shared::new(state) })
    }

    fn tiledb_fragment_info_free(info: Freed<FragmentInfoObject>) {
        info.free();
    }

    fn tiledb_fragment_info_set_config(ctx: Ctx, info: In<FragmentInfoObject>, config: In<ConfigObject>) -> Code for ctx {
        let config = config.get()?.0.copy();
        let mut state = info.get()?.state.lock();
        if state.loaded.is_some() {
            return Err(failure("[set_config] Cannot set config after load"));
        }
        state.config.inherit(&config);
        Ok(())
    }

    fn tiledb_fragment_info_get_config(ctx: Ctx, info: In<FragmentInfoObject>, config: OutHandle<ConfigObject>) -> Code for ctx {
        config.put(ConfigObject::of(info.get()?.state.lock().config.clone()))
    }

    fn tiledb_fragment_info_load(ctx: Ctx, info: In<FragmentInfoObject>) -> Code for ctx {
        info.get()?.load(ctx.get()?)
    }

    fn tiledb_fragment_info_get_fragment_num(ctx: Ctx, info: In<FragmentInfoObject>, count: Out<u32>) -> Code for ctx {
        let fragments = info.get()?.loaded()?.fragments.len();
        count.set(u32::try_from(fragments).unwrap_or(u32::MAX))
    }

    fn tiledb_fragment_info_get_fragment_name_v2(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, name: OutHandle<StringObject>) -> Code for ctx {
        let loaded = info.get()?.loaded()?;
        name.put(StringObject(loaded.fragment(number, "Cannot get fragment URI")?.name().to_owned()))
    }

    fn tiledb_fragment_info_get_fragment_uri(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, uri: OutText) -> Code for ctx {
        let loaded = info.get()?.loaded()?;
        uri.keep(info, &loaded.uri(loaded.fragment(number, "Cannot get fragment URI")?))
    }

    fn tiledb_fragment_info_get_fragment_size(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, size: Out<u64>) -> Code for ctx {
        let loaded = info.get()?.loaded()?;
        size.set(loaded.size(loaded.fragment(number, "Cannot get fragment size")?)?)
    }

    fn tiledb_fragment_info_get_dense(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, dense: Out<i32>) -> Code for ctx {
        let loaded = info.get()?.loaded()?;
        dense.set(i32::from(loaded.fragment(number, "Cannot check if fragment is dense")?.is_dense()))
    }

    fn tiledb_fragment_info_get_sparse(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, sparse: Out<i32>) -> Code for ctx {
        let loaded = info.get()?.loaded()?;
        sparse.set(i32::from(!loaded.fragment(number, "Cannot check if fragment is sparse")?.is_dense()))
    }

    fn tiledb_fragment_info_get_timestamp_range(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, low: Out<u64>, high: Out<u64>) -> Code for ctx {
        let loaded = info.get()?.loaded()?;
        let times = loaded.fragment(number, "Cannot get timestamp range")?.timestamps();
        low.set(times.0)?;
        high.set(times.1)
    }

    fn tiledb_fragment_info_get_cell_num(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, count: Out<u64>) -> Code for ctx {
        let loaded = info.get()?.loaded()?;
        count.set(loaded.fragment(number, "Cannot get cell num")?.stored_cell_count()?)
    }

    fn tiledb_fragment_info_get_total_cell_num(ctx: Ctx, info: In<FragmentInfoObject>, count: Out<u64>) -> Code for ctx {
        let mut total = 0u64;
        for fragment in &info.get()?.loaded()?.fragments {
            total = total.saturating_add(fragment.stored_cell_count()?);
        }
        count.set(total)
    }

    fn tiledb_fragment_info_get_version(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, version: Out<u32>) -> Code for ctx {
        let loaded = info.get()?.loaded()?;
        version.set(loaded.fragment(number, "Cannot get version")?.version().number())
    }

    fn tiledb_fragment_info_has_consolidated_metadata(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, has: Out<i32>) -> Code for ctx {
        let loaded = info.get()?.loaded()?;
        let fragment = loaded.fragment(number, "Cannot check if fragment has consolidated metadata")?;
        has.set(i32::from(fragment.is_in_consolidated_metadata()))
    }

    fn tiledb_fragment_info_get_unconsolidated_metadata_num(ctx: Ctx, info: In<FragmentInfoObject>, count: Out<u32>) -> Code for ctx {
        // Before the fragments are loaded, there are none.
        let loaded = info.get()?.state.lock().loaded.clone();
        let unconsolidated = loaded.map_or(0, |loaded| loaded.unconsolidated());
        count.set(u32::try_from(unconsolidated).unwrap_or(u32::MAX))
    }

    fn tiledb_fragment_info_get_to_vacuum_num(ctx: Ctx, info: In<FragmentInfoObject>, count: Out<u32>) -> Code for ctx {
        let loaded = info.get()?.state.lock().loaded.clone();
        let replaced = loaded.map_or(0, |loaded| loaded.replaced.len());
        count.set(u32::try_from(replaced).unwrap_or(u32::MAX))
    }

    fn tiledb_fragment_info_get_to_vacuum_uri(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, uri: OutText) -> Code for ctx {
        let loaded = info.get()?.loaded()?;
        let found = loaded.replaced.get(place_of(number));
        uri.keep(info, found.ok_or_else(|| failure("Cannot get URI of fragment to vacuum; Invalid fragment index"))?)
    }

    fn tiledb_fragment_info_get_array_schema(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, schema: OutHandle<SchemaObject>) -> Code for ctx {
        let loaded = info.get()?.loaded()?;
        let array = loaded.array.only(loaded.fragment(number, "Cannot get array schema")?);
        schema.put(SchemaObject(Shared::new(Schema::of(Origin::Array(array)))))
    }

    fn tiledb_fragment_info_get_array_schema_name(ctx: Ctx, info: In<FragmentInfoObject>, number: u32, name: OutText) -> Code for ctx {
        let loaded = info.get()?.loaded()?;
        let fragment = loaded.fragment(number, "Cannot get array schema name")?;
        name.keep(info, fragment.footer().schema_name.as_deref().unwrap_or(OLD_SCHEMA))
    }

    fn tiledb_fragment_info_dump(ctx: Ctx, info: In<FragmentInfoObject>, file: OutFile) -> Code for ctx {
        file.print(&info.get()?.loaded()?.dump()?)
    }

    fn tiledb_fragment_info_dump_str(ctx: Ctx, info: In<FragmentInfoObject>, text: OutHandle<StringObject>) -> Code for ctx {
        text.put(StringObject(info.get()?.loaded()?.dump()?))
    }
}

#[cfg(test)]
mod tests;
