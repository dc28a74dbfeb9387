//! The report of an import.

use std::collections::BTreeMap;
use std::io::Write;

use serde_json::{Map, Value, json};

use super::args::ImportArgs;
use crate::count::count;
use crate::failure::{Result, one_line};
use crate::place::shown;
use crate::thresholds::MAX_LISTED_VALUES;

/// The changes that an import has made, or would make.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// Whether the array is new.
    pub(super) is_new: bool,
    pub(super) cells: u64,
    /// The rows that were left out, because others have the same coordinates.
    pub(super) left_out: u64,
    /// The values that enumerations got.
    pub(super) extended: Vec<(String, Vec<String>)>,
    /// The filters that were chosen, by field.
    pub(super) filters: Vec<(String, String)>,
    /// The new ranges of the current domain, by dimension.
    pub(super) grown: Vec<(String, String)>,
}

impl Report {
    /// Says how the array has changed before its cells are written.
    pub(super) fn print_evolution(&self, args: &ImportArgs, out: &mut dyn Write) -> Result {
        if args.json {
            return Ok(());
        }
        let [grew, got] = if args.dry_run { ["would grow", "would get"] } else { ["grew", "got"] };
        if !self.grown.is_empty() {
            let shown = self.grown.iter().map(|(name, range)| format!("{name}={range}"));
            let shown = shown.collect::<Vec<_>>().join(", ");
            writeln!(out, "the current domain {grew}: {}", one_line(&shown))?;
        }
        for (name, values) in &self.extended {
            let mut shown =
                values.iter().take(MAX_LISTED_VALUES).map(String::as_str).collect::<Vec<_>>().join(", ");
            if values.len() > MAX_LISTED_VALUES {
                shown.push_str(", …");
            }
            let count = values.len();
            writeln!(out, "{}", one_line(&format!("enumeration {name:?} {got} {count} values: {shown}")))?;
        }
        Ok(())
    }

    pub(super) fn print(&self, args: &ImportArgs, out: &mut dyn Write) -> Result {
        if args.json {
            let list = |list: &[(String, String)]| -> Map<String, Value> {
                list.iter().map(|(name, text)| (name.clone(), json!(text))).collect()
            };
            let object = json!({
                "array": shown(&args.array),
                "new": self.is_new,
                "cells": self.cells,
                "left_out": self.left_out,
                "enumerations": self.extended.iter().cloned().collect::<BTreeMap<_, _>>(),
                "filters": list(&self.filters),
                "current_domain": list(&self.grown),
                "dry_run": args.dry_run,
            });
            writeln!(out, "{object:#}")?;
            return Ok(());
        }
        for (field, filters) in &self.filters {
            writeln!(out, "{}", one_line(&format!("filters of {field}: {filters}")))?;
        }
        let (written, left) = match (args.dry_run, self.left_out) {
            (true, _) => ("would be written", "would be"),
            (false, 1) => ("written", "was"),
            (false, _) => ("written", "were"),
        };
        let left_out = match self.left_out {
            0 => String::new(),
            rows => format!("; {} {left} left out, whose coordinates another row has", count(rows, "row")),
        };
        writeln!(out, "{} {written}{left_out}", count(self.cells, "cell"))?;
        Ok(())
    }
}
