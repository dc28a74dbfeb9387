//! The options of the comparisons with other programs than libtiledb's C interface: peers, SQL,
//! Python.

use std::path::PathBuf;

/// What such a comparison is told.
#[derive(Debug)]
pub(super) struct Options {
    /// Parts of the names of the cases that are wanted; none for all.
    cases: Vec<String>,
    pub(super) rounds: usize,
    pub(super) threads: usize,
    pub(super) data: Option<PathBuf>,
    pub(super) small: bool,
    /// Leaves out what only tdb's crate for SQL answers, which takes long to build.
    pub(super) without_sql: bool,
    /// A build of tdb's side for SQL, if it is not to be built.
    pub(super) worker: Option<PathBuf>,
    pub(super) write_docs: bool,
}

impl Options {
    /// Options, of which `switches` are known besides `--write-docs`.
    pub(super) fn parse(
        args: &[String],
        rounds: usize,
        switches: &[&str],
        usage: &str,
    ) -> Result<Self, String> {
        let mut options = Self {
            cases: Vec::new(),
            rounds,
            threads: 2,
            data: None,
            small: false,
            without_sql: false,
            worker: None,
            write_docs: false,
        };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{usage}"));
            match arg.as_str() {
                "--cases" => options.cases.push(value()?.clone()),
                "--rounds" => options.rounds = super::count(arg, value()?)?,
                "--threads" => options.threads = super::count(arg, value()?)?,
                "--data" => options.data = Some(value()?.into()),
                "--write-docs" => options.write_docs = true,
                "--worker" if switches.contains(&"--worker") => options.worker = Some(value()?.into()),
                "--small" if switches.contains(&"--small") => options.small = true,
                "--without-sql" if switches.contains(&"--without-sql") => options.without_sql = true,
                _ => return Err(format!("unknown argument {arg}\n{usage}")),
            }
        }
        if options.write_docs && (!options.cases.is_empty() || options.small) {
            return Err(
                "--write-docs needs all cases in their full size: leave out --cases and --small".into()
            );
        }
        Ok(options)
    }

    /// The cases with one of the given texts in their names; fails if there are none.
    pub(super) fn chosen<C>(
        &self,
        cases: impl IntoIterator<Item = C>,
        name: impl Fn(&C) -> &str,
    ) -> Result<Vec<C>, String> {
        let wanted = |case: &C| {
            self.cases.is_empty() || self.cases.iter().any(|text| name(case).contains(text.as_str()))
        };
        let chosen: Vec<C> = cases.into_iter().filter(wanted).collect();
        if chosen.is_empty() { Err(format!("no case has {:?} in its name", self.cases)) } else { Ok(chosen) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Options, String> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        Options::parse(&args, 3, &["--small"], "usage: …")
    }

    #[test]
    fn only_what_a_comparison_knows_is_taken() {
        let options = parse("--cases a --cases b --rounds 9 --small").unwrap();
        assert_eq!((options.rounds, options.threads, options.small), (9, 2, true));
        for wrong in ["--without-sql", "--worker w", "--cases", "--rounds 0", "--threads x", "word"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_page_is_written_only_from_all_cases_in_their_full_size() {
        assert!(parse("--write-docs --rounds 3").unwrap().write_docs);
        assert!(parse("--write-docs --cases df").is_err());
        assert!(parse("--write-docs --small").is_err());
    }

    #[test]
    fn cases_are_chosen_by_parts_of_their_names() {
        let chosen = |line: &str| parse(line).unwrap().chosen(["box", "whole", "a box"], |name| name);
        assert_eq!(chosen("").unwrap().len(), 3);
        assert_eq!(chosen("--cases box").unwrap(), ["box", "a box"]);
        assert_eq!(chosen("--cases who --cases a_b").unwrap(), ["whole"]);
        assert!(chosen("--cases window").unwrap_err().contains("window"));
    }
}
