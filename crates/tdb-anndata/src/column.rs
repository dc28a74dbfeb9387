//! Columns of tables: what AnnData has, as cells of SOMA.

use std::collections::HashSet;

use serde_json::{Map, Value};
use tdb_array::schema::{CellValNum, Datatype};
use tdb_soma::{MAX_CATEGORIES, NewCells, whole};
use tdb_zarr_files::{ArrayReader, Opened, Reader};

use crate::encoding::{Encoding, encoding};
use crate::error::Result;
use crate::reading::{Form, Reading};
use crate::texts::{is_kept_date, is_text};

/// A column that can be read.
#[derive(Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// What its cells become.
    pub(crate) cells: NewCells,
    /// The node, which may be a group.
    path: String,
    values: ArrayReader,
    /// Which cells are missing.
    mask: Option<ArrayReader>,
    form: Form,
}

/// Categories: their type, and the bytes of each.
type Categories = (Datatype, Vec<Vec<u8>>);

/// Parts of the folder that a column is made of.
struct Parts<'a> {
    reader: &'a Reader,
    rows: u64,
}

impl Column {
    /// The column at a path, for a table with so many rows.
    pub(crate) fn open(reader: &Reader, path: &str, name: &str, rows: u64) -> Result<Self> {
        let parts = Parts { reader, rows };
        let column = match parts.node(path)? {
            Opened::Array(array) => {
                let categories = array.attributes().get("categories").cloned();
                match (parts.encoding(path, array.attributes())?, categories) {
                    (Encoding::Unsaid | Encoding::Array, Some(beside)) => {
                        parts.old_categories(name, *array, &beside)
                    }
                    (Encoding::Unsaid | Encoding::Array | Encoding::Texts, None) => {
                        parts.plain(name, *array, None)
                    }
                    _ => Err(reader.damaged(path, "a column is encoded as something else").into()),
                }
            }
            Opened::Group(attributes) => match parts.encoding(path, &attributes)? {
                Encoding::Categorical => {
                    let codes = parts.array(&format!("{path}/codes"))?;
                    let (values, _) = parts.categories(&format!("{path}/categories"))?;
                    let ordered = attributes.get("ordered");
                    parts.coded(name, codes, values, is_true(ordered))
                }
                Encoding::Nullable => {
                    let values = parts.array(&format!("{path}/values"))?;
                    let mask = parts.mask(&format!("{path}/mask"))?;
                    parts.plain(name, values, mask)
                }
                _ => {
                    let what = "this is no column of a table: arrays, categories and values with a mask are";
                    Err(reader.unsupported(path, what).into())
                }
            },
        };
        Ok(Self { path: path.to_owned(), ..column? })
    }

    /// The same with texts in place of whole numbers and of categories, as AnnData wants the names
    /// of rows.
    pub(crate) fn with_names(mut self, reader: &Reader) -> Result<Self> {
        if let (Form::Codes(codes, _), NewCells::Categories { datatype, values, .. }) =
            (&self.form, &self.cells)
            && let Some(texts) = values.iter().map(|value| name(*datatype, value)).collect()
        {
            self.form = Form::Long(*codes, texts);
            self.cells = NewCells::Texts;
        }
        if let (Form::Plain, NewCells::Plain(datatype)) = (&self.form, &self.cells)
            && whole(*datatype, &vec![0; datatype.size()]).is_some()
        {
            self.form = Form::Digits(*datatype);
            self.cells = NewCells::Texts;
        }
        match self.form {
            Form::Digits(_) | Form::Texts | Form::Wide | Form::Long(..) => Ok(self),
            _ => {
                let what = "the names of rows are texts or whole numbers";
                Err(reader.unsupported(&self.path, what).into())
            }
        }
    }

    /// Begins to read it.
    pub(crate) fn reading(&self) -> Reading<'_> {
        Reading::new(&self.values, self.mask.as_ref(), &self.form)
    }

    /// Where it is: the path with which it was opened.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }
}

impl Parts<'_> {
    fn node(&self, path: &str) -> Result<Opened> {
        let found = self.reader.open(path)?;
        Ok(found.ok_or_else(|| self.reader.damaged(path, "there is no array or group here"))?)
    }

    fn encoding(&self, path: &str, attributes: &Map<String, Value>) -> Result<Encoding> {
        Ok(encoding(attributes).map_err(|what| self.reader.unsupported(path, what))?)
    }

    /// An array with a cell for each row.
    fn array(&self, path: &str) -> Result<ArrayReader> {
        match self.node(path)? {
            Opened::Array(array) => Ok(*array),
            Opened::Group(_) => Err(self.reader.damaged(path, "this is a group, not an array").into()),
        }
    }

    fn expect_rows(&self, array: &ArrayReader) -> Result<()> {
        if array.shape() == [self.rows] {
            return Ok(());
        }
        let what = format!("this has the shape {:?}, but the table has {} rows", array.shape(), self.rows);
        Err(self.reader.damaged(array.path(), what).into())
    }

    /// The length of an array with one axis.
    fn length(&self, array: &ArrayReader) -> Result<u64> {
        match array.shape() {
            [length] => Ok(*length),
            shape => {
                let what = format!("this has the shape {shape:?}, and categories have one axis");
                Err(self.reader.damaged(array.path(), what).into())
            }
        }
    }

    /// Which cells are missing, if that is said.
    fn mask(&self, path: &str) -> Result<Option<ArrayReader>> {
        if self.reader.open(path)?.is_none() {
            return Ok(None);
        }
        let mask = self.array(path)?;
        self.expect_rows(&mask)?;
        if mask.datatype() != Datatype::Bool || mask.cell_val_num() != CellValNum::ONE {
            return Err(self.reader.damaged(path, "a mask has truth values").into());
        }
        Ok(Some(mask))
    }

    /// A column of values.
    fn plain(&self, name: &str, values: ArrayReader, mask: Option<ArrayReader>) -> Result<Column> {
        self.expect_rows(&values)?;
        values.expect_chunks()?;
        let (cells, form) = match form(&values) {
            Some(Form::Plain) => (NewCells::Plain(values.datatype()), Form::Plain),
            Some(Form::Truth) => (NewCells::Plain(Datatype::Bool), Form::Truth),
            Some(form) => (NewCells::Texts, form),
            None => return Err(self.other_type(&values)),
        };
        Ok(Column { name: name.to_owned(), cells, path: String::new(), values, mask, form })
    }

    fn other_type(&self, array: &ArrayReader) -> crate::Error {
        let what = format!("values of the type {} are none of what SOMA keeps in tables", array.datatype());
        self.reader.unsupported(array.path(), what).into()
    }

    /// A column of AnnData 0.7, whose categories are in another array.
    fn old_categories(&self, name: &str, codes: ArrayReader, beside: &Value) -> Result<Column> {
        let above = codes.path().rsplit_once('/').map_or("", |(above, _)| above);
        let Some(beside) = beside.as_str() else {
            return Err(self
                .reader
                .damaged(codes.path(), "its categories are not the name of an array")
                .into());
        };
        let (values, attributes) = self.categories(&format!("{above}/{beside}"))?;
        self.coded(name, codes, values, is_true(attributes.get("ordered")))
    }

    /// The categories, with their type, and the attributes of their array.
    fn categories(&self, path: &str) -> Result<(Categories, Map<String, Value>)> {
        let (values, mask) = match self.node(path)? {
            Opened::Array(array) => {
                self.encoding(path, array.attributes())?;
                (*array, None)
            }
            Opened::Group(attributes) => match self.encoding(path, &attributes)? {
                Encoding::Nullable => {
                    let values = self.array(&format!("{path}/values"))?;
                    let own = Parts { reader: self.reader, rows: self.length(&values)? };
                    let mask = own.mask(&format!("{path}/mask"))?;
                    (values, mask)
                }
                _ => return Err(self.reader.unsupported(path, "categories are an array").into()),
            },
        };
        let own = Parts { reader: self.reader, rows: self.length(&values)? };
        let attributes = values.attributes().clone();
        let column = own.plain("", values, mask)?;
        let datatype = match column.cells {
            NewCells::Plain(datatype) => datatype,
            _ => Datatype::StringUtf8,
        };
        let (mut all, mut seen) = (Vec::new(), HashSet::new());
        let mut reading = column.reading();
        loop {
            let count = reading.available()?;
            if count == 0 {
                return Ok(((datatype, all), attributes));
            }
            let taken = reading.take(self.reader, count)?;
            for at in 0..count {
                let cell = taken.value(at, datatype.size());
                let cell = cell.ok_or_else(|| self.reader.damaged(path, "a category is missing"))?;
                if !seen.insert(cell.to_vec()) {
                    let shown = taken
                        .text(at)
                        .map_or_else(|| format!("number {}", all.len()), |own| format!("{own:?}"));
                    return Err(self
                        .reader
                        .damaged(path, format!("category {shown} is there before"))
                        .into());
                }
                all.push(cell.to_vec());
            }
        }
    }

    /// A column of categories.
    fn coded(
        &self,
        name: &str,
        codes: ArrayReader,
        (datatype, values): Categories,
        ordered: bool,
    ) -> Result<Column> {
        self.expect_rows(&codes)?;
        codes.expect_chunks()?;
        let of = codes.datatype();
        if codes.cell_val_num() != CellValNum::ONE || whole(of, &vec![0; of.size()]).is_none() {
            return Err(self.reader.damaged(codes.path(), "numbers of categories are whole").into());
        }
        let (form, cells) = if datatype.is_string() && values.len() > MAX_CATEGORIES {
            (Form::Long(of, values), NewCells::Texts)
        } else {
            (Form::Codes(of, values.len()), NewCells::Categories { datatype, values, ordered })
        };
        Ok(Column { name: name.to_owned(), cells, path: String::new(), values: codes, mask: None, form })
    }
}

/// A category as the name of a row; `None` if it is neither a text nor a whole number.
fn name(datatype: Datatype, value: &[u8]) -> Option<Vec<u8>> {
    if datatype.is_string() {
        return Some(value.to_vec());
    }
    whole(datatype, value).map(|number| number.to_string().into_bytes())
}

/// What AnnData, or a program in another language, writes for yes.
fn is_true(value: Option<&Value>) -> bool {
    value.is_some_and(|value| value.as_bool().unwrap_or_else(|| value.as_i64().is_some_and(|own| own != 0)))
}

/// How the values of an array become cells.
fn form(array: &ArrayReader) -> Option<Form> {
    Some(match (array.datatype(), array.cell_val_num()) {
        (Datatype::StringUtf8, _) if is_text(array) => Form::Texts,
        _ if is_text(array) => Form::Wide,
        (Datatype::Bool, CellValNum::ONE) => Form::Truth,
        (Datatype::Float32 | Datatype::Float64, CellValNum::ONE) => Form::Plain,
        (datatype, CellValNum::ONE) if is_kept_date(datatype) => Form::Plain,
        (datatype, CellValNum::ONE) if whole(datatype, &vec![0; datatype.size()]).is_some() => Form::Plain,
        _ => return None,
    })
}
