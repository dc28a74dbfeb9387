//! Groups: folders that name arrays and other groups as their members.

mod open;
pub(crate) mod read;
pub(crate) mod write;

use tdb_array::group::ObjectType;
use tdb_array::schema::MetadataValue;

use crate::config::{Config, ConfigObject};
use crate::context::{Context, Ctx};
use crate::ffi::{Failure, Freed, In, Object, Out, OutHandle, OutText, Outcome, Text};
use crate::place::{self, Place};
use crate::shared::Shared;
use open::OpenGroup;

/// The numbers of `tiledb_query_type_t`.
const READ: u32 = 0;
const WRITE: u32 = 1;
const MODIFY_EXCLUSIVE: u32 = 4;

/// A group behind a pointer, open or not.
pub(crate) struct GroupObject {
    place: Place,
    state: Shared<State>,
}

/// What a group is until it is closed.
struct State {
    config: Config,
    /// The kind of queries that it was opened for last.
    query_type: u32,
    open: Option<OpenGroup>,
}

impl Object for GroupObject {
    const NAME: &'static str = "group";
}

fn failure(text: impl core::fmt::Display) -> Failure {
    Failure::of("Group", text)
}

impl State {
    /// The open group, or an error that says what cannot be done.
    fn open(&self, what: &str) -> Result<&OpenGroup, Failure> {
        self.open.as_ref().ok_or_else(|| failure(format!("Cannot {what}; Group is not open")))
    }

    fn open_mut(&mut self, what: &str) -> Result<&mut OpenGroup, Failure> {
        self.open.as_mut().ok_or_else(|| failure(format!("Cannot {what}; Group is not open")))
    }
}

impl GroupObject {
    fn open(&self, context: &Context, query_type: u32) -> Outcome {
        let mut state = self.state.lock();
        if state.open.is_some() {
            return Err(failure("Cannot open group; Group already open"));
        }
        state.open = Some(OpenGroup::new(context, &state.config, &self.place, query_type)?);
        state.query_type = query_type;
        Ok(())
    }

    fn close(&self) -> Outcome {
        // Closed even if the changes cannot be written, as for libtiledb.
        let open = self.state.lock().open.take();
        open.map_or(Ok(()), OpenGroup::close)
    }
}

exported! {
    fn tiledb_group_create(ctx: Ctx, uri: Text) -> Code for ctx {
        let context = ctx.get()?;
        let place = Place::of(context, uri.get("group_uri")?)?;
        if place.object_type()? == ObjectType::Group {
            return Err(failure(format!("Cannot create group; Group '{}' already exists", place.uri())));
        }
        place::write_options(context, context.config())?.create_group_storage(&*place.storage()?)?;
        Ok(())
    }

    fn tiledb_group_alloc(ctx: Ctx, uri: Text, group: OutHandle<GroupObject>) -> Code for ctx {
        let context = ctx.get()?;
        let place = Place::of(context, uri.get("group_uri")?)?;
        let state = State { config: context.config().clone(), query_type: READ, open: None };
        group.put(GroupObject { place, state: Shared::new(state) })
    }

    fn tiledb_group_free(group: Freed<GroupObject>) {
        group.free();
    }

    fn tiledb_group_open(ctx: Ctx, group: In<GroupObject>, query_type: u32) -> Code for ctx {
        group.get()?.open(ctx.get()?, query_type)
    }

    fn tiledb_group_close(ctx: Ctx, group: In<GroupObject>) -> Code for ctx {
        group.get()?.close()
    }

    fn tiledb_group_set_config(ctx: Ctx, group: In<GroupObject>, config: In<ConfigObject>) -> Code for ctx {
        let config = config.get()?.0.copy();
        let mut state = group.get()?.state.lock();
        if state.open.is_some() {
            return Err(failure("[set_config] Cannot set a config on an open group"));
        }
        state.config.inherit(&config);
        Ok(())
    }

    fn tiledb_group_get_config(ctx: Ctx, group: In<GroupObject>, config: OutHandle<ConfigObject>) -> Code for ctx {
        config.put(ConfigObject::of(group.get()?.state.lock().config.clone()))
    }

    fn tiledb_group_is_open(ctx: Ctx, group: In<GroupObject>, is_open: Out<i32>) -> Code for ctx {
        is_open.set(i32::from(group.get()?.state.lock().open.is_some()))
    }

    fn tiledb_group_get_uri(ctx: Ctx, group: In<GroupObject>, uri: OutText) -> Code for ctx {
        uri.keep(group, &group.get()?.place.uri())
    }

    fn tiledb_group_get_query_type(ctx: Ctx, group: In<GroupObject>, query_type: Out<u32>) -> Code for ctx {
        let state = group.get()?.state.lock();
        state.open("get query_type")?;
        query_type.set(state.query_type)
    }
}

/// The value of a change of metadata: a new one, or none.
type Change = Option<MetadataValue>;
