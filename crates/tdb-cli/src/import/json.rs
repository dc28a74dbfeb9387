//! Objects in JSON, in a list or one after the other, on any number of lines.

use memchr::memchr_iter;
use tdb_text::json::Json;

use super::chunks::Chunk;
use super::ndjson::Objects;
use super::notation::Nulls;
use super::table::Table;

/// How far a text has been looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Walk {
    place: Place,
    /// The braces and brackets that are open inside of an object, with its own.
    depth: usize,
    in_text: bool,
    /// Whether the next character of a text has no meaning.
    escaped: bool,
}

/// A place outside of objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// Before everything.
    #[default]
    Start,
    /// In a list, before its first object.
    Opened,
    /// In a list, behind an object.
    Behind,
    /// In a list, behind a comma.
    Comma,
    /// Between objects that are in no list.
    Loose,
    /// Behind the list.
    Closed,
}

/// The end of an object, or what there is instead of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// An object ends behind this byte.
    End(usize),
    /// The text ends.
    More,
    /// At this byte there is something that is no object, nor between objects.
    Wrong(usize),
}

impl Walk {
    /// Walks to the end of the next object in a text that follows what was walked over.
    pub(super) fn step(&mut self, text: &[u8]) -> Step {
        for (at, byte) in text.iter().enumerate() {
            if self.in_text {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_text = false,
                    _ => {}
                }
                continue;
            }
            if self.depth > 0 {
                match byte {
                    b'"' => self.in_text = true,
                    b'{' | b'[' => self.depth = self.depth.saturating_add(1),
                    b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
                if self.depth == 0 {
                    return Step::End(at.saturating_add(1));
                }
                continue;
            }
            self.place = match (byte, self.place) {
                (b' ' | b'\t' | b'\r' | b'\n', place) => place,
                (b'{', Place::Opened | Place::Comma) => {
                    self.depth = 1;
                    Place::Behind
                }
                (b'{', Place::Start | Place::Loose) => {
                    self.depth = 1;
                    Place::Loose
                }
                (b'[', Place::Start) => Place::Opened,
                (b',', Place::Behind) => Place::Comma,
                (b']', Place::Opened | Place::Behind) => Place::Closed,
                _ => return Step::Wrong(at),
            };
        }
        Step::More
    }

    /// Whether a text may end here.
    pub(super) const fn is_complete(&self) -> bool {
        self.depth == 0 && matches!(self.place, Place::Start | Place::Loose | Place::Closed)
    }

    /// A place between the objects of a text, for a chunk from its middle.
    const fn between() -> Self {
        Self { place: Place::Loose, depth: 0, in_text: false, escaped: false }
    }
}

/// The rows of a chunk, as those of lines with objects. What is between objects was looked at when
/// the file was cut.
pub(super) fn parse(chunk: &Chunk, nulls: &Nulls, names: &[String]) -> Result<Table, String> {
    let mut objects = Objects::new(names, chunk.before, nulls);
    let mut rest = chunk.text.strip_prefix(super::chunks::BYTE_ORDER_MARK).unwrap_or(&chunk.text);
    let mut line = chunk.line;
    while let Some(start) = rest.iter().position(|byte| *byte == b'{') {
        let (before, from) = rest.split_at_checked(start).unwrap_or_default();
        line = line.saturating_add(memchr_iter(b'\n', before).count());
        let Step::End(end) = Walk::between().step(from) else {
            return Err(format!("line {line}: an object in JSON has no end"));
        };
        let (object, behind) = from.split_at_checked(end).unwrap_or_default();
        match Json::parse(object) {
            Ok(Json::Object(object)) => objects.add(line, object)?,
            Ok(_) => return Err(format!("line {line}: an object in JSON is expected")),
            Err(error) => {
                let line = line.saturating_add(error.line).saturating_sub(1);
                return Err(format!("line {line}: an object in JSON is expected: {}", error.what));
            }
        }
        line = line.saturating_add(memchr_iter(b'\n', object).count());
        rest = behind;
    }
    Ok(objects.finish())
}

#[cfg(test)]
mod tests {
    use super::super::table::Mark;
    use super::parse as of_chunk;
    use super::*;

    /// The ends of the objects of a text, and whether it may end where it does.
    fn ends(text: &str) -> Result<(Vec<usize>, bool), usize> {
        let (mut walk, mut ends, mut from) = (Walk::default(), Vec::new(), 0);
        loop {
            match walk.step(&text.as_bytes()[from..]) {
                Step::End(end) => {
                    from += end;
                    ends.push(from);
                }
                Step::More => return Ok((ends, walk.is_complete())),
                Step::Wrong(at) => return Err(from + at),
            }
        }
    }

    #[test]
    fn the_ends_of_objects_are_found_in_lists_and_without_them() {
        assert_eq!(ends("[{},\n {\"a\":[{}]}]\n"), Ok((vec![3, 16], true)));
        assert_eq!(ends("{}{}\n{}"), Ok((vec![2, 4, 7], true)));
        assert_eq!(ends("[{\"}\":\"\\\"]}\"}]"), Ok((vec![13], true)));
        assert_eq!(ends("[]"), Ok((vec![], true)));
        assert_eq!(ends(""), Ok((vec![], true)));
        for open in ["[", "[{}", "[{},", "{", "{\"a", "[{\"a\":1}"] {
            assert!(!ends(open).unwrap().1, "{open}");
        }
        for (wrong, at) in
            [("[1]", 1), ("[{}{}]", 3), ("[{},]", 4), ("{},{}", 2), ("[{}]x", 4), ("[,{}]", 1), ("x", 0)]
        {
            assert_eq!(ends(wrong), Err(at), "{wrong}");
        }
    }

    #[test]
    fn objects_on_several_lines_are_rows_with_the_line_where_they_begin() {
        let parse = |text: &str| {
            let chunk = Chunk { text: text.into(), line: 4, before: 2, file: 0 };
            of_chunk(&chunk, &Nulls::default(), &[])
        };
        let table = parse("\u{feff},\n{\"a\": 1,\n \"b\": \"}\"},{\n\"b\":null}\n]").unwrap();
        assert_eq!((table.names().join(" "), table.before()), ("a b".to_owned(), 2));
        assert_eq!(table.lines().collect::<Vec<_>>(), [5, 6]);
        let shown: Vec<_> = table.row(0).chain(table.row(1)).map(|cell| (cell.text, cell.mark)).collect();
        assert_eq!(shown, [("1", Mark::Open), ("}", Mark::Text), ("", Mark::Null), ("", Mark::Null)]);
        assert!(
            parse("[{\"a\":1},\n{\n\"a\":}]")
                .unwrap_err()
                .starts_with("line 6: an object in JSON is expected")
        );
        assert!(parse("{\"a\":1").unwrap_err().contains("has no end"));
    }
}
