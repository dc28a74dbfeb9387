//! Draws the state.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

use super::ask::{CellRange, Page, View};
use super::state::{Focus, Fold, Item, Pane, State};
use crate::place::shown;
use crate::tree::Kind;

const PLAIN: Style = Style::new();
const STRONG: Style = Style::new().add_modifier(Modifier::BOLD);
const CHOSEN: Style = Style::new().add_modifier(Modifier::REVERSED);

/// Draws everything.
pub(super) fn draw(state: &State, area: Rect, buffer: &mut Buffer) {
    let row = |row: u16| Rect { y: area.y.saturating_add(row), height: 1, ..area }.intersection(area);
    let last = area.height.saturating_sub(1);
    views(state, row(0), buffer);
    let place = state.item().map(|item| shown(&item.object.location)).unwrap_or_default();
    put(row(1), buffer, &place, PLAIN);
    put(row(last), buffer, keys(state.focus), STRONG);
    let height = area.height.saturating_sub(3);
    let middle = Rect { y: area.y.saturating_add(2), height, ..area }.intersection(area);
    let width = state.tree_width().min(middle.width);
    tree(state, Rect { width, ..middle }, buffer);
    let line = Rect { x: middle.x.saturating_add(width), width: 1, ..middle }.intersection(area);
    for y in line.top()..line.bottom() {
        put(Rect { y, height: 1, ..line }, buffer, "│", PLAIN);
    }
    let x = middle.x.saturating_add(width).saturating_add(2);
    pane(state, Rect { x, width: area.right().saturating_sub(x), ..middle }.intersection(area), buffer);
}

/// What can be shown of an array; what is shown is in brackets.
fn views(state: &State, area: Rect, buffer: &mut Buffer) {
    let mut rest = area;
    for (number, view) in (1..).zip(View::ALL) {
        let name = view.name();
        let chosen = view == state.view;
        let text = if chosen { format!("[{number} {name}]") } else { format!(" {number} {name} ") };
        put(rest, buffer, &text, if chosen { STRONG } else { PLAIN });
        let width = u16::try_from(text.chars().count()).unwrap_or(u16::MAX).saturating_add(1);
        rest = Rect { x: rest.x.saturating_add(width), width: rest.width.saturating_sub(width), ..rest };
    }
}

const fn keys(focus: Focus) -> &'static str {
    match focus {
        Focus::Tree => "↑ ↓ move  → open  ← close  1-6 show  Tab to the right side  r read again  q quit",
        Focus::Pane => "↑ ↓ ← → scroll  PgDn PgUp Home End page  1-6 show  Tab back  q quit",
    }
}

fn tree(state: &State, area: Rect, buffer: &mut Buffer) {
    let height = usize::from(area.height);
    let top = state.selected.saturating_add(1).saturating_sub(height);
    for ((place, item), y) in state.items.iter().enumerate().skip(top).zip(area.top()..area.bottom()) {
        let chosen = place == state.selected;
        let style = match (chosen, state.focus) {
            (true, Focus::Tree) => CHOSEN,
            (true, Focus::Pane) => STRONG,
            _ => PLAIN,
        };
        let mark = if chosen { '>' } else { ' ' };
        let text = format!("{mark}{}{}", "  ".repeat(item.depth), name(item));
        put(Rect { y, height: 1, ..area }, buffer, &text, style);
    }
}

/// A sign for what it is, and its name.
fn name(item: &Item) -> String {
    let sign = match (&item.object.kind, item.fold) {
        (Kind::Array, _) => "▦",
        (Kind::Absent(_), _) => "✗",
        (_, Fold::Closed) => "▸",
        (_, Fold::Waiting(_)) => "…",
        (_, Fold::Open) => "▾",
    };
    let end = if matches!(item.object.kind, Kind::Folder) { "/" } else { "" };
    format!("{sign} {}{end}", item.object.name)
}

fn pane(state: &State, area: Rect, buffer: &mut Buffer) {
    let mut lines = area.top()..area.bottom();
    let mut line = |text: &str, style: Style| {
        let Some(y) = lines.next() else { return };
        let text: String = clean(text).chars().skip(state.left).collect();
        put(Rect { y, height: 1, ..area }, buffer, &text, style);
    };
    match &state.pane {
        Pane::Waiting => line("reading …", PLAIN),
        Pane::Failed(error) => {
            // An error is read as a whole.
            for part in wrapped(&clean(&format!("error: {error}")), usize::from(area.width)) {
                line(&part, STRONG);
            }
        }
        Pane::Page(page) => {
            page.head.iter().for_each(|text| line(text, STRONG));
            let text = page.lines.iter().skip(state.top).take(state.text_height());
            text.for_each(|text| line(text, PLAIN));
            let note = note(page, state.top, state.text_height());
            let y = area.bottom().saturating_sub(1);
            put(Rect { y, height: 1, ..area }.intersection(area), buffer, &note, STRONG);
        }
    }
}

/// Which part of a page is shown.
fn note(page: &Page, top: usize, height: usize) -> String {
    let part = |first: u128, count: usize, all: &str, what: &str| {
        let first = first.saturating_add(1);
        let last = first.saturating_add(u128::try_from(count).unwrap_or(0)).saturating_sub(1);
        format!("{what} {first} to {last}{all}")
    };
    match page.cells {
        Some(CellRange { count: 0, .. }) => "no cells".to_owned(),
        Some(CellRange { first, count, all, more }) => {
            let all = match (all, more) {
                (Some(all), _) => format!(" of {all}"),
                (None, true) => ", and more".to_owned(),
                (None, false) => ", the last ones".to_owned(),
            };
            part(first, count, &all, "cells")
        }
        None if page.lines.len() <= height => String::new(),
        None => {
            let count = page.lines.len().saturating_sub(top).min(height);
            let all = format!(" of {}", page.lines.len());
            part(u128::try_from(top).unwrap_or(0), count, &all, "lines")
        }
    }
}

/// A text in lines of at most `width` characters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(width.max(1)).map(|line| line.iter().collect()).collect()
}

/// Puts a text on a line, as far as there is room.
fn put(area: Rect, buffer: &mut Buffer, text: &str, style: Style) {
    let area = area.intersection(*buffer.area());
    if area.is_empty() {
        return;
    }
    buffer.set_stringn(area.x, area.y, clean(text), area.width.into(), style);
}

/// A text without anything that a terminal obeys instead of showing it: names come from files, and
/// may hold control characters, or signs that turn the order of letters around.
fn clean(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for c in text.chars() {
        let turns = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || turns { line.extend(c.escape_default()) } else { line.push(c) }
    }
    line
}
