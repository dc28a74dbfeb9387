//! Members and metadata of an open group.

use std::collections::BTreeSet;

use tdb_array::group::{Group, GroupMember, ObjectType};

use super::open::uri_of;
use super::{GroupObject, failure};
use crate::context::Ctx;
use crate::enums::OBJECT_TYPES;
use crate::ffi::{Failure, In, Out, OutData, OutHandle, OutText, Text};
use crate::metadata::{OutValue, put_has};
use crate::string::StringObject;

fn word(object: ObjectType) -> &'static str {
    OBJECT_TYPES.word(u32::from(object.code())).unwrap_or("")
}

/// The member of a name; one without a name has none.
fn named(group: &Group, name: &str) -> Result<GroupMember, Failure> {
    let found = group.members().find(|member| member.name.as_deref() == Some(name));
    found.cloned().ok_or_else(|| Failure::of("GroupDetails", format!("{name} does not exist in group")))
}

/// Lines for the members of a group, and of the groups in it if `recursive`. `path` has the groups
/// that lead to this one.
fn dump(group: &Group, level: usize, recursive: bool, path: &mut BTreeSet<String>, text: &mut String) {
    let indent = "-".repeat(level.saturating_mul(2).saturating_add(2));
    for member in group.members() {
        let last = member.uri.rsplit('/').next().unwrap_or_default();
        let name = member.name.as_deref().unwrap_or(last);
        text.push_str(&format!("|{indent} {name} {}", word(member.object)));
        let location = uri_of(group, member);
        if member.object != ObjectType::Group || !recursive || path.contains(&location) {
            text.push('\n');
            continue;
        }
        match group.open_member(member) {
            Ok(inner) => {
                text.push('\n');
                path.insert(location.clone());
                dump(&inner, level.saturating_add(2), recursive, path, text);
                path.remove(&location);
            }
            Err(_) => text.push_str(" (does not exist)\n"),
        }
    }
}

exported! {
    fn tiledb_group_get_metadata(ctx: Ctx, group: In<GroupObject>, key: Text, datatype: Out<u32>, count: Out<u32>, data: OutData) -> Code for ctx {
        let state = group.get()?.state.lock();
        let reading = state.open("get metadata")?.reading("get metadata")?;
        OutValue { datatype, count, data }.put_key(group, &reading.metadata, key.get("key")?)
    }

    fn tiledb_group_get_metadata_num(ctx: Ctx, group: In<GroupObject>, count: Out<u64>) -> Code for ctx {
        let state = group.get()?.state.lock();
        let reading = state.open("get number of metadata")?.reading("get number of metadata")?;
        count.set(crate::number(reading.metadata.len()))
    }

    fn tiledb_group_get_metadata_from_index(ctx: Ctx, group: In<GroupObject>, index: u64, key: OutText, length: Out<u32>, datatype: Out<u32>, count: Out<u32>, data: OutData) -> Code for ctx {
        let state = group.get()?.state.lock();
        let reading = state.open("get metadata")?.reading("get metadata")?;
        OutValue { datatype, count, data }.put_index(group, &reading.metadata, index, (key, length))
    }

    fn tiledb_group_has_metadata_key(ctx: Ctx, group: In<GroupObject>, key: Text, datatype: Out<u32>, has: Out<i32>) -> Code for ctx {
        let state = group.get()?.state.lock();
        let reading = state.open("get metadata")?.reading("get metadata")?;
        put_has(&reading.metadata, key.get("key")?, datatype, has)
    }

    fn tiledb_group_get_member_count(ctx: Ctx, group: In<GroupObject>, count: Out<u64>) -> Code for ctx {
        let state = group.get()?.state.lock();
        let reading = state.open("get member count")?.reading("get member count")?;
        count.set(crate::number(reading.group.members().count()))
    }

    fn tiledb_group_get_member_by_index_v2(ctx: Ctx, group: In<GroupObject>, index: u64, uri: OutHandle<StringObject>, object: Out<u32>, name: OutHandle<StringObject>) -> Code for ctx {
        let state = group.get()?.state.lock();
        let reading = state.open("get member by index")?.reading("get member")?;
        let found = usize::try_from(index).ok().and_then(|index| reading.group.members().nth(index));
        let found = found.ok_or_else(|| {
            let count = reading.group.members().count();
            Failure::of("GroupDetails", format!("index {index} is larger than member count {count}"))
        })?;
        object.set(u32::from(found.object.code()))?;
        match found.name.clone() {
            Some(found) => name.put(StringObject(found))?,
            None => name.put_null()?,
        }
        uri.put(StringObject(uri_of(&reading.group, found)))
    }

    fn tiledb_group_get_member_by_name_v2(ctx: Ctx, group: In<GroupObject>, name: Text, uri: OutHandle<StringObject>, object: Out<u32>) -> Code for ctx {
        let state = group.get()?.state.lock();
        let reading = state.open("get member by name")?.reading("get member")?;
        let found = named(&reading.group, name.get("name")?)?;
        object.set(u32::from(found.object.code()))?;
        uri.put(StringObject(uri_of(&reading.group, &found)))
    }

    fn tiledb_group_get_is_relative_uri_by_name(ctx: Ctx, group: In<GroupObject>, name: Text, relative: Out<u8>) -> Code for ctx {
        let state = group.get()?.state.lock();
        let reading = state.open("get member by name")?.reading("get member")?;
        relative.set(u8::from(named(&reading.group, name.get("name")?)?.relative))
    }

    fn tiledb_group_dump_str_v2(ctx: Ctx, group: In<GroupObject>, text: OutHandle<StringObject>, recursive: u8) -> Code for ctx {
        let object = group.get()?;
        let state = object.state.lock();
        let reading = state.open("dump").and_then(|open| open.reading("dump")).map_err(failure)?;
        let uri = object.place.uri();
        let last = uri.rsplit('/').next().unwrap_or_default();
        let mut shown = format!("{last} {}\n", word(ObjectType::Group));
        let mut path = BTreeSet::from([uri.clone()]);
        dump(&reading.group, 0, recursive != 0, &mut path, &mut shown);
        text.put(StringObject(shown))
    }
}
