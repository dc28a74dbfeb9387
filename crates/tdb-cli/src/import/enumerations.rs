//! Columns of attributes that have an enumeration: a file has the values, as `tdb read` prints
//! them, and the array their positions.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use tdb_array::ArrayWriter;
use tdb_codec::CellValNum;
use tdb_schema::{Codes, Enumeration, Field};
use tdb_text::suggest::hint;
use tdb_text::value::cell_plain;

use super::convert::{append, one};
use super::table::{Mark, Table};
use crate::thresholds::MAX_LISTED_VALUES;

/// The enumerations of an array's attributes.
#[derive(Debug, Default)]
pub(super) struct Enumerated {
    /// By the names of the attributes.
    attributes: BTreeMap<String, (Codes, Arc<Values>)>,
    /// Whether a file has positions instead of values.
    as_codes: bool,
    /// Whether values that an enumeration lacks are added to it later.
    extends: bool,
}

/// The values of an enumeration.
#[derive(Debug)]
struct Values {
    enumeration: Enumeration,
    by_text: HashMap<String, usize>,
    by_bytes: HashMap<Vec<u8>, usize>,
}

/// Values that enumerations lack, in the order of the file: the enumeration's name, and the value.
#[derive(Debug, Default)]
pub(super) struct Additions {
    values: Vec<(String, Vec<u8>)>,
    known: HashSet<(String, Vec<u8>)>,
}

impl Additions {
    pub(super) fn add(&mut self, enumeration: &str, value: Vec<u8>) {
        let one = (enumeration.to_owned(), value);
        if self.known.insert(one.clone()) {
            self.values.push(one);
        }
    }

    pub(super) fn append(&mut self, other: Self) {
        other.values.into_iter().for_each(|(name, value)| self.add(&name, value));
    }

    /// The values of each enumeration.
    pub(super) fn by_name(&self) -> BTreeMap<&str, Vec<&[u8]>> {
        let mut found: BTreeMap<&str, Vec<&[u8]>> = BTreeMap::new();
        self.values.iter().for_each(|(name, value)| found.entry(name).or_default().push(value));
        found
    }
}

impl Values {
    fn new(enumeration: Enumeration) -> Self {
        let (mut by_text, mut by_bytes) = (HashMap::new(), HashMap::new());
        // If several values are shown alike, the first one is meant.
        for (at, value) in (0..enumeration.len()).filter_map(|at| Some((at, enumeration.value(at)?))) {
            by_text.entry(shown(&enumeration, value)).or_insert(at);
            by_bytes.entry(value.to_vec()).or_insert(at);
        }
        Self { enumeration, by_text, by_bytes }
    }

    /// The position of a value, as it is shown or in another notation of the same value.
    fn position(&self, text: &str) -> Option<usize> {
        let other = || self.by_bytes.get(&self.bytes(text).ok()?);
        self.by_text.get(text).or_else(other).copied()
    }

    /// The bytes of a value.
    fn bytes(&self, text: &str) -> Result<Vec<u8>, String> {
        let Enumeration { datatype, cell_val_num, name, .. } = &self.enumeration;
        let mut bytes = Vec::new();
        append(*datatype, *cell_val_num, text, &mut bytes)?;
        if let CellValNum::Fixed(count) = cell_val_num {
            let size = usize::try_from(count.get()).unwrap_or(usize::MAX).saturating_mul(datatype.size());
            if size != bytes.len() {
                return Err(format!(
                    "has {} bytes, but the values of enumeration {name:?} have {size}",
                    bytes.len()
                ));
            }
        }
        Ok(bytes)
    }

    /// The error of a text that is no value.
    fn unknown(&self, text: &str, codes: &Codes) -> String {
        let Enumeration { name, .. } = &self.enumeration;
        let values = || (0..self.enumeration.len()).filter_map(|at| self.enumeration.value(at));
        let texts: Vec<String> = values().map(|value| shown(&self.enumeration, value)).collect();
        let mut list =
            texts.iter().take(MAX_LISTED_VALUES).map(String::as_str).collect::<Vec<_>>().join(", ");
        match texts.len() {
            0 => list.push_str("it has none yet"),
            count if count > MAX_LISTED_VALUES => list = format!("the first of {count} are {list}"),
            _ => list = format!("it has {list}"),
        }
        let hint = hint(text, texts.iter().map(String::as_str));
        let is_code = code(text, codes).is_ok();
        let remedy = if is_code { ", --codes takes numbers for positions" } else { "" };
        format!(
            "enumeration {name:?} does not have the value {text:?} ({list}): --extend-enumerations adds it{remedy}{hint}"
        )
    }
}

impl Enumerated {
    /// Those of the array that is written.
    pub(super) fn of(writer: &ArrayWriter, as_codes: bool, extends: bool) -> tdb_array::Result<Self> {
        let mut found = Self { as_codes, extends, ..Self::default() };
        let mut known: HashMap<&str, Arc<Values>> = HashMap::new();
        for attribute in &writer.schema().attributes {
            let Some(name) = attribute.enumeration.as_deref() else { continue };
            let values = match known.get(name) {
                Some(values) => values.clone(),
                None => {
                    let Some(enumeration) = writer.enumeration(name)? else { continue };
                    known.entry(name).or_insert(Arc::new(Values::new(enumeration))).clone()
                }
            };
            let codes = Codes::new(attribute, &values.enumeration);
            found.attributes.insert(attribute.name.clone(), (codes, values));
        }
        Ok(found)
    }

    /// Whether values are added to enumerations, so that all rows must be looked at before any is
    /// written.
    pub(super) fn extends(&self) -> bool {
        self.extends && !self.attributes.is_empty()
    }

    /// The code of a field's cell; `None` if the field has no enumeration.
    pub(super) fn code(&self, field: &Field<'_>, text: &str) -> Result<Option<Vec<u8>>, String> {
        let Some((codes, values)) = self.attributes.get(field.name) else { return Ok(None) };
        if self.as_codes {
            return code(text, codes).map(Some);
        }
        let position = match values.position(text) {
            Some(position) => position,
            // A text that is no value of the type is found here; any code will do until the
            // enumeration has the value.
            None if self.extends => values.bytes(text).map(|_| 0)?,
            None => return Err(values.unknown(text, codes)),
        };
        let size = field.datatype.size();
        let bits = u32::try_from(size.saturating_mul(8)).unwrap_or(u64::BITS);
        let bits = bits.saturating_sub(u32::from(field.datatype.physical().is_signed_integer()));
        let position = u64::try_from(position).unwrap_or(u64::MAX);
        if 1u64.checked_shl(bits).is_some_and(|end| position >= end) {
            return Err(format!("position {position} of {text:?} does not fit {}", field.datatype));
        }
        Ok(position.to_le_bytes().get(..size).map(<[u8]>::to_vec))
    }

    /// The values of a table that enumerations lack.
    pub(super) fn missing(&self, table: &Table) -> Result<Additions, String> {
        let mut found = Additions::default();
        for (name, (_, values)) in &self.attributes {
            let Some(column) = table.column(name) else { continue };
            for (line, cell) in table.cells(column).filter(|(_, cell)| cell.mark != Mark::Null) {
                if values.position(cell.text).is_none() {
                    let value = values.bytes(cell.text);
                    let value =
                        value.map_err(|error| format!("{}, column {name:?}: {error}", table.at(line)))?;
                    found.add(&values.enumeration.name, value);
                }
            }
        }
        Ok(found)
    }

    /// The values that are added, as text, by enumeration.
    pub(super) fn shown(&self, additions: &Additions) -> Vec<(String, Vec<String>)> {
        let text = |name: &str, value: &[u8]| {
            let mut all = self.attributes.values().map(|(_, values)| &values.enumeration);
            let of = all.find(|enumeration| enumeration.name == name);
            of.map_or_else(String::new, |of| shown(of, value))
        };
        let by_name = additions.by_name().into_iter();
        by_name
            .map(|(name, values)| {
                (name.to_owned(), values.into_iter().map(|value| text(name, value)).collect())
            })
            .collect()
    }
}

/// The code that a text is, which must be that of a value or the fill value.
fn code(text: &str, codes: &Codes) -> Result<Vec<u8>, String> {
    let attribute = codes.attribute();
    let code = one(attribute.datatype, text)?;
    match codes.past_end(&code, &[], 0) {
        None => Ok(code),
        Some(_) => Err(format!(
            "the code {text} is past the end of enumeration {:?}, which has {} values",
            attribute.enumeration.as_deref().unwrap_or_default(),
            codes.values()
        )),
    }
}

/// A value as `tdb read` prints it.
fn shown(enumeration: &Enumeration, value: &[u8]) -> String {
    cell_plain(enumeration.datatype, enumeration.cell_val_num, value)
}
