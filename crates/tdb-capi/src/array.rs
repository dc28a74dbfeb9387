//! Arrays: opened at a time, for reading or writing.

pub(crate) mod domain;
pub(crate) mod metadata;
mod open;

use std::sync::Arc;

use tdb_array::schema::{ArraySchema, is_encrypted};

use crate::array_schema::SchemaObject;
use crate::config::{Config, ConfigObject};
use crate::context::{Context, Ctx};
use crate::enumeration::EnumerationObject;
use crate::ffi::{Failure, Freed, In, Object, Out, OutHandle, OutText, Outcome, Text};
use crate::object::check_exists;
use crate::place::Place;
use crate::shared::Shared;
pub(crate) use open::OpenArray;

/// The number of `tiledb_query_type_t` for reading.
pub(crate) const READ: u32 = 0;
/// That for writing.
pub(crate) const WRITE: u32 = 1;
/// That for deletes.
pub(crate) const DELETE: u32 = 2;
/// That for updates, which are not supported.
pub(crate) const UPDATE: u32 = 3;
/// The last of them.
pub(crate) const MODIFY_EXCLUSIVE: u32 = 4;

/// An array behind a pointer, open or not. Open ones may be used from any thread. Copies are the
/// same array: queries own one.
#[derive(Clone)]
pub(crate) struct ArrayObject {
    place: Place,
    state: Arc<Shared<State>>,
}

/// What an array is until it is closed.
pub(crate) struct State {
    config: Config,
    /// The kind of queries that it was opened for last.
    query_type: u32,
    /// The first time of which it is opened.
    start: u64,
    /// The last one, if the caller chose it.
    end: Option<u64>,
    open: Option<OpenArray>,
}

impl Object for ArrayObject {
    const NAME: &'static str = "array";
}

/// A failure of an array.
pub(crate) fn failure(text: impl core::fmt::Display) -> Failure {
    Failure::of("Array", text)
}

impl ArrayObject {
    /// The place of the array.
    pub(crate) const fn place(&self) -> &Place {
        &self.place
    }

    /// The schema of the open array, and the kind of queries that it is open for; nothing if it is
    /// closed.
    pub(crate) fn opened(&self) -> Option<(Arc<ArraySchema>, u32)> {
        let state = self.state.lock();
        state.open.as_ref().map(|open| (open.shape().clone(), state.query_type))
    }

    /// Looks at the open array, or fails with words for what cannot be done.
    ///
    /// # Errors
    /// The array is not open, or what the function returns.
    pub(crate) fn with_open<T>(
        &self,
        what: &str,
        look: impl FnOnce(&mut OpenArray) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let mut state = self.state.lock();
        let open = state.open.as_mut();
        look(open.ok_or_else(|| failure(format!("{what}; Array is not open")))?)
    }

    fn open(&self, context: &Context, query_type: u32) -> Outcome {
        let _clock =
            context.stats().time(if query_type == READ { "array_open_READ" } else { "array_open_WRITE" });
        let mut state = self.state.lock();
        if state.open.is_some() {
            return Err(failure("Cannot open array; Array already open."));
        }
        if query_type == UPDATE || query_type > MODIFY_EXCLUSIVE {
            return Err(failure("Cannot open array; Update query type is only experimental, do not use."));
        }
        let times = (state.start, state.end);
        state.open = Some(OpenArray::new(context, &state.config, &self.place, query_type, times)?);
        state.query_type = query_type;
        Ok(())
    }

    fn close(&self) -> Outcome {
        // Closed even if the changes cannot be written, as for libtiledb.
        let open = self.state.lock().open.take();
        open.map_or(Ok(()), OpenArray::close)
    }
}

exported! {
    fn tiledb_array_alloc(ctx: Ctx, uri: Text, array: OutHandle<ArrayObject>) -> Code for ctx {
        let context = ctx.get()?;
        let place = Place::of(context, uri.get("array_uri")?)?;
        let config = context.config().clone();
        let state = State { config, query_type: READ, start: 0, end: None, open: None };
        array.put(ArrayObject { place, state: Arc::new(Shared::new(state)) })
    }

    fn tiledb_array_free(array: Freed<ArrayObject>) {
        array.free();
    }

    fn tiledb_array_open(ctx: Ctx, array: In<ArrayObject>, query_type: u32) -> Code for ctx {
        array.get()?.open(ctx.get()?, query_type)
    }

    fn tiledb_array_close(ctx: Ctx, array: In<ArrayObject>) -> Code for ctx {
        array.get()?.close()
    }

    fn tiledb_array_reopen(ctx: Ctx, array: In<ArrayObject>) -> Code for ctx {
        let array = array.get()?;
        let query_type = array.state.lock().query_type;
        let end = array.with_open("Cannot reopen array", |open| Ok(open.end()))?;
        if query_type != READ {
            return Err(failure("Cannot reopen array; Array was not opened in read mode"));
        }
        array.close()?;
        // Without another time than before, it is opened as of now.
        array.state.lock().end.take_if(|chosen| *chosen == end);
        array.open(ctx.get()?, query_type)
    }

    fn tiledb_array_is_open(ctx: Ctx, array: In<ArrayObject>, is_open: Out<i32>) -> Code for ctx {
        is_open.set(i32::from(array.get()?.state.lock().open.is_some()))
    }

    fn tiledb_array_delete(ctx: Ctx, uri: Text) -> Code for ctx {
        let place = Place::of(ctx.get()?, uri.get("array_uri")?)?;
        check_exists(&place)?;
        place.remove_folder()
    }

    fn tiledb_array_encryption_type(ctx: Ctx, uri: Text, encryption: Out<u32>) -> Code for ctx {
        let place = Place::of(ctx.get()?, uri.get("array_uri")?)?;
        encryption.set(u32::from(is_encrypted(&*place.storage()?)?))
    }

    fn tiledb_array_set_config(ctx: Ctx, array: In<ArrayObject>, config: In<ConfigObject>) -> Code for ctx {
        let config = config.get()?.0.copy();
        let mut state = array.get()?.state.lock();
        if state.open.is_some() {
            return Err(failure("[set_config] Cannot set a config on an open array"));
        }
        state.config.inherit(&config);
        Ok(())
    }

    fn tiledb_array_get_config(ctx: Ctx, array: In<ArrayObject>, config: OutHandle<ConfigObject>) -> Code for ctx {
        config.put(ConfigObject::of(array.get()?.state.lock().config.clone()))
    }

    fn tiledb_array_set_open_timestamp_start(ctx: Ctx, array: In<ArrayObject>, time: u64) -> Code for ctx {
        array.get()?.state.lock().start = time;
        Ok(())
    }

    fn tiledb_array_set_open_timestamp_end(ctx: Ctx, array: In<ArrayObject>, time: u64) -> Code for ctx {
        array.get()?.state.lock().end = Some(time).filter(|time| *time != u64::MAX);
        Ok(())
    }

    fn tiledb_array_get_open_timestamp_start(ctx: Ctx, array: In<ArrayObject>, time: Out<u64>) -> Code for ctx {
        time.set(array.get()?.state.lock().start)
    }

    fn tiledb_array_get_open_timestamp_end(ctx: Ctx, array: In<ArrayObject>, time: Out<u64>) -> Code for ctx {
        let state = array.get()?.state.lock();
        let opened = state.open.as_ref().map(OpenArray::end);
        time.set(opened.or(state.end).unwrap_or(u64::MAX))
    }

    fn tiledb_array_get_schema(ctx: Ctx, array: In<ArrayObject>, schema: OutHandle<SchemaObject>) -> Code for ctx {
        array.get()?.with_open("Cannot get array schema", |open| {
            schema.put(SchemaObject(Shared::new(open.schema().clone())))
        })
    }

    fn tiledb_array_get_query_type(ctx: Ctx, array: In<ArrayObject>, query_type: Out<u32>) -> Code for ctx {
        let array = array.get()?;
        array.with_open("Cannot get query_type", |_| Ok(()))?;
        query_type.set(array.state.lock().query_type)
    }

    fn tiledb_array_get_uri(ctx: Ctx, array: In<ArrayObject>, uri: OutText) -> Code for ctx {
        uri.keep(array, &array.get()?.place.uri())
    }

    fn tiledb_array_get_enumeration(ctx: Ctx, array: In<ArrayObject>, name: Text, enumeration: OutHandle<EnumerationObject>) -> Code for ctx {
        let name = name.optional("name")?.ok_or("'attr_name' must not be null")?;
        array.get()?.with_open("Unable to load enumerations", |open| {
            enumeration.put_part(array, EnumerationObject(open.schema_mut().enumeration(name)?))
        })
    }

    fn tiledb_array_load_all_enumerations(ctx: Ctx, array: In<ArrayObject>) -> Code for ctx {
        array.get()?.with_open("Unable to load all enumerations", |open| open.schema_mut().load_enumerations())
    }

    fn tiledb_array_load_enumerations_all_schemas(ctx: Ctx, array: In<ArrayObject>) -> Code for ctx {
        array.get()?.with_open("Unable to load all enumerations", |open| open.schema_mut().load_enumerations())
    }
}
