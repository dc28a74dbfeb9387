//! Groups.

use pyo3::prelude::*;
use tdb_array::group::{Found, GroupMember};

use crate::errors::Failure;
use crate::place::Place;
use crate::watch;

/// A member of a group: its name, its location, and what is there.
type Member = (Option<String>, String, &'static str);

/// Creates a group.
#[pyfunction]
#[pyo3(signature = (place, time=None))]
pub(crate) fn create_group(py: Python<'_>, place: &Place, time: Option<u64>) -> PyResult<()> {
    watch::run(py, || -> Result<(), Failure> {
        let made = place.write_options(time).create_group_storage(&*place.write_storage()?);
        made.map_err(Failure::of_new(place.location()))
    })
}

/// The members of a group.
#[pyfunction]
#[pyo3(signature = (place, window=None))]
pub(crate) fn group_members(
    py: Python<'_>,
    place: &Place,
    window: Option<(u64, u64)>,
) -> PyResult<Vec<Member>> {
    watch::run(py, || -> Result<_, Failure> {
        let group = place.open_options(window).open_group_in(place.places(), place.location())?;
        let member = |member: &GroupMember| {
            let found: Found = group.look(member);
            (member.name.clone(), group.location_of(member), found.word())
        };
        Ok(group.members().map(member).collect())
    })
}

/// Changes a group: adds members (location, name, whether the path is relative to the group), then
/// removes names.
#[pyfunction]
#[pyo3(signature = (place, add, remove, time=None))]
pub(crate) fn group_update(
    py: Python<'_>,
    place: &Place,
    add: Vec<(String, Option<String>, bool)>,
    remove: Vec<String>,
    time: Option<u64>,
) -> PyResult<()> {
    watch::run(py, || -> Result<(), Failure> {
        let mut group = place.write_options(time).open_group_storage(place.write_storage()?)?;
        for (member, name, relative) in &add {
            group.add_in(&*place.places(), member, *relative, name.as_deref())?;
        }
        for name in &remove {
            group.remove(name)?;
        }
        Ok(group.commit()?)
    })
}
