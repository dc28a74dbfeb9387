//! Changes of groups.

use core::ops::ControlFlow;

use tdb_array::group::{GroupMember, ObjectType};
use tdb_array::maintain::{Consolidation, Stored, Vacuum};

use super::open::{OpenGroup, uri_of};
use super::{GroupObject, failure};
use crate::config::ConfigObject;
use crate::context::{Context, Ctx};
use crate::ffi::{Data, Failure, In, Outcome, Text};
use crate::metadata::value_of;
use crate::place::{self, Place};

impl GroupObject {
    fn add(&self, uri: &str, relative: bool, name: Option<&str>, object: Option<ObjectType>) -> Outcome {
        let mut state = self.state.lock();
        let writing = state.open_mut("mark member for addition")?.writing("get member")?;
        let Some(object) = object else {
            let places = writing.places.clone();
            writing.writer.add_in(&places, uri, relative, name)?;
            return Ok(());
        };
        let mut member = GroupMember::new(object, uri);
        member.relative = relative;
        member.name = name.map(str::to_owned);
        writing.writer.add(member)?;
        Ok(())
    }
}

/// Removes a group; with all its members if `recursive`, each group before what it names.
fn delete(context: &Context, group: &GroupObject, uri: &str, recursive: bool) -> Outcome {
    let place = Place::of(context, uri)?;
    if recursive {
        let config = group.state.lock().config.clone();
        if let OpenGroup::Read(reading) = OpenGroup::new(context, &config, &place, super::READ)? {
            for member in reading.group.members() {
                let uri = uri_of(&reading.group, member);
                match member.object {
                    ObjectType::Group => delete(context, group, &uri, true)?,
                    ObjectType::Array => Place::of(context, &uri)?.remove_folder()?,
                    ObjectType::Invalid => {}
                }
            }
        }
    }
    for folder in ["__group", "__meta"] {
        let folder = place.below(folder);
        if folder.is_folder() {
            folder.remove_folder()?;
        }
    }
    place.below("__tiledb_group.tdb").remove_file()?;
    if place.list().is_ok_and(|found| found.is_empty()) { place.remove_folder() } else { Ok(()) }
}

/// What maintenance of a group's metadata does.
enum Maintain {
    Consolidate,
    Vacuum,
}

fn maintain(context: &Context, uri: &str, config: In<ConfigObject>, what: &Maintain) -> Outcome {
    let merged = context.config().with(config)?;
    let place = Place::of(context, uri)?;
    let writer = place::write_options(context, &merged)?.open_group_storage(place.storage()?)?;
    let plan = match what {
        Maintain::Consolidate => Consolidation::new(Stored::Metadata).plan(&writer)?,
        // As a vacuum of libtiledb does, whatever reads at earlier times saw.
        Maintain::Vacuum => Vacuum::new(Stored::Metadata).drop_history(true).plan(&writer)?,
    };
    plan.run(&writer, &mut |_| ControlFlow::Continue(()))?;
    Ok(())
}

fn object_of(number: u32) -> Result<ObjectType, Failure> {
    let found = u8::try_from(number).ok().and_then(ObjectType::from_code);
    found.filter(|found| *found != ObjectType::Invalid).ok_or_else(|| failure("Invalid object `type`"))
}

exported! {
    fn tiledb_group_put_metadata(ctx: Ctx, group: In<GroupObject>, key: Text, datatype: u32, count: u32, data: Data) -> Code for ctx {
        let value = value_of(datatype, count, data)?;
        let mut state = group.get()?.state.lock();
        let writing = state.open_mut("put metadata")?.writing("put metadata")?;
        writing.change(key.get("key")?, Some(value));
        Ok(())
    }

    fn tiledb_group_delete_metadata(ctx: Ctx, group: In<GroupObject>, key: Text) -> Code for ctx {
        let mut state = group.get()?.state.lock();
        let writing = state.open_mut("delete metadata")?.writing("delete metadata")?;
        writing.change(key.get("key")?, None);
        Ok(())
    }

    fn tiledb_group_add_member(ctx: Ctx, group: In<GroupObject>, uri: Text, relative: u8, name: Text) -> Code for ctx {
        group.get()?.add(uri.get("group_uri")?, relative != 0, name.optional("name")?, None)
    }

    fn tiledb_group_add_member_with_type(ctx: Ctx, group: In<GroupObject>, uri: Text, relative: u8, name: Text, object: u32) -> Code for ctx {
        let object = object_of(object)?;
        group.get()?.add(uri.get("group_uri")?, relative != 0, name.optional("name")?, Some(object))
    }

    fn tiledb_group_remove_member(ctx: Ctx, group: In<GroupObject>, name: Text) -> Code for ctx {
        let name = name.get("name")?;
        // A path means the member that was added with it, whose URI is absolute.
        let uri = Place::of(ctx.get()?, name).map(|place| place.uri());
        let mut state = group.get()?.state.lock();
        let writing = state.open_mut("mark member for removal")?.writing("get member")?;
        let members = writing.writer.members();
        let is_known = members.iter().any(|member| member.key() == name || member.uri == name);
        let by_uri = uri.ok().filter(|uri| !is_known && members.iter().any(|member| member.uri == *uri));
        writing.writer.remove(by_uri.as_deref().unwrap_or(name))?;
        Ok(())
    }

    fn tiledb_group_delete_group(ctx: Ctx, group: In<GroupObject>, uri: Text, recursive: u8) -> Code for ctx {
        let object = group.get()?;
        if !matches!(object.state.lock().open("delete group")?, OpenGroup::Exclusive) {
            return Err(failure("Query type must be MODIFY_EXCLUSIVE to perform a delete."));
        }
        delete(ctx.get()?, object, uri.get("group_uri")?, recursive != 0)?;
        object.close()
    }

    fn tiledb_group_consolidate_metadata(ctx: Ctx, uri: Text, config: In<ConfigObject>) -> Code for ctx {
        maintain(ctx.get()?, uri.get("group_uri")?, config, &Maintain::Consolidate)
    }

    fn tiledb_group_vacuum_metadata(ctx: Ctx, uri: Text, config: In<ConfigObject>) -> Code for ctx {
        maintain(ctx.get()?, uri.get("group_uri")?, config, &Maintain::Vacuum)
    }
}
