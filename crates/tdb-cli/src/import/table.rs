//! A table of text, and its cells as bytes.

use std::sync::Arc;

use tdb_codec::to_u64;

/// The type of a cell, as far as its notation tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// It is null.
    Null,
    /// The text may be of any type.
    Open,
    /// The same, but it is in quotes.
    Quoted,
    /// It is text, which may be a date.
    Text,
}

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell<'t> {
    pub(super) text: &'t str,
    pub(super) mark: Mark,
}

/// The cell of a column that a row lacks.
const MISSING: Cell<'_> = Cell { text: "", mark: Mark::Null };

/// Columns with names, and rows. All cells are in one buffer, one after the other.
#[derive(Debug, Default)]
pub(super) struct Table {
    names: Vec<String>,
    rows: Vec<Row>,
    text: String,
    /// The end of the text of each cell.
    ends: Vec<usize>,
    marks: Vec<Mark>,
    /// Whether the next row contains the names.
    wants_header: bool,
    /// Whether the next row says how many columns there are, which get names with numbers.
    wants_names: bool,
    /// Names that take the place of those of the header.
    renamed: Option<Vec<String>>,
    /// The columns that are used, and their names; `None` for all columns.
    chosen: Option<(Vec<usize>, Vec<String>)>,
    /// Whether rows say the names of their columns, so that what no row has is null.
    of_objects: bool,
    /// The number of rows before the first one, in all files.
    before: u64,
    /// The number of the file, and its name if there are several.
    file: usize,
    of: Option<Arc<str>>,
}

/// The line where a row begins, and its first cell.
#[derive(Clone, Copy, Debug)]
struct Row {
    line: usize,
    first: usize,
}

impl Table {
    /// A table with these columns.
    pub(super) fn new(names: &[String], before: u64) -> Self {
        Self { names: names.to_vec(), before, ..Self::default() }
    }

    /// A table whose first row contains the names of its columns, unless these are given.
    pub(super) fn with_header(names: &[String]) -> Self {
        let renamed = (!names.is_empty()).then(|| names.to_vec());
        Self { wants_header: true, renamed, ..Self::default() }
    }

    /// A table without a header, whose columns have these names, or else numbers.
    pub(super) fn without_header(names: &[String]) -> Self {
        Self { names: names.to_vec(), wants_names: names.is_empty(), ..Self::default() }
    }

    /// A table that has these columns, and those that are found in its rows.
    pub(super) fn of_objects(names: &[String], before: u64) -> Self {
        Self { names: names.to_vec(), of_objects: true, before, ..Self::default() }
    }

    pub(super) const fn is_of_objects(&self) -> bool {
        self.of_objects
    }

    pub(super) fn add_column(&mut self, name: String) {
        self.names.push(name);
    }

    pub(super) fn begin_row(&mut self, line: usize) {
        self.rows.push(Row { line, first: self.ends.len() });
    }

    /// Adds to the text of the cell that has not ended yet.
    pub(super) fn extend(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn end_cell(&mut self, mark: Mark) {
        self.ends.push(self.text.len());
        self.marks.push(mark);
    }

    /// Makes the cell that has not ended yet empty.
    pub(super) fn empty_cell(&mut self) {
        self.text.truncate(self.ends.last().copied().unwrap_or(0));
    }

    /// The text of the cell that has not ended yet.
    pub(super) fn open_cell(&self) -> &str {
        self.text.get(self.ends.last().copied().unwrap_or(0)..).unwrap_or_default()
    }

    /// Ends a row, which must have a cell for each column.
    pub(super) fn end_row(&mut self) -> Result<(), String> {
        let Some(Row { line, first }) = self.rows.last().copied() else { return Ok(()) };
        if self.wants_header {
            self.names = (0..self.ends.len()).map(|cell| self.cell(cell).text.to_owned()).collect();
            if let Some(names) = self.renamed.take() {
                let old = core::mem::replace(&mut self.names, names);
                if old.len() != self.names.len() {
                    let (given, there) = (self.names.len(), old.len());
                    let columns = if there == 1 { "column" } else { "columns" };
                    return Err(format!("--names: there are {given} names for {there} {columns}"));
                }
            }
            self.wants_header = false;
            self.rows.clear();
            self.text.clear();
            self.ends.clear();
            self.marks.clear();
            return Ok(());
        }
        let cells = self.ends.len().saturating_sub(first);
        if self.wants_names {
            self.names = (1..=cells).map(|number| format!("column{number}")).collect();
            self.wants_names = false;
        }
        if cells != self.names.len() {
            let count = |count: usize, what: &str| {
                if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
            };
            let are = if cells == 1 { "is" } else { "are" };
            let columns = count(self.names.len(), "column");
            return Err(format!("line {line}: there {are} {} for {columns}", count(cells, "cell")));
        }
        Ok(())
    }

    /// Whether a row before the last one begins with a text.
    pub(super) fn has_row_before(&self, text: &str) -> bool {
        let before = self.rows.split_last().map_or([].as_slice(), |(_, before)| before);
        before.iter().any(|row| self.cell(row.first).text.starts_with(text))
    }

    /// The table, unless it lacks the names of its columns.
    pub(super) fn finish(self) -> Result<Self, String> {
        match (self.wants_header, self.wants_names) {
            (true, _) => Err("there is no header".to_owned()),
            (_, true) => Err("there are no rows, which say how many columns there are".to_owned()),
            _ => Ok(self),
        }
    }

    /// Uses these columns only.
    pub(super) fn choose(&mut self, columns: Vec<usize>) {
        let names = columns.iter().filter_map(|column| self.names.get(*column).cloned()).collect();
        self.chosen = Some((columns, names));
    }

    /// The number of rows of the file before the first one.
    pub(super) const fn before(&self) -> u64 {
        self.before
    }

    pub(super) fn names(&self) -> &[String] {
        self.chosen.as_ref().map_or(&self.names, |(_, names)| names)
    }

    /// The names of all columns of the file.
    pub(super) fn all_names(&self) -> &[String] {
        &self.names
    }

    /// The line where a row begins.
    pub(super) fn line(&self, row: usize) -> Option<usize> {
        self.rows.get(row).map(|row| row.line)
    }

    /// A line, for messages.
    pub(super) fn at(&self, line: usize) -> String {
        match &self.of {
            Some(file) => format!("{file}: line {line}"),
            None => format!("line {line}"),
        }
    }

    /// The table of a file, which has a name if there are several.
    pub(super) fn of_file(self, file: usize, of: Option<Arc<str>>) -> Self {
        Self { file, of, ..self }
    }

    /// The table behind so many rows of other tables.
    pub(super) fn behind(self, before: u64) -> Self {
        Self { before, ..self }
    }

    /// The number of the file.
    pub(super) const fn file(&self) -> usize {
        self.file
    }

    /// What is wrong with all of a table, for messages.
    pub(super) fn wrong(&self, what: String) -> String {
        match &self.of {
            Some(file) => format!("{file}: {what}"),
            None => what,
        }
    }

    /// The lines where the rows begin.
    pub(super) fn lines(&self) -> impl Iterator<Item = usize> + '_ {
        self.rows.iter().map(|row| row.line)
    }

    pub(super) fn len(&self) -> u64 {
        to_u64(self.rows.len())
    }

    fn cell(&self, index: usize) -> Cell<'_> {
        let start = index.checked_sub(1).and_then(|before| self.ends.get(before)).map_or(0, |end| *end);
        let text = self.ends.get(index).and_then(|end| self.text.get(start..*end));
        text.zip(self.marks.get(index)).map_or(MISSING, |(text, mark)| Cell { text, mark: *mark })
    }

    /// The cells of a column with their lines. Rows may be shorter than the table is now.
    pub(super) fn cells(&self, column: usize) -> impl Iterator<Item = (usize, Cell<'_>)> {
        let ends = self.rows.iter().skip(1).map(|row| row.first).chain([self.ends.len()]);
        let column = match &self.chosen {
            Some((columns, _)) => columns.get(column).copied().unwrap_or(usize::MAX),
            None => column,
        };
        self.rows.iter().zip(ends).map(move |(row, end)| {
            let index = row.first.saturating_add(column);
            (row.line, if index < end { self.cell(index) } else { MISSING })
        })
    }

    /// The column of a name.
    pub(super) fn column(&self, name: &str) -> Option<usize> {
        self.names().iter().position(|known| known == name)
    }
}

#[cfg(test)]
impl Table {
    /// The cells of a row.
    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = Cell<'_>> {
        (0..self.names().len()).map(move |column| self.cells(column).nth(row).unwrap().1)
    }
}
