//! Screens as text.

use std::path::{Path, PathBuf};

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tdb_array::OpenOptions;
use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::{WriteColumn, WriteOptions};
use tdb_schema::{Attribute, Dimension};

use super::ask::{Answer, Ask, Content, Page};
use super::frame;
use super::load::Loader;
use super::state::{Reaction, State};
use crate::args::WindowArgs;
use crate::place::{StoreArgs, Stores};
use crate::tree::{Explorer, Kind, Object};

const COLUMNS: u16 = 80;
const ROWS: u16 = 14;

/// A browser without a terminal: what is asked for is read at once.
struct Browser {
    state: State,
    loader: Loader,
}

impl Browser {
    fn new(place: &str) -> Self {
        let stores = Stores::new(&StoreArgs::default()).unwrap();
        let explorer = Explorer::new(stores, OpenOptions::new());
        let object = explorer.at(Path::new(place)).unwrap();
        let (state, asks) = State::new(object, COLUMNS, ROWS);
        let mut browser =
            Self { state, loader: Loader::new(explorer, WindowArgs { at: None, between: None }, None) };
        browser.answer(asks);
        browser
    }

    fn answer(&mut self, asks: Vec<Ask>) {
        for ask in asks {
            let answer = self.loader.answer(&ask);
            assert_eq!(self.state.answer(answer), Reaction::Nothing);
        }
    }

    /// Presses keys; returns whether the last one quits.
    fn press(&mut self, keys: impl IntoIterator<Item = KeyCode>) -> bool {
        let mut quits = false;
        for key in keys {
            match self.state.press(KeyEvent::new(key, KeyModifiers::NONE)) {
                Reaction::Asks(asks) => self.answer(asks),
                Reaction::Nothing => {}
                Reaction::Quits => quits = true,
            }
        }
        quits
    }

    fn screen(&self) -> String {
        screen(&self.state, COLUMNS, ROWS)
    }
}

fn screen(state: &State, columns: u16, rows: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| frame::draw(state, frame.area(), frame.buffer_mut())).unwrap();
    let buffer = terminal.backend().buffer();
    let lines = buffer.content().chunks(columns.into()).map(|line| {
        let line: String = line.iter().map(ratatui::buffer::Cell::symbol).collect();
        line.trim_end().to_owned() + "\n"
    });
    lines.collect()
}

fn characters(text: &str) -> impl Iterator<Item = KeyCode> {
    text.chars().map(KeyCode::Char)
}

/// A folder for a test, removed when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tdb-browse-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn place(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Two cells at the far ends of a dense array of 10^12.
fn huge(path: &str) {
    let side = |name| Dimension::new(name, 0i64..=999_999).with_tile(10i64);
    let schema = ArraySchema::dense()
        .dimension(side("row"))
        .dimension(side("column"))
        .attribute(Attribute::new("v", Datatype::Int32, CellValNum::ONE))
        .build()
        .unwrap();
    WriteOptions::new().timestamp(1).create(path, &schema).unwrap();
    for (time, at) in [(2, 0i64), (3, 999_999)] {
        let writer = WriteOptions::new().timestamp(time).open(path).unwrap();
        let write = writer.write().range("row", at..=at).range("column", at..=at);
        write.column(WriteColumn::fixed("v", &[i32::try_from(time).unwrap()])).commit().unwrap();
    }
}

fn many(path: &str, cells: i32) {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=10_000_000))
        .attribute(Attribute::new("v", Datatype::Int32, CellValNum::ONE))
        .build()
        .unwrap();
    WriteOptions::new().timestamp(1).create(path, &schema).unwrap();
    let x: Vec<i32> = (0..cells).collect();
    let writer = WriteOptions::new().timestamp(2).open(path).unwrap();
    writer.write().column(WriteColumn::fixed("x", &x)).column(WriteColumn::fixed("v", &x)).commit().unwrap();
}

/// What each view shows of the fixture `quickstart`, below the lines that are always the same.
const VIEWS: [(char, &str); 6] = [
    (
        '1',
        "\
>▦ quickstart             │ array             ../../xtask/fixtures/arrays/2.30.0
                          │ type              dense
                          │ format version    22
",
    ),
    (
        '2',
        "\
>▦ quickstart             │ when                      what         cells  bytes
                          │ ------------------------  -----------  -----  -----
                          │ 1970-01-01T00:00:00.010Z  dense write     16   4260
                          │
",
    ),
    (
        '3',
        "\
>▦ quickstart             │ column  bytes      %  type   filters         kind
                          │ ------  -----  -----  -----  --------------  -------
                          │ rows        0    0.0  INT32  zstd(level -1)  dimensi
                          │ cols        0    0.0  INT32  zstd(level -1)  dimensi
                          │ a         244  100.0  INT32  zstd(level 3)   attribu
                          │
",
    ),
    (
        '4',
        "\
>▦ quickstart             │ rows  cols  a
                          │ ----  ----  -
                          │    1     1  1
                          │    1     2  2
                          │    1     3  3
                          │    1     4  4
                          │    2     1  5
                          │    2     2  6
                          │    2     3  7
                          │    2     4  8
                          │ cells 1 to 8 of 16
",
    ),
    (
        '5',
        "\
>▦ quickstart             │ metadata key  type  value
                          │ ------------  ----  -----
                          │
",
    ),
    (
        '6',
        "\
>▦ quickstart             │ when                      what         version  cell
                          │ ------------------------  -----------  -------  ----
                          │ 1970-01-01T00:00:00.001Z  schema            22
                          │ 1970-01-01T00:00:00.010Z  dense write       22     1
                          │
",
    ),
];

#[test]
fn a_folder_is_a_tree_and_what_is_chosen_is_beside_it() {
    let scratch = Scratch::new("tree");
    many(&scratch.place("data/numbers"), 3);
    std::fs::create_dir(scratch.place("data/plain")).unwrap();
    let mut browser = Browser::new(&scratch.place("data"));
    browser.press([KeyCode::Down, KeyCode::Char('4')]);
    let screen = browser.screen().replace(&scratch.place("data"), "PLACE");
    let expected = "\u{20}1 schema   2 fragments   3 columns  [4 cells]  5 metadata   6 history
PLACE/numbers
 ▾ data/                  │ x  v
>  ▦ numbers              │ -  -
   ▸ plain/               │ 0  0
                          │ 1  1
                          │ 2  2
                          │
                          │
                          │
                          │
                          │
                          │ cells 1 to 3 of 3
↑ ↓ move  → open  ← close  1-6 show  Tab to the right side  r read again  q quit
";
    assert_eq!(screen, expected);
}

#[test]
fn each_view_shows_its_part_of_an_array() {
    let mut browser = Browser::new("../../xtask/fixtures/arrays/2.30.0/quickstart");
    let mut found = Vec::new();
    for (digit, expected) in VIEWS {
        browser.press([KeyCode::Char(digit)]);
        let screen = browser.screen();
        let lines: Vec<&str> = screen.lines().collect();
        assert_eq!(lines.len(), usize::from(ROWS));
        assert_eq!(lines[1], "../../xtask/fixtures/arrays/2.30.0/quickstart");
        assert!(lines[0].contains(&format!("[{digit} ")), "{screen}");
        let shown: String =
            lines[2..].iter().take(expected.lines().count()).map(|line| format!("{line}\n")).collect();
        if shown != expected {
            found.push(screen);
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn pages_of_a_dense_array_are_where_they_are_asked_for() {
    let scratch = Scratch::new("huge");
    huge(&scratch.place("huge"));
    let mut browser = Browser::new(&scratch.place("huge"));
    browser.press([KeyCode::Char('4'), KeyCode::Tab]);
    let first = browser.screen();
    assert!(first.contains("│   0       0  2\n"), "{first}");
    assert!(first.contains("cells 1 to 8 of 1000000000000\n"), "{first}");
    browser.press([KeyCode::End]);
    let last = browser.screen();
    assert!(last.contains("│ 999999  999999  3\n"), "{last}");
    assert!(last.contains("cells 999999999993 to 1000000000000 of 1000000000000"), "{last}");
    browser.press([KeyCode::PageDown]);
    assert_eq!(browser.screen(), last, "there is nothing behind the last page");
    browser.press([KeyCode::PageUp, KeyCode::Home]);
    assert_eq!(browser.screen(), first);
}

#[test]
fn pages_of_a_sparse_array_follow_each_other_and_go_back() {
    let scratch = Scratch::new("many");
    many(&scratch.place("many"), 300_000);
    let mut browser = Browser::new(&scratch.place("many"));
    browser.press([KeyCode::Char('4'), KeyCode::Tab]);
    let first = browser.screen();
    assert!(first.contains("cells 1 to 8, and more"), "{first}");
    browser.press([KeyCode::PageDown; 2]);
    let third = browser.screen();
    assert!(third.contains("│ 16  16\n") && third.contains("cells 17 to 24, and more"), "{third}");
    browser.press([KeyCode::PageUp]);
    assert!(browser.screen().contains("cells 9 to 16, and more"));
    browser.press([KeyCode::PageUp, KeyCode::PageUp]);
    assert_eq!(browser.screen(), first);
}

#[test]
fn long_texts_leave_room_for_other_columns() {
    let scratch = Scratch::new("long");
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=9))
        .attribute(Attribute::new("s", Datatype::StringUtf8, CellValNum::Var))
        .attribute(Attribute::new("v", Datatype::Int32, CellValNum::ONE))
        .build()
        .unwrap();
    let place = scratch.place("long");
    WriteOptions::new().create(&place, &schema).unwrap();
    let writer = WriteOptions::new().open(&place).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &[1i32]));
    let long = "y".repeat(5000);
    let write = write.column(WriteColumn::var("s", long.as_bytes(), &[0, 5000]));
    write.column(WriteColumn::fixed("v", &[7i32])).commit().unwrap();
    let mut browser = Browser::new(&place);
    browser.press([KeyCode::Char('4'), KeyCode::Tab, KeyCode::Right, KeyCode::Right]);
    let screen = browser.screen();
    assert!(screen.contains("y…  7\n"), "{screen}");
}

#[test]
fn going_back_before_what_is_kept_reads_again() {
    let scratch = Scratch::new("back");
    many(&scratch.place("many"), 2_000_000);
    let mut browser = Browser::new(&scratch.place("many"));
    browser.press([KeyCode::Char('4'), KeyCode::Tab]);
    let first = browser.screen();
    let asks = browser.state.show_from(1_999_990);
    browser.answer(asks);
    assert!(browser.screen().contains("cells 1999991 to 1999998, and more"), "{}", browser.screen());
    browser.press([KeyCode::PageDown]);
    let last = browser.screen();
    assert!(last.contains("cells 1999999 to 2000000 of 2000000"), "{last}");
    let asks = browser.state.show_from(8);
    browser.answer(asks);
    assert!(browser.screen().contains("cells 9 to 16, and more"), "{}", browser.screen());
    browser.press([KeyCode::PageUp]);
    assert_eq!(browser.screen(), first);
}

#[test]
fn what_cannot_be_opened_shows_its_error_and_the_rest_can_be_browsed() {
    let scratch = Scratch::new("damage");
    many(&scratch.place("fine"), 3);
    std::fs::create_dir_all(scratch.place("broken/__schema")).unwrap();
    std::fs::write(scratch.place("broken/__schema/__1_1_0123456789abcdef0123456789abcdef"), "no").unwrap();
    let mut browser = Browser::new(&scratch.place(""));
    browser.press([KeyCode::Down]);
    for digit in "123456".chars() {
        browser.press([KeyCode::Char(digit)]);
        let screen = browser.screen();
        assert!(screen.contains("broken") && screen.contains("fine"), "{screen}");
        let is_history = matches!(digit, '2' | '6');
        assert!(is_history || screen.contains("error: "), "{digit}: {screen}");
    }
    browser.press([KeyCode::Char('1'), KeyCode::Down]);
    assert!(browser.screen().contains("sparse"), "{}", browser.screen());
}

#[test]
fn names_cannot_write_anything_but_letters_on_the_terminal() {
    let name = "a\u{1b}[2J\r\n\u{202e}b\u{7}";
    let object = |name: &str, kind| Object { name: name.to_owned(), kind, location: name.into() };
    let (mut state, asks) = State::new(object(name, Kind::Folder), COLUMNS, ROWS);
    let inside = vec![object(name, Kind::Array), object(name, Kind::Absent(name.to_owned()))];
    assert_eq!(state.resize(200, ROWS), Reaction::Nothing);
    let numbers: Vec<u64> = asks.iter().map(|ask| ask.number).collect();
    state.answer(Answer { number: numbers[1], result: Ok(Content::Inside(inside)) });
    let page = Page { head: vec![name.to_owned()], lines: vec![name.to_owned()], cells: None };
    for result in [Ok(Content::Page(page)), Err(name.to_owned())] {
        state.answer(Answer { number: numbers[0], result });
        let screen = screen(&state, 200, ROWS);
        let is_obeyed = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!screen.contains(is_obeyed), "{screen:?}");
        assert!(screen.matches("a\\u{1b}[2J\\r\\n\\u{202e}b\\u{7}").count() >= 4, "{screen}");
    }
}

#[test]
fn keys_move_open_close_scroll_and_quit() {
    let scratch = Scratch::new("keys");
    many(&scratch.place("a/deep"), 3);
    many(&scratch.place("b"), 3);
    let mut browser = Browser::new(&scratch.place(""));
    let names = |browser: &Browser| -> Vec<String> {
        browser.state.items.iter().skip(1).map(|item| item.object.name.clone()).collect()
    };
    assert_eq!(names(&browser), ["a", "b"]);
    browser.press([KeyCode::Down, KeyCode::Right]);
    assert_eq!(names(&browser), ["a", "deep", "b"]);
    browser.press([KeyCode::End]);
    assert_eq!(browser.state.selected, 3);
    browser.press([KeyCode::Up, KeyCode::Left]);
    assert_eq!(browser.state.selected, 1, "left goes to what it is in");
    browser.press([KeyCode::Left]);
    assert_eq!(names(&browser), ["a", "b"], "and closes that");
    browser.press([KeyCode::Down, KeyCode::Enter, KeyCode::Down]);
    assert_eq!((browser.state.selected, browser.state.top), (2, 1), "the pane has the keys");
    browser.press([KeyCode::End, KeyCode::Right]);
    let moved = browser.screen();
    assert!(moved.contains("of ") && browser.state.left == 8, "{moved}");
    browser.press([KeyCode::Left, KeyCode::Esc, KeyCode::Home]);
    assert_eq!((browser.state.selected, browser.state.left), (0, 0));
    assert!(!browser.press(characters("xyz")));
    assert!(browser.press(characters("q")));
    let control = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert_eq!(browser.state.press(control), Reaction::Quits);
}

#[test]
fn a_terminal_of_any_size_is_drawn_on() {
    let mut browser = Browser::new("../../xtask/fixtures/arrays/2.30.0/quickstart");
    for (columns, rows) in [(1, 1), (2, 3), (13, 4), (14, 5), (200, 60), (80, 14)] {
        if let Reaction::Asks(asks) = browser.state.resize(columns, rows) {
            browser.answer(asks);
        }
        browser.press([KeyCode::Char('4'), KeyCode::Tab, KeyCode::PageDown, KeyCode::End, KeyCode::Esc]);
        assert_eq!(screen(&browser.state, columns, rows).lines().count(), usize::from(rows));
    }
}

#[test]
fn answers_that_come_late_are_not_shown() {
    let object = Object { name: "a".to_owned(), kind: Kind::Array, location: "a".into() };
    let (mut state, first) = State::new(object, COLUMNS, ROWS);
    let Reaction::Asks(second) = state.press(KeyEvent::new(KeyCode::Char('2'), KeyModifiers::NONE)) else {
        panic!("the view asks for what it shows")
    };
    let page = |text: &str| Content::Page(Page { lines: vec![text.to_owned()], ..Page::default() });
    state.answer(Answer { number: first[0].number, result: Ok(page("schema")) });
    assert!(screen(&state, COLUMNS, ROWS).contains("reading …"));
    state.answer(Answer { number: second[0].number, result: Ok(page("two fragments")) });
    assert!(screen(&state, COLUMNS, ROWS).contains("two fragments"));
}
