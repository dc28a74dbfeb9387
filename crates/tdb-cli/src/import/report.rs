//! What an import has done.

use std::io::Write;

use serde_json::{Map, Value, json};

use super::ImportArgs;
use crate::failure::{Result, one_line};
use crate::place::shown;

/// What an import has done, or would do.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// Whether the array is new.
    pub(super) is_new: bool,
    pub(super) cells: u64,
    /// The filters that were chosen, by field.
    pub(super) filters: Vec<(String, String)>,
    /// How the current domain has grown, by dimension.
    pub(super) grown: Vec<(String, String)>,
}

impl Report {
    pub(super) fn print(&self, args: &ImportArgs, out: &mut dyn Write) -> Result {
        if args.json {
            let list = |list: &[(String, String)]| -> Map<String, Value> {
                list.iter().map(|(name, text)| (name.clone(), json!(text))).collect()
            };
            let object = json!({
                "array": shown(&args.array),
                "new": self.is_new,
                "cells": self.cells,
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
        writeln!(out, "{} cells {}", self.cells, if args.dry_run { "would be written" } else { "written" })?;
        Ok(())
    }
}
