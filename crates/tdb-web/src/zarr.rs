//! Arrays and groups as Zarr: documents and chunks by their keys.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use serde_json::{Value, json};
use tdb_array::Array;
use tdb_text::schema::At;
use tdb_zarr::{Error, Formats, Hierarchy, Options, Span};

use crate::failure::Failure;
use crate::message::Blocks;
use crate::open::Described;

/// What a host asks of a hierarchy.
#[derive(Clone, Debug)]
pub struct Asked {
    form: Form,
    /// Without a key, what cannot be shown.
    key: Option<String>,
    span: Span,
}

/// How an array is shown: the version of Zarr if there is one only, and the most cells in a chunk
/// of a sparse array.
type Form = (Option<u64>, Option<u64>);

/// The hierarchies of one array, which know what was counted in it.
#[derive(Clone, Debug, Default)]
pub struct Kept(Arc<Mutex<BTreeMap<Form, Arc<OnceLock<Hierarchy>>>>>);

impl Kept {
    fn of(&self, form: Form) -> Arc<OnceLock<Hierarchy>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(form).or_default().clone()
    }
}

/// The request `zarr`.
///
/// # Errors
/// Unknown keys and versions.
pub fn asked(request: &At<'_>) -> Result<Asked, Failure> {
    request.object(&["op", "array", "version", "rows", "key", "between", "last"])?;
    let number = |key: &str| request.get(key).map(|number| number.whole::<u64>()).transpose();
    let wanted = number("version")?;
    if formats(wanted).is_none() {
        let wanted = wanted.unwrap_or_default();
        return Err(Failure::query(format!("tdb shows versions 2 and 3 of Zarr, not {wanted}")));
    }
    let span = match (request.get("between"), number("last")?) {
        (None, None) => Span::All,
        (None, Some(count)) => Span::Last(count),
        (Some(between), None) => match &between.items()?[..] {
            [start, end] => Span::Between(start.whole()?, end.whole()?),
            _ => return Err(between.error("two offsets are expected").into()),
        },
        _ => return Err(request.error("\"between\" and \"last\" exclude each other").into()),
    };
    let key = request.get("key").map(|key| key.text().map(str::to_owned)).transpose()?;
    Ok(Asked { form: (wanted, number("rows")?), key, span })
}

/// The documents of one version, or of both; `None` if there is no such version.
const fn formats(wanted: Option<u64>) -> Option<Formats> {
    match wanted {
        None => Some(Formats::Both),
        Some(2) => Some(Formats::V2),
        Some(3) => Some(Formats::V3),
        Some(_) => None,
    }
}

fn options((wanted, rows): Form) -> Options {
    let options = Options::new().formats(formats(wanted).unwrap_or_default());
    match rows {
        Some(rows) => options.rows(rows),
        None => options,
    }
}

/// The answer about an array.
///
/// # Errors
/// Cells or metadata that cannot be read or shown.
pub async fn of_array(array: Array, kept: Kept, asked: Asked) -> Result<Vec<u8>, Failure> {
    let slot = kept.of(asked.form);
    let hierarchy = match slot.get() {
        Some(hierarchy) => hierarchy.clone(),
        None => {
            let made = Hierarchy::new_async(&array, &options(asked.form)).await.map_err(failure)?;
            // Where two requests made it at once, the first one is kept.
            slot.get_or_init(|| made).clone()
        }
    };
    let Some(key) = asked.key else { return Ok(refusals(&hierarchy, json!([]))) };
    Ok(found(hierarchy.get_async(&key, asked.span).await.map_err(failure)?.as_deref()))
}

/// The answer about a group, whose members are arrays and groups that the host opens itself.
///
/// # Errors
/// A fault of tdb.
pub fn of_group(group: &Described, asked: &Asked) -> Result<Vec<u8>, Failure> {
    let names = group.names.iter().map(String::as_str);
    let hierarchy = Hierarchy::of_members(&group.metadata, names, group.window, &options(asked.form));
    if let Some(key) = &asked.key {
        return Ok(found(hierarchy.get(key, asked.span).map_err(failure)?.as_deref()));
    }
    // For each member the name of its node, or null.
    let mut nodes: HashSet<String> = hierarchy.children("").map_err(failure)?.into_iter().collect();
    let names = group.names.iter().map(|name| nodes.take(name.rsplit('/').next().unwrap_or("")));
    let names: Value = names.collect();
    Ok(refusals(&hierarchy, names))
}

/// What cannot be shown, and the names of a group's members.
fn refusals(hierarchy: &Hierarchy, members: Value) -> Vec<u8> {
    let one = |refusal: &tdb_zarr::Refusal| json!({"path": refusal.path, "reason": refusal.reason});
    let refused: Value = hierarchy.refused().iter().map(one).collect();
    Blocks::default().with(&json!({"refused": refused, "members": members}))
}

/// The bytes of a key, or null.
fn found(bytes: Option<&[u8]>) -> Vec<u8> {
    let mut blocks = Blocks::default();
    let bytes = bytes.map(|bytes| blocks.add(bytes));
    blocks.with(&json!({"bytes": bytes}))
}

fn failure(error: Error) -> Failure {
    match error {
        Error::Array(error) => error.into(),
        other => Failure { kind: "unsupported", message: other.to_string(), file: None, offset: None },
    }
}
