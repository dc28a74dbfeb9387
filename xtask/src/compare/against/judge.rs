//! Decides whether a case became slower, and prints the table of results.
//!
//! One run differs from the next, and one process from another of the same program, so the ratio of
//! two times differs from 1 even if nothing changed. The size of this difference is measured, not
//! assumed. The time of a side is the median of its processes' medians. For the *spread* of a case,
//! two sides are drawn from the old processes: each time as many processes as the new program has,
//! and as many runs of each process as it had. The spread is the largest ratio of many such draws,
//! or the ratio of the two actual old sides if that is larger. A case is slower if its new time
//! exceeds the old one by more than the spread.

use super::super::table::{aligned, duration, median};

/// Number of draws for the spread of a case: of a thousand unchanged cases, only a few are reported
/// as slower.
const DRAWS: usize = 1000;

/// The times of one case, in seconds: a list for each process.
#[derive(Default)]
pub(super) struct Timed {
    pub(super) old: Vec<Vec<f64>>,
    /// Times of second processes of the old program.
    pub(super) again: Vec<Vec<f64>>,
    pub(super) new: Vec<Vec<f64>>,
    /// Whether the two programs returned different cells.
    pub(super) differs: bool,
}

/// A case with its times compared.
pub(super) struct Judged {
    pub(super) name: String,
    class: &'static str,
    old: f64,
    new: f64,
    /// At least 1.
    spread: f64,
    differs: bool,
}

impl Judged {
    /// Compares the times.
    pub(super) fn new(name: String, class: &'static str, timed: &Timed) -> Self {
        let both = [timed.old.as_slice(), &timed.again].concat();
        let mut random = Random(1);
        let mut spread = apart(time(&timed.old), time(&timed.again));
        for _ in 0..DRAWS {
            let mut draw = || {
                let drawn: Vec<Vec<f64>> = timed
                    .new
                    .iter()
                    .filter_map(|_| {
                        let process = random.choose(&both)?;
                        process.iter().map(|_| random.choose(process).copied()).collect()
                    })
                    .collect();
                time(&drawn)
            };
            spread = spread.max(apart(draw(), draw()));
        }
        Self { name, class, old: time(&both), new: time(&timed.new), spread, differs: timed.differs }
    }

    /// How many times as fast the new program is; below 1 it is slower.
    fn ratio(&self) -> f64 {
        if self.new > 0.0 { self.old / self.new } else { 1.0 }
    }

    /// Whether it is slower by more than the spread.
    pub(super) fn is_slower(&self) -> bool {
        self.ratio() * self.spread < 1.0
    }

    fn is_faster(&self) -> bool {
        self.ratio() > self.spread
    }

    /// Whether the two programs returned different cells.
    pub(super) const fn differs(&self) -> bool {
        self.differs
    }

    fn columns(&self) -> [String; 6] {
        let verdict = match self {
            Self { differs: true, .. } => "OTHER CELLS",
            _ if self.is_slower() => "SLOWER",
            _ if self.is_faster() => "faster",
            _ => "",
        };
        [
            format!("  {}", self.name),
            duration(self.old),
            duration(self.new),
            format!("{:.3}", self.ratio()),
            format!("{:.3}–{:.3}", 1.0 / self.spread, self.spread),
            verdict.to_owned(),
        ]
    }
}

/// The table: the cases of each class together, with classes in the order of their first case.
pub(super) fn text(cases: &[Judged]) -> String {
    let mut classes: Vec<&str> = Vec::new();
    for case in cases {
        if !classes.contains(&case.class) {
            classes.push(case.class);
        }
    }
    let mut lines = vec![["case", "old", "new", "old/new", "old/old", ""].map(str::to_owned)];
    for class in classes {
        let of_class: Vec<&Judged> = cases.iter().filter(|case| case.class == class).collect();
        let slower = of_class.iter().filter(|case| case.is_slower()).count();
        let verdict = if slower == 0 { String::new() } else { format!("{slower} slower") };
        let mean = format!("{:.3}", geometric_mean(of_class.iter().map(|case| case.ratio())));
        lines.push([class.to_owned(), String::new(), String::new(), mean, String::new(), verdict]);
        lines.extend(of_class.iter().map(|case| case.columns()));
    }
    aligned(&lines)
}

/// The median of the medians of processes; 0 if there are none.
fn time(processes: &[Vec<f64>]) -> f64 {
    let each: Vec<f64> = processes.iter().filter_map(|seconds| median(seconds)).collect();
    median(&each).unwrap_or(0.0)
}

/// The ratio of the longer time to the shorter one.
fn apart(one: f64, other: f64) -> f64 {
    if one > 0.0 && other > 0.0 { (one / other).max(other / one) } else { 1.0 }
}

fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = ratios.fold((0.0, 0.0), |(sum, count), ratio| (sum + ratio.ln(), count + 1.0));
    if count > 0.0 { f64::exp(sum / count) } else { 1.0 }
}

/// splitmix64: the draws are the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    fn choose<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        let count = u64::try_from(from.len()).ok()?;
        let index = self.next().checked_rem(count)?;
        from.get(usize::try_from(index).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five processes whose times jitter around `middle` by a share of it; each whole process is
    /// off by up to `own`.
    fn around(middle: f64, jitter: f64, own: f64, seed: u64) -> Vec<Vec<f64>> {
        let mut random = Random(seed);
        let steps: Vec<f64> = (-10..=10).map(|step| f64::from(step) / 10.0).collect();
        let mut off = |share: f64| 1.0 + share * random.choose(&steps).unwrap();
        (0..5)
            .map(|_| {
                let middle = middle * off(own);
                (0..10).map(|_| middle * off(jitter)).collect()
            })
            .collect()
    }

    fn judged(old: f64, new: f64, jitter: f64, own: f64) -> Judged {
        let timed = Timed {
            old: around(old, jitter, own, 2),
            again: around(old, jitter, own, 3),
            new: around(new, jitter, own, 4),
            differs: false,
        };
        Judged::new("x".to_owned(), "all", &timed)
    }

    #[test]
    fn the_same_times_again_are_neither_slower_nor_faster() {
        let case = judged(1.0, 1.0, 0.05, 0.0);
        assert!(!case.is_slower() && !case.is_faster());
        assert!(case.spread > 1.0 && case.spread < 1.07, "{}", case.spread);
    }

    #[test]
    fn a_tenth_more_is_slower_where_runs_agree_and_means_nothing_where_they_do_not() {
        assert!(judged(1.0, 1.1, 0.02, 0.0).is_slower());
        assert!(judged(1.0, 0.9, 0.02, 0.0).is_faster());
        assert!(!judged(1.0, 1.1, 0.6, 0.0).is_slower());
    }

    #[test]
    fn processes_that_differ_for_good_widen_the_spread_however_well_their_runs_agree() {
        assert!(judged(1.0, 1.15, 0.01, 0.01).is_slower());
        assert!(!judged(1.0, 1.15, 0.01, 0.3).is_slower());
    }

    #[test]
    fn the_table_groups_cases_and_marks_those_that_are_slower() {
        let mut cases = vec![judged(1.0, 2.0, 0.0, 0.0), judged(1.0, 1.0, 0.0, 0.0)];
        cases[0].name = "slow".to_owned();
        cases[1].class = "others";
        let text = text(&cases);
        let marked: Vec<bool> = text.lines().map(|line| line.ends_with("SLOWER")).collect();
        assert_eq!(marked, [false, false, true, false, false], "{text}");
        assert!(text.lines().nth(1).unwrap().starts_with("all "), "{text}");
        assert!(text.contains("1 slower") && text.contains("0.500"), "{text}");
    }
}
