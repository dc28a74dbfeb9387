//! The contents of arrays: bins named `factor/value`, and the number of arrays in each.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The bins of one release.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    supported: BTreeMap<String, usize>,
    /// Bins that contain arrays although the table of capabilities does not list them.
    others: BTreeMap<String, usize>,
}

impl Coverage {
    /// Empty bins: all that the release supports.
    pub(super) fn new<'a>(supported: impl Iterator<Item = &'a str>) -> Self {
        Self { supported: supported.map(|bin| (bin.to_owned(), 0)).collect(), others: BTreeMap::new() }
    }

    /// Counts one array.
    pub(super) fn add<'a>(&mut self, bins: impl Iterator<Item = &'a str>) {
        for bin in bins {
            let count = match self.supported.get_mut(bin) {
                Some(count) => count,
                None => self.others.entry(bin.to_owned()).or_default(),
            };
            *count = count.saturating_add(1);
        }
    }

    /// Supported bins without an array.
    pub(super) fn empty(&self) -> Vec<String> {
        self.supported.iter().filter(|(_, count)| **count == 0).map(|(bin, _)| bin.clone()).collect()
    }

    /// One line for each factor: filled bins of supported bins; with `bins`, also the number of
    /// arrays in each bin.
    pub(super) fn text(&self, bins: bool) -> String {
        let mut factors: BTreeMap<&str, Vec<(&str, usize)>> = BTreeMap::new();
        for (bin, count) in &self.supported {
            let (factor, value) = bin.split_once('/').unwrap_or((bin, ""));
            factors.entry(factor).or_default().push((value, *count));
        }
        let mut text = String::new();
        if bins {
            for (factor, values) in &factors {
                let counts: Vec<String> =
                    values.iter().map(|(value, count)| format!("{value}: {count}")).collect();
                let _ = writeln!(text, "    {factor}: {}", counts.join("; "));
            }
        }
        let filled = factors.iter().map(|(factor, values)| {
            let filled = values.iter().filter(|(_, count)| *count > 0).count();
            format!("{factor} {filled}/{}", values.len())
        });
        let _ = writeln!(text, "    {}", filled.collect::<Vec<_>>().join(", "));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supported_bins_are_empty_until_an_array_fills_them() {
        let mut coverage = Coverage::new(["order/row", "order/col", "filter/gzip"].into_iter());
        coverage.add(["order/row", "order/spiral"].into_iter());
        coverage.add(["order/row", "filter/gzip"].into_iter());
        assert_eq!(coverage.empty(), ["order/col"]);
        assert_eq!(coverage.text(false), "    filter 1/1, order 1/2\n");
        assert!(coverage.text(true).contains("    order: col: 0; row: 2\n"));
    }
}
