//! What is shown, and what keys and answers change of it.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::ask::{Answer, Ask, CellRange, Content, Page, View, What};
use crate::tree::{Kind, Object};

/// Lines that are neither in the tree nor in the pane: what can be shown, where this is, and the
/// keys.
const OTHER_LINES: u16 = 3;
/// Lines of the pane below its text: what part of it is shown.
const NOTE_LINES: usize = 1;
/// Headings of a page of cells, and the dashes below them.
const HEAD_LINES: usize = 2;
/// Characters that a pane moves at once to the side.
const SIDE_STEP: usize = 8;

#[derive(Debug)]
pub(super) enum Pane {
    Waiting,
    Page(Page),
    Failed(String),
}

/// Which side keys move in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Focus {
    Tree,
    Pane,
}

/// A line of the tree.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) object: Object,
    pub(super) depth: usize,
    pub(super) fold: Fold,
}

/// Whether what is in an object is below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fold {
    Closed,
    /// It is being read, as the answer of this number.
    Waiting(u64),
    Open,
}

/// What a key asks of the program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reaction {
    Nothing,
    Asks(Vec<Ask>),
    Quits,
}

/// Everything that is shown.
#[derive(Debug)]
pub(super) struct State {
    /// Characters in a line, and lines.
    columns: u16,
    rows: u16,
    pub(super) items: Vec<Item>,
    pub(super) selected: usize,
    pub(super) focus: Focus,
    pub(super) view: View,
    pub(super) pane: Pane,
    /// The first line of the pane that is shown, and the first character.
    pub(super) top: usize,
    pub(super) left: usize,
    /// The number of the last question, and of that for the pane.
    last: u64,
    asked: u64,
}

impl State {
    /// Begins with an object, and asks for what is shown of it.
    pub(super) fn new(object: Object, columns: u16, rows: u16) -> (Self, Vec<Ask>) {
        // The whole place is above the tree.
        let name = object.name.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
        let item = Item { object: Object { name, ..object }, depth: 0, fold: Fold::Closed };
        let mut state = Self {
            columns,
            rows,
            items: vec![item],
            selected: 0,
            focus: Focus::Tree,
            view: View::Schema,
            pane: Pane::Waiting,
            top: 0,
            left: 0,
            last: 0,
            asked: 0,
        };
        let mut asks = state.show();
        asks.extend(state.open());
        (state, asks)
    }

    /// Lines of the tree, and of the pane.
    pub(super) fn height(&self) -> usize {
        self.rows.saturating_sub(OTHER_LINES).into()
    }

    /// Lines of the pane's text that are shown.
    pub(super) fn text_height(&self) -> usize {
        let head = match &self.pane {
            Pane::Page(page) => page.head.len(),
            _ => 0,
        };
        self.height().saturating_sub(head).saturating_sub(NOTE_LINES)
    }

    /// Characters of a line of the tree.
    pub(super) fn tree_width(&self) -> u16 {
        (self.columns / 3).clamp(12, 40)
    }

    pub(super) fn item(&self) -> Option<&Item> {
        self.items.get(self.selected)
    }

    /// The terminal has another size. A page of cells is read anew, as long as it is now.
    pub(super) fn resize(&mut self, columns: u16, rows: u16) -> Reaction {
        (self.columns, self.rows) = (columns, rows);
        match &self.pane {
            Pane::Page(Page { cells: Some(cells), .. }) => {
                let first = cells.first;
                Reaction::Asks(self.show_from(first))
            }
            _ => Reaction::Nothing,
        }
    }

    /// A key was pressed.
    pub(super) fn press(&mut self, key: KeyEvent) -> Reaction {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c' | 'd') if control => return Reaction::Quits,
            KeyCode::Char(_) if control => return Reaction::Nothing,
            KeyCode::Char('q') => return Reaction::Quits,
            KeyCode::Char('r') => return asks(self.show()),
            KeyCode::Char(digit) if View::of_digit(digit).is_some() => {
                self.view = View::of_digit(digit).unwrap_or(self.view);
                return asks(self.show());
            }
            KeyCode::Tab | KeyCode::BackTab => {
                self.focus = if self.focus == Focus::Tree { Focus::Pane } else { Focus::Tree };
                return Reaction::Nothing;
            }
            KeyCode::Esc => {
                self.focus = Focus::Tree;
                return Reaction::Nothing;
            }
            _ => {}
        }
        match self.focus {
            Focus::Tree => asks(self.press_in_tree(key.code)),
            Focus::Pane => asks(self.press_in_pane(key.code)),
        }
    }

    /// Something was read. What is not shown any more is ignored.
    pub(super) fn answer(&mut self, answer: Answer) -> Reaction {
        let Answer { number, result } = answer;
        if number == self.asked {
            match result {
                Ok(Content::Page(page)) => self.pane = Pane::Page(page),
                Ok(Content::Inside(_)) => {}
                Err(error) => self.pane = Pane::Failed(error),
            }
            return Reaction::Nothing;
        }
        let waiting = self.items.iter().position(|item| item.fold == Fold::Waiting(number));
        let Some(place) = waiting else { return Reaction::Nothing };
        // The pane shows why something cannot be opened.
        let inside = match result {
            Ok(Content::Inside(inside)) => inside,
            _ => Vec::new(),
        };
        let depth = self.items.get(place).map_or(0, |item| item.depth.saturating_add(1));
        let below = place.saturating_add(1);
        if let Some(item) = self.items.get_mut(place) {
            item.fold = Fold::Open;
        }
        if self.selected >= below {
            self.selected = self.selected.saturating_add(inside.len());
        }
        let new = inside.into_iter().map(|object| Item { object, depth, fold: Fold::Closed });
        self.items.splice(below..below, new);
        Reaction::Nothing
    }

    fn press_in_tree(&mut self, key: KeyCode) -> Vec<Ask> {
        let last = self.items.len().saturating_sub(1);
        let selected = match key {
            KeyCode::Up => self.selected.saturating_sub(1),
            KeyCode::Down => self.selected.saturating_add(1),
            KeyCode::PageUp => self.selected.saturating_sub(self.height()),
            KeyCode::PageDown => self.selected.saturating_add(self.height()),
            KeyCode::Home => 0,
            KeyCode::End => last,
            KeyCode::Right | KeyCode::Enter => {
                return match self.item().map(|item| (&item.object.kind, item.fold)) {
                    Some((Kind::Group | Kind::Folder, Fold::Closed)) => self.open(),
                    Some((Kind::Group | Kind::Folder, _)) => Vec::new(),
                    _ => {
                        self.focus = Focus::Pane;
                        Vec::new()
                    }
                };
            }
            KeyCode::Left => match self.item() {
                Some(Item {
                    fold: Fold::Open,
                    object: Object { kind: Kind::Group | Kind::Folder, .. },
                    ..
                }) => {
                    self.close();
                    return Vec::new();
                }
                Some(Item { depth, .. }) => {
                    let above = self.items.get(..self.selected).unwrap_or_default();
                    above.iter().rposition(|item| item.depth < *depth).unwrap_or(self.selected)
                }
                None => return Vec::new(),
            },
            _ => return Vec::new(),
        };
        let selected = selected.min(last);
        if selected == self.selected {
            return Vec::new();
        }
        self.selected = selected;
        self.show()
    }

    fn press_in_pane(&mut self, key: KeyCode) -> Vec<Ask> {
        let page = self.text_height().max(1);
        let lines = match &self.pane {
            Pane::Page(page) => page.lines.len(),
            _ => 0,
        };
        let lowest = lines.saturating_sub(page);
        if let Some(cells) = self.cells()
            && let Some(first) = first_of(key, cells, self.cell_count())
        {
            return if first == cells.first { Vec::new() } else { self.show_from(first) };
        }
        match key {
            KeyCode::Up => self.top = self.top.saturating_sub(1),
            KeyCode::Down => self.top = self.top.saturating_add(1),
            KeyCode::PageUp => self.top = self.top.saturating_sub(page),
            KeyCode::PageDown => self.top = self.top.saturating_add(page),
            KeyCode::Home => self.top = 0,
            KeyCode::End => self.top = lowest,
            KeyCode::Left => self.left = self.left.saturating_sub(SIDE_STEP),
            KeyCode::Right => self.left = self.left.saturating_add(SIDE_STEP).min(self.widest()),
            _ => {}
        }
        self.top = self.top.min(lowest);
        Vec::new()
    }

    /// Asks for what is in the selected object.
    fn open(&mut self) -> Vec<Ask> {
        let number = self.last.saturating_add(1);
        let Some(item) = self.items.get_mut(self.selected) else { return Vec::new() };
        if !matches!(item.object.kind, Kind::Group | Kind::Folder) {
            return Vec::new();
        }
        item.fold = Fold::Waiting(number);
        self.last = number;
        vec![Ask { number, object: item.object.clone(), what: What::Inside }]
    }

    /// Forgets what is in the selected object.
    fn close(&mut self) {
        let Some(item) = self.items.get_mut(self.selected) else { return };
        item.fold = Fold::Closed;
        let depth = item.depth;
        let below = self.selected.saturating_add(1);
        let inside = self.items.iter().skip(below).take_while(|other| other.depth > depth).count();
        self.items.drain(below..below.saturating_add(inside));
    }

    /// Asks for what the pane shows of the selected object.
    fn show(&mut self) -> Vec<Ask> {
        self.left = 0;
        self.show_from(0)
    }

    pub(super) fn show_from(&mut self, first: u128) -> Vec<Ask> {
        let Some(object) = self.item().map(|item| item.object.clone()) else { return Vec::new() };
        let what = match self.view {
            View::Cells => What::Cells { first, count: self.cell_count() },
            view => What::View(view),
        };
        self.top = 0;
        // The cells before stay until the others are there.
        if !matches!((&self.pane, first), (Pane::Page(_), 1..)) {
            self.pane = Pane::Waiting;
        }
        self.last = self.last.saturating_add(1);
        self.asked = self.last;
        vec![Ask { number: self.last, object, what }]
    }

    /// Cells that fit the pane.
    fn cell_count(&self) -> usize {
        self.height().saturating_sub(HEAD_LINES).saturating_sub(NOTE_LINES).max(1)
    }

    fn cells(&self) -> Option<CellRange> {
        match &self.pane {
            Pane::Page(page) => page.cells,
            _ => None,
        }
    }

    /// Characters of the longest line.
    fn widest(&self) -> usize {
        let Pane::Page(page) = &self.pane else { return 0 };
        let widths = page.head.iter().chain(&page.lines).map(|line| line.chars().count());
        widths.max().unwrap_or(0).saturating_sub(1)
    }
}

/// The first cell of the page that a key leads to; `None` for keys that lead to no other page.
fn first_of(key: KeyCode, cells: CellRange, count: usize) -> Option<u128> {
    let step = u128::try_from(count).ok()?;
    Some(match key {
        KeyCode::PageDown if cells.more => cells.first.saturating_add(u128::try_from(cells.count).ok()?),
        KeyCode::PageDown => cells.first,
        KeyCode::PageUp => cells.first.saturating_sub(step),
        KeyCode::Home => 0,
        KeyCode::End => cells.all.map_or(cells.first, |all| all.saturating_sub(step)),
        _ => return None,
    })
}

fn asks(asks: Vec<Ask>) -> Reaction {
    if asks.is_empty() { Reaction::Nothing } else { Reaction::Asks(asks) }
}
