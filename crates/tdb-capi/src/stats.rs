//! Statistics: timers and counters of each context, and their text.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use crate::dump::general;
use crate::ffi::{Out, OutFile, OutText};
use crate::shared::Shared;

/// Whether the caller wants statistics. They are collected all the same, as by libtiledb: a context
/// tells them at any time.
static ENABLED: AtomicBool = AtomicBool::new(false);

/// The numbers of all contexts, as long as these last.
static ALL: Mutex<Vec<Weak<Shared<Numbers>>>> = Mutex::new(Vec::new());

#[derive(Debug, Default)]
struct Numbers {
    /// Seconds, and how often they were added.
    timers: BTreeMap<String, (f64, u32)>,
    counters: BTreeMap<String, u64>,
}

impl Numbers {
    /// The numbers as JSON, with spaces before each line; nothing if there are none.
    fn dump(&self, indent: usize) -> String {
        if self.timers.is_empty() && self.counters.is_empty() {
            return String::new();
        }
        let timer = |(name, (sum, count)): (&String, &(f64, u32))| {
            let [sum, average] = [*sum, *sum / f64::from(*count)].map(general);
            [format!("\"Context.{name}.sum\": {sum}"), format!("\"Context.{name}.avg\": {average}")]
        };
        // Names are in descending order.
        let timers: Vec<String> = self.timers.iter().rev().flat_map(timer).collect();
        let counters = self.counters.iter().rev();
        let counters: Vec<String> =
            counters.map(|(name, count)| format!("\"Context.{name}\": {count}")).collect();
        let mut text = format!("{:indent$}{{\n", "");
        for (title, lines, end) in [("timers", timers, ","), ("counters", counters, "")] {
            let inner = indent.saturating_add(2);
            // Writing to a text cannot fail.
            let _ = writeln!(text, "{:inner$}\"{title}\": {{", "");
            for (index, line) in lines.iter().enumerate() {
                let comma = if index.saturating_add(1) < lines.len() { "," } else { "" };
                let _ = writeln!(text, "{:inner$}  {line}{comma}", "");
            }
            let _ = writeln!(text, "{:inner$}}}{end}", "");
        }
        let _ = write!(text, "{:indent$}}}", "");
        text
    }
}

/// The statistics of a context, or of one of its queries. Clones have the same numbers.
#[derive(Clone, Debug)]
pub(crate) struct Stats {
    numbers: Arc<Shared<Numbers>>,
    /// The numbers of the context, in which those of a query count, too.
    parent: Option<Arc<Shared<Numbers>>>,
}

impl Stats {
    /// Those of a new context, which the statistics of the process contain.
    pub(crate) fn of_context() -> Self {
        let numbers = Arc::<Shared<Numbers>>::default();
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(&numbers));
        Self { numbers, parent: None }
    }

    /// Those of a query, or of something else of a context that tells its own.
    pub(crate) fn of_query(&self) -> Self {
        Self { numbers: Arc::default(), parent: Some(self.numbers.clone()) }
    }

    /// Adds to a counter. Its name is that of libtiledb without `Context.`.
    pub(crate) fn count(&self, name: &str, count: u64) {
        self.change(|numbers| {
            let counter = numbers.counters.entry(name.to_owned()).or_default();
            *counter = counter.saturating_add(count);
        });
    }

    /// Measures the time until the result is dropped. The name of the timer is that of libtiledb
    /// without `Context.`.
    pub(crate) fn time(&self, name: &'static str) -> Clock<'_> {
        Clock { stats: self, name, start: Instant::now() }
    }

    /// The text of all numbers; nothing if there are none.
    pub(crate) fn dump(&self) -> String {
        self.numbers.lock().dump(0)
    }

    fn change(&self, change: impl Fn(&mut Numbers)) {
        change(&mut self.numbers.lock());
        if let Some(parent) = &self.parent {
            change(&mut parent.lock());
        }
    }
}

/// A measurement that goes on.
pub(crate) struct Clock<'s> {
    stats: &'s Stats,
    name: &'static str,
    start: Instant,
}

impl Drop for Clock<'_> {
    fn drop(&mut self) {
        let seconds = self.start.elapsed().as_secs_f64();
        self.stats.change(|numbers| {
            let (sum, count) = numbers.timers.entry(self.name.to_owned()).or_default();
            *sum += seconds;
            *count = count.saturating_add(1);
        });
    }
}

/// The numbers of all contexts.
fn each(look: impl FnMut(Arc<Shared<Numbers>>)) {
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().filter_map(Weak::upgrade).for_each(look);
}

/// The text of the statistics of the process.
fn dump() -> String {
    let mut texts = Vec::new();
    each(|numbers| texts.push(numbers.lock().dump(2)));
    texts.retain(|text| !text.is_empty());
    format!("[\n{}\n]\n", texts.join(",\n"))
}

exported! {
    fn tiledb_stats_enable() -> Code for nobody {
        ENABLED.store(true, Ordering::Relaxed);
        Ok(())
    }

    fn tiledb_stats_disable() -> Code for nobody {
        ENABLED.store(false, Ordering::Relaxed);
        Ok(())
    }

    fn tiledb_stats_is_enabled(enabled: Out<u8>) -> Code for nobody {
        enabled.set(u8::from(ENABLED.load(Ordering::Relaxed)))
    }

    fn tiledb_stats_reset() -> Code for nobody {
        each(|numbers| *numbers.lock() = Numbers::default());
        Ok(())
    }

    fn tiledb_stats_dump(out: OutFile) -> Code for nobody {
        out.print_or_show(&dump())
    }

    fn tiledb_stats_dump_str(text: OutText) -> Code for nobody {
        text.give(&dump())
    }

    fn tiledb_stats_raw_dump(out: OutFile) -> Code for nobody {
        out.print_or_show(&dump())
    }

    fn tiledb_stats_raw_dump_str(text: OutText) -> Code for nobody {
        text.give(&dump())
    }

    fn tiledb_stats_free_str(text: OutText) -> Code for nobody {
        text.take_back();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_libtiledb_prints_them() {
        let mut numbers = Numbers::default();
        assert_eq!(numbers.dump(0), "");
        numbers.counters.insert("a".to_owned(), 7);
        let counters =
            "  {\n    \"timers\": {\n    },\n    \"counters\": {\n      \"Context.a\": 7\n    }\n  }";
        assert_eq!(numbers.dump(2), counters);
        numbers.timers.insert("b".to_owned(), (0.5, 2));
        numbers.counters.insert("c".to_owned(), 8);
        let timers = "{\n  \"timers\": {\n    \"Context.b.sum\": 0.5,\n    \"Context.b.avg\": 0.25\n  },\n";
        let counters = "  \"counters\": {\n    \"Context.c\": 8,\n    \"Context.a\": 7\n  }\n}";
        assert_eq!(numbers.dump(0), format!("{timers}{counters}"));
    }

    #[test]
    fn the_time_of_a_query_counts_for_its_context() {
        let context = Stats::of_context();
        let query = Stats { numbers: Arc::default(), parent: Some(context.numbers.clone()) };
        drop(query.time("t"));
        drop(context.time("t"));
        let count = |stats: &Stats| stats.numbers.lock().timers.get("t").map(|(_, count)| *count);
        assert_eq!((count(&query), count(&context)), (Some(1), Some(2)));
    }
}
