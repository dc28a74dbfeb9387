//! Maintenance: many files into few, what is replaced away, whether all is well.

use core::ops::ControlFlow;

use pyo3::prelude::*;
use serde_json::{Value, json};
use tdb_array::group::ObjectType;
use tdb_array::maintain::{
    Consolidation, MaintainedObject, MaintenancePlan, MaintenanceProgress, Problem, Stored, Vacuum,
};
use tdb_array::publish::MANIFEST;
use tdb_text::report::steps_json;

use crate::errors::Failure;
use crate::place::Place;
use crate::watch;
use crate::write::kind_of;

/// A kind of files by its name.
fn stored(name: &str) -> Result<Stored, Failure> {
    match name {
        "fragments" => Ok(Stored::Fragments),
        "fragment-metadata" => Ok(Stored::FragmentMetadata),
        "commits" => Ok(Stored::Commits),
        "metadata" => Ok(Stored::Metadata),
        _ => Err(Failure::Argument(format!(
            "what={name:?}: \"fragments\", \"fragment-metadata\", \"commits\" or \"metadata\" is expected"
        ))),
    }
}

/// Makes a plan and, unless it is a dry run, carries it out. Ctrl-C ends it after a part; nothing
/// is damaged then.
fn run(
    py: Python<'_>,
    place: &Place,
    dry_run: bool,
    plan: impl Fn(MaintainedObject<'_>) -> tdb_array::Result<MaintenancePlan> + Send,
) -> PyResult<String> {
    watch::run(py, move || -> Result<String, Failure> {
        let storage = place.write_storage()?;
        let options = place.write_options(None);
        let (array, group);
        let object = if kind_of(place, &*storage)? == ObjectType::Group {
            group = options.open_group_storage(storage)?;
            MaintainedObject::Group(&group)
        } else {
            array = options.open_storage(storage)?;
            MaintainedObject::Array(&array)
        };
        let plan = plan(object)?;
        let runs = !dry_run && !plan.is_empty();
        if runs {
            let mut on_part = |_: &MaintenanceProgress| match watch::look() {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            };
            plan.run(object, &mut on_part)?;
        }
        Ok(json!({"done": runs, "steps": steps_json(&plan), "notes": plan.notes()}).to_string())
    })
}

/// Makes many files into few. Returns the plan as JSON.
#[pyfunction]
#[pyo3(signature = (place, what="fragments", fragments=None, memory=None, purge=false, dry_run=false))]
pub(crate) fn consolidate(
    py: Python<'_>,
    place: &Place,
    what: &str,
    fragments: Option<Vec<String>>,
    memory: Option<u64>,
    purge: bool,
    dry_run: bool,
) -> PyResult<String> {
    let mut consolidation = Consolidation::new(stored(what)?).purge(purge);
    if let Some(names) = fragments {
        consolidation = consolidation.fragments(names);
    }
    if let Some(bytes) = memory {
        consolidation = consolidation.memory(bytes);
    }
    run(py, place, dry_run, move |object| consolidation.plan(object))
}

/// Removes what consolidated files replace, or what crashes left behind. Returns the plan as JSON.
#[pyfunction]
#[pyo3(signature = (place, what="fragments", orphans=false, drop_history=false, before=None, dry_run=false))]
pub(crate) fn vacuum(
    py: Python<'_>,
    place: &Place,
    what: &str,
    orphans: bool,
    drop_history: bool,
    before: Option<u64>,
    dry_run: bool,
) -> PyResult<String> {
    let vacuum = if orphans { Vacuum::orphans() } else { Vacuum::new(stored(what)?) };
    let vacuum = vacuum.drop_history(drop_history);
    let vacuum = match before {
        Some(time) => vacuum.before(time),
        None => vacuum,
    };
    run(py, place, dry_run, move |object| vacuum.plan(object))
}

/// Writes the manifest that readers on web servers need. Returns when, and the number and the bytes
/// of the files, as JSON.
#[pyfunction]
pub(crate) fn publish(py: Python<'_>, place: &Place) -> PyResult<String> {
    let made = watch::run(py, || -> Result<_, Failure> {
        Ok(place.write_options(None).publish_storage(&*place.write_storage()?)?)
    })?;
    let said = json!({"time": made.time, "files": made.files, "bytes": made.bytes, "manifest": MANIFEST});
    Ok(said.to_string())
}

/// Checks a whole array. Returns problems and notes (file, offset, what is wrong) and what was
/// checked, as JSON.
#[pyfunction]
pub(crate) fn verify(py: Python<'_>, place: &Place) -> PyResult<String> {
    let found = watch::run(py, || -> Result<_, Failure> {
        Ok(tdb_array::maintain::verify_with(place.storage()?, place.key()))
    })?;
    let problem =
        |problem: &Problem| json!({"file": problem.path, "offset": problem.offset, "what": problem.what});
    let list = |list: &[Problem]| list.iter().map(problem).collect::<Value>();
    Ok(json!({
        "problems": list(&found.problems),
        "notes": list(&found.notes),
        "files": found.files,
        "tiles": found.tiles,
        "bytes": found.bytes,
    })
    .to_string())
}
