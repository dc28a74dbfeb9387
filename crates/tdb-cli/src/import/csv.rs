//! Values separated by commas (RFC 4180).

/// A line of a file: its number, and its cells.
#[derive(Debug)]
pub(super) struct Record {
    pub(super) line: usize,
    pub(super) cells: Vec<Cell>,
}

/// A cell, and whether it was in quotes: an empty cell without quotes is null.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) quoted: bool,
}

/// Splits a file into cells. Lines end with LF or CR LF; inside quotes, everything except a quote is taken literally.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Record>, String> {
    let text = str::from_utf8(bytes).map_err(|error| error.to_string())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut records, mut line) = (Vec::new(), 1usize);
    let mut rest = text;
    while !rest.is_empty() {
        let mut record = Record { line, cells: Vec::new() };
        loop {
            let (cell, behind) = cell(rest, &mut line)?;
            record.cells.push(cell);
            rest = behind;
            if let Some(behind) = rest.strip_prefix(',') {
                rest = behind;
                continue;
            }
            rest = rest.strip_prefix('\r').unwrap_or(rest);
            rest = rest.strip_prefix('\n').unwrap_or(rest);
            line = line.saturating_add(1);
            break;
        }
        records.push(record);
    }
    Ok(records)
}

/// The first cell of a text, and the rest after it: a comma, the end of a line, or nothing.
fn cell<'t>(text: &'t str, line: &mut usize) -> Result<(Cell, &'t str), String> {
    let Some(mut rest) = text.strip_prefix('"') else {
        let end = text.find([',', '\n']).unwrap_or(text.len());
        let (cell, behind) = text.split_at_checked(end).unwrap_or((text, ""));
        let ended = behind.starts_with('\n').then(|| cell.strip_suffix('\r')).flatten();
        let cell = ended.unwrap_or(cell);
        return Ok((Cell { text: cell.to_owned(), quoted: false }, behind));
    };
    let first = *line;
    let mut content = String::new();
    loop {
        let Some((part, behind)) = rest.split_once('"') else {
            return Err(format!("line {first}: a closing quote is missing"));
        };
        content.push_str(part);
        *line = line.saturating_add(part.matches('\n').count());
        rest = behind;
        match rest.strip_prefix('"') {
            Some(behind) => {
                content.push('"');
                rest = behind;
            }
            None if rest.is_empty() || rest.starts_with([',', '\n']) || rest.starts_with("\r\n") => {
                return Ok((Cell { text: content, quoted: true }, rest));
            }
            None => return Err(format!("line {line}: there is text after a closing quote")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str) -> Vec<(usize, Vec<String>)> {
        let shown = |cell: Cell| if cell.quoted { format!("<{}>", cell.text) } else { cell.text };
        let record = |record: Record| (record.line, record.cells.into_iter().map(shown).collect());
        parse(text.as_bytes()).unwrap().into_iter().map(record).collect()
    }

    fn line(number: usize, cells: &[&str]) -> (usize, Vec<String>) {
        (number, cells.iter().map(|cell| (*cell).to_owned()).collect())
    }

    #[test]
    fn cells_are_told_apart_by_commas_lines_and_quotes() {
        assert_eq!(cells("a,b\n1,\n"), [line(1, &["a", "b"]), line(2, &["1", ""])]);
        assert_eq!(cells("a,b\r\n\"x\",\"\"\r\n"), [line(1, &["a", "b"]), line(2, &["<x>", "<>"])]);
        assert_eq!(cells("\"a\"\"\n,\"\n2"), [line(1, &["<a\"\n,>"]), line(3, &["2"])]);
        assert_eq!(cells("a,\r\nb"), [line(1, &["a", ""]), line(2, &["b"])]);
        assert_eq!(cells("\u{feff}a"), [line(1, &["a"])]);
        assert!(cells("").is_empty());
    }

    #[test]
    fn quotes_that_do_not_close_are_named_with_their_line() {
        assert_eq!(parse(b"a\n\"b").unwrap_err(), "line 2: a closing quote is missing");
        assert_eq!(parse(b"a\n\"b\"c").unwrap_err(), "line 2: there is text after a closing quote");
        assert!(parse(&[0xff]).is_err());
    }
}
