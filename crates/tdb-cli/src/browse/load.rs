//! Reads what the state asks for.

use std::path::{Path, PathBuf};

use tdb_array::history::{History, history};
use tdb_array::storage::without_secrets;
use tdb_array::{Array, Key};
use tdb_codec::to_u64;

use super::ask::{Answer, Ask, Content, Page, View, What};
use super::cells::Pager;
use super::columns;
use crate::args::WindowArgs;
use crate::count::count;
use crate::failure::{Failure, Result};
use crate::info::{Info, text};
use crate::screen::Screen;
use crate::sheet::Sheet;
use crate::tree::{Explorer, Kind, Object};
use crate::{fragments, log, meta};

/// Lines of headings above a table, with the dashes below them.
const HEAD_LINES: usize = 2;

/// Opens arrays and groups, and reads what is shown of them.
pub(super) struct Loader {
    explorer: Explorer,
    window: WindowArgs,
    key: Option<Key>,
    /// The array whose cells were read last.
    pager: Option<(PathBuf, Pager)>,
}

impl Loader {
    pub(super) const fn new(explorer: Explorer, window: WindowArgs, key: Option<Key>) -> Self {
        Self { explorer, window, key, pager: None }
    }

    /// Reads what is asked for. An error is an answer, too.
    pub(super) fn answer(&mut self, ask: &Ask) -> Answer {
        let result = match ask.what {
            What::Inside => self.explorer.inside(&ask.object).map(Content::Inside),
            What::View(view) => self.view(&ask.object, view).map(Content::Page),
            What::Cells { first, count } => self.cells(&ask.object, first, count).map(Content::Page),
        };
        let text = |failure: Failure| without_secrets(failure.text()).into_owned();
        Answer { number: ask.number, result: result.map_err(text) }
    }

    fn view(&self, object: &Object, view: View) -> Result<Page> {
        let place = &object.location;
        match (&object.kind, view) {
            (Kind::Array, View::Schema) => page(0, |out| Ok(text::schema(&self.info(place)?, out)?)),
            (Kind::Array, View::Columns) => {
                page(HEAD_LINES, |out| Ok(columns::print(&self.explorer.array(place)?, out)?))
            }
            (Kind::Array, View::Fragments | View::History) => {
                let storage = self.explorer.stores().storage(place)?;
                let all = history(storage, self.key.clone());
                let History { schema, mut events } = all.map_err(|error| Failure::of_array(place, error))?;
                let schema = schema.as_deref();
                if view == View::History {
                    return page(HEAD_LINES, |out| Ok(log::print(&events, schema, out)?));
                }
                events.retain(fragments::is_fragment);
                page(HEAD_LINES, |out| Ok(fragments::print(&events, schema, out)?))
            }
            (Kind::Array, View::Metadata) => {
                let metadata = self.explorer.array(place)?.metadata();
                let metadata = metadata.map_err(|error| Failure::of_array(place, error))?;
                page(HEAD_LINES, |out| Ok(out.table(&meta::headings(), &meta::rows(&metadata))?))
            }
            (Kind::Group, View::Metadata) => {
                let metadata = self.explorer.group(place)?.metadata();
                let metadata = metadata.map_err(|error| Failure::of_array(place, error))?;
                page(HEAD_LINES, |out| Ok(out.table(&meta::headings(), &meta::rows(&metadata))?))
            }
            (Kind::Group, _) => {
                let members = to_u64(self.explorer.group(place)?.members().count());
                Ok(line(format!("a group of {}", count(members, "member"))))
            }
            (Kind::Folder, _) => {
                // An error says why it cannot be opened.
                self.explorer.inside(object)?;
                Ok(line("a folder that is neither an array nor a group".to_owned()))
            }
            (Kind::Absent(why), _) => Err(Failure::Failed(why.clone())),
            (Kind::Array, View::Cells) => Ok(Page::default()),
        }
    }

    fn cells(&mut self, object: &Object, first: u128, count: usize) -> Result<Page> {
        if object.kind != Kind::Array {
            return self.view(object, View::Cells);
        }
        let place = &object.location;
        let failed = |error| Failure::of_array(place, error);
        let known = self.pager.take().filter(|(of, _)| of == place && first > 0);
        let mut pager = match known {
            Some((_, pager)) => pager,
            None => Pager::new(self.explorer.array(place)?).map_err(failed)?,
        };
        let page = pager.page(first, count).map_err(failed)?;
        self.pager = Some((place.clone(), pager));
        page.ok_or_else(|| Failure::internal("a page of cells without its cells"))
    }

    fn info(&self, place: &Path) -> Result<Info> {
        let array: Array = self.explorer.array(place)?;
        Info::load(array, &self.window).map_err(|error| Failure::of_array(place, error))
    }
}

fn line(text: String) -> Page {
    Page { lines: vec![text], ..Page::default() }
}

/// A page of what is printed, of which the first lines stay above the others.
fn page(head: usize, print: impl FnOnce(&mut Sheet<'_>) -> Result) -> Result<Page> {
    let mut text = Vec::new();
    // Lines are moved to the side, and not shortened.
    let screen = Screen { columns: usize::MAX, rows: usize::MAX };
    print(&mut Sheet::new(&mut text, Some(screen)))?;
    let mut lines: Vec<String> = String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
    let rest = lines.split_off(head.min(lines.len()));
    Ok(Page { head: lines, lines: rest, cells: None })
}
