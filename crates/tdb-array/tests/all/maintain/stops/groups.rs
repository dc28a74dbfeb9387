//! Groups: members and metadata.

use core::ops::ControlFlow;
use std::sync::Arc;

use tdb_array::error::WriteError;
use tdb_array::group::{Group, GroupMember, ObjectType};
use tdb_array::maintain::{Consolidation, MaintainedObject, Stored, Vacuum};
use tdb_array::storage::MemoryStorage;
use tdb_array::write::MetadataChanges;
use tdb_array::{Error, OpenOptions, Result, TimeWindow, WriteOptions};

use super::{LAST, Trial};
use crate::maintain::fragile::Fragile;

fn look_at_group(storage: &MemoryStorage) -> Vec<String> {
    let look = |end| {
        let options = OpenOptions::new().window(TimeWindow::until(end));
        match options.open_group_in(Arc::new(storage.clone()), "") {
            Ok(group) => {
                let members: Vec<&GroupMember> = Group::members(&group).collect();
                format!("{end}: {members:?} {:?}", group.metadata().unwrap().iter().collect::<Vec<_>>())
            }
            Err(Error::NotAnArray { .. }) => "no group".to_owned(),
            Err(error) => error.to_string(),
        }
    };
    (1000..1012).chain([LAST, u64::MAX]).map(look).collect()
}

fn group(what: &str, before: &MemoryStorage, act: &dyn Fn(Fragile) -> Result<()>) {
    let trial = Trial {
        name: format!("group: {what}"),
        before: before.clone(),
        act,
        look: &look_at_group,
        leftovers: &|storage| storage.keys().into_iter().filter(|key| key.ends_with(".tmp")).collect(),
        clean: &|storage| {
            let Ok(group) = WriteOptions::new().open_group_storage(storage.clone()) else { return };
            let plan = Vacuum::orphans().plan(MaintainedObject::Group(&group)).unwrap();
            plan.run(&group, &mut |_| ControlFlow::Continue(())).unwrap();
        },
    };
    trial.run();
}

#[test]
fn changes_of_groups_stop_anywhere() {
    let storage = MemoryStorage::default();
    let at = |time| WriteOptions::new().timestamp(time);
    group("creation", &storage, &|storage| match at(1000).create_group_storage(&storage) {
        Err(Error::Write(WriteError::Exists)) => Ok(()),
        other => other,
    });
    at(1000).create_group_storage(&storage).unwrap();
    let member = |name: &str| GroupMember::new(ObjectType::Array, name).with_name(name).with_relative_uri();
    for (time, name) in [(1002, "a"), (1004, "b")] {
        let mut group = at(time).open_group_storage(storage.clone()).unwrap();
        group.add(member(name)).unwrap();
        group.commit().unwrap();
        let mut group = at(time + 1).open_group_storage(storage.clone()).unwrap();
        group.metadata(MetadataChanges::new().put_text("key", name));
        group.commit().unwrap();
    }
    group("a member more and one less", &storage, &|storage| {
        let mut group = at(1020).open_group_storage(storage)?;
        if group.members().iter().any(|member| member.key() == "a") {
            group.add(member("c"))?;
            group.remove("a")?;
        }
        group.commit()
    });
    group("metadata", &storage, &|storage| {
        let mut group = at(1020).open_group_storage(storage)?;
        group.metadata(MetadataChanges::new().put_text("other", "word").remove("key"));
        group.commit()
    });
    let consolidate = |storage: Fragile| {
        let group = at(0).open_group_storage(storage)?;
        let plan = Consolidation::new(Stored::Metadata).plan(&group)?;
        plan.run(&group, &mut |_| ControlFlow::Continue(()))
    };
    group("consolidation of metadata", &storage, &consolidate);
    consolidate(Fragile::of(&storage)).unwrap();
}
