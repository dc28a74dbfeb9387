//! Rows of a file with equal coordinates: which of them an import leaves out, or the error.

use super::args::ImportArgs;
use super::duplicates::{self, Finder, LeftOut, Pair, Rule};
use super::table::Table;
use super::tables::Tables;
use crate::failure::{Failure, Result, one_line};

impl ImportArgs {
    /// The rule for rows with the same coordinates.
    pub(super) fn rule(&self, allows: bool, has_coordinates: bool) -> Result<Rule> {
        let given = self.duplicates.or(self.allow_duplicates.then_some(Rule::Allow));
        match given {
            None | Some(Rule::Allow) if !has_coordinates => Ok(Rule::Allow),
            None => Ok(if allows { Rule::Allow } else { Rule::Error }),
            Some(_) if !has_coordinates => Err(self.usage(
                "--duplicates is for rows with coordinates, and here rows are numbered: --dims makes columns of a new array coordinates",
            )),
            Some(Rule::Allow) if !allows => Err(Failure::Usage(format!(
                "{}: --duplicates allow: this array does not allow duplicates; first or last keeps one of such rows",
                self.array.display()
            ))),
            Some(rule) => Ok(rule),
        }
    }

    /// The rows that are left out, of those that a finder has seen. `of` says what two places are,
    /// and `coordinates` those of one row; `may` says whether the array may allow duplicates.
    pub(super) fn left_out(
        &self,
        finder: Finder,
        rule: Rule,
        of: &dyn Fn(u64, u64) -> String,
        may: bool,
        coordinates: &dyn Fn(u64) -> Result<String>,
    ) -> Result<LeftOut> {
        let failed = |error| self.temporary(&error);
        match rule {
            Rule::Allow => Ok(LeftOut::default()),
            Rule::First | Rule::Last => finder.left_out(rule == Rule::Last).map_err(failed),
            Rule::Error => {
                let Some(Pair { first, second }) = finder.first_pair().map_err(failed)? else {
                    return Ok(LeftOut::default());
                };
                let allow = if may { ", --duplicates allow keeps all of them" } else { "" };
                Err(self.wrong(format!(
                    "{} have the same coordinates, {}: --duplicates first or last keeps one of such rows{allow}",
                    of(first, second),
                    coordinates(second)?
                )))
            }
        }
    }

    /// Two rows, for messages.
    pub(super) fn both(&self, tables: &Tables, first: u64, second: u64) -> String {
        let (first, second) = (tables.at(first), tables.at(second));
        match (self.files(), second.strip_prefix("line ")) {
            ([_], Some(second)) => format!("{} and {second}", first.replacen("line", "lines", 1)),
            _ => format!("{first} and {second}"),
        }
    }

    /// The coordinates of a row, as they are in the file.
    pub(super) fn coordinates_at(
        &self,
        tables: &Tables,
        dimensions: &[String],
        place: u64,
    ) -> Result<String> {
        let wrong = |error: String| self.wrong(error);
        let mut found = None;
        let text = |table: &Table| {
            let row = duplicates::places(table).position(|one| one == place)?;
            let text = |name: &String| {
                let (_, cell) = table.cells(table.column(name)?).nth(row)?;
                Some(format!("{name}={}", cell.text))
            };
            Some(dimensions.iter().filter_map(text).collect::<Vec<_>>().join(", "))
        };
        // The error that stops the search is no failure.
        let searched = tables.for_each(&wrong, text, &mut |text| {
            found = text;
            if found.is_some() { Err(Failure::Usage(String::new())) } else { Ok(()) }
        });
        match found {
            Some(text) => Ok(one_line(&text)),
            None => searched.map(|()| String::new()),
        }
    }
}
