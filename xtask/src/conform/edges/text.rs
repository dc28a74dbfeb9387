//! Numbers as text: into an array, its schema, its metadata and queries of it by the command, and
//! out again.
//!
//! Each round draws numbers of every type of numbers: with random bits, at limits, subnormal, near
//! powers of ten, beside the middle of two reals, with more digits than a type has. They go through
//! every [entry](ENTRIES). What comes out must be the number of the type that is nearest to what
//! was written, which Rust's own parser says.

use core::str::FromStr;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::super::built;
use super::super::random::Random;
use super::Options;
use crate::peer::scratch;

/// How many numbers an entry gets at once; a command line has room for so many.
const NUMBERS: usize = 800;

type Result<T> = core::result::Result<T, String>;
/// What comes out of an entry for these texts, in their order.
type Entry = fn(&Bench, &str, &[String]) -> Result<Vec<String>>;

const ENTRIES: [(&str, Entry); 8] = [
    ("import of CSV", |bench, kind, texts| bench.imported(kind, "csv", texts)),
    ("import of NDJSON", |bench, kind, texts| bench.imported(kind, "ndjson", texts)),
    ("coordinates", Bench::coordinates),
    ("points", Bench::points),
    ("conditions", Bench::conditions),
    ("schemas", Bench::enumerated),
    ("evolve", Bench::extended),
    ("metadata", Bench::metadata),
];

/// The types of numbers, and the limits of those that are integers.
const KINDS: [(&str, i128, i128); 10] = [
    ("FLOAT32", 0, 0),
    ("FLOAT64", 0, 0),
    ("INT8", -128, 127),
    ("UINT8", 0, 255),
    ("INT16", -32_768, 32_767),
    ("UINT16", 0, 65_535),
    ("INT32", -2_147_483_648, 2_147_483_647),
    ("UINT32", 0, 4_294_967_295),
    ("INT64", -9_223_372_036_854_775_808, 9_223_372_036_854_775_807),
    ("UINT64", 0, 18_446_744_073_709_551_615),
];

/// Runs the part.
pub(super) fn run(options: &Options) -> Result<()> {
    let tdb = built::tdb(options.tdb.clone(), "")?;
    let begin = Instant::now();
    let (mut seed, mut tried, mut wrong) = (options.seed, 0usize, BTreeMap::<String, usize>::new());
    loop {
        let mut random = Random::new(seed);
        for (kind, low, high) in KINDS {
            let texts = texts(&mut random, kind, low, high);
            for (name, entry) in ENTRIES {
                let bench = Bench::new(&tdb)?;
                let found = entry(&bench, kind, &texts)
                    .map_err(|error| format!("seed {seed}, {kind}, {name}: {error}"))?;
                tried = tried.saturating_add(texts.len());
                let places =
                    texts.iter().map(Some).zip(found.iter().map(Some).chain(core::iter::repeat(None)));
                for (text, out) in places {
                    let (text, out) =
                        (text.map_or("", String::as_str), out.map_or("nothing", String::as_str));
                    if same(kind, text, out) {
                        continue;
                    }
                    let count = wrong.entry(format!("{kind}, {name}")).or_default();
                    *count = count.saturating_add(1);
                    if *count <= 3 {
                        println!("seed {seed}, {kind}, {name}: {text} came out as {out}");
                    }
                }
            }
        }
        past_64_bits(&mut random, &tdb).map_err(|error| format!("seed {seed}: {error}"))?;
        if begin.elapsed() >= options.time {
            break;
        }
        seed = seed.wrapping_add(1);
    }
    println!(
        "{tried} numbers as text, seeds {} to {seed}: {} unexplained",
        options.seed,
        wrong.values().sum::<usize>()
    );
    if wrong.is_empty() { Ok(()) } else { Err(format!("numbers changed: {wrong:?}")) }
}

/// Whether a text that came out is the number that went in, in a type.
fn same(kind: &str, text: &str, out: &str) -> bool {
    match kind {
        "FLOAT32" => bits(text, f32::to_bits) == bits(out, f32::to_bits),
        "FLOAT64" => bits(text, f64::to_bits) == bits(out, f64::to_bits),
        _ => text == out,
    }
}

fn bits<T: FromStr, B>(text: &str, of: fn(T) -> B) -> Option<B> {
    text.parse().ok().map(of)
}

/// Texts of different numbers of a type, each of another number, without zeros of both signs, which
/// are equal.
fn texts(random: &mut Random, kind: &str, low: i128, high: i128) -> Vec<String> {
    let mut found = BTreeMap::new();
    for _ in 0..NUMBERS {
        let text = match kind {
            "FLOAT32" | "FLOAT64" => real(random, kind == "FLOAT64"),
            _ => integer(random, low, high).to_string(),
        };
        // Domains of coordinates end before the largest reals, whose distance is no real.
        let most = if kind == "FLOAT32" { 1e30 } else { 1e300 };
        let is_good = text.parse::<f64>().is_ok_and(|value| value != 0.0 && value.abs() < most);
        let key = match kind {
            "FLOAT32" => bits(&text, f32::to_bits).filter(|bits| bits << 1 != 0).map(u64::from),
            "FLOAT64" => bits(&text, f64::to_bits).filter(|bits| bits << 1 != 0),
            _ => text.parse::<i128>().ok().map(|value| u64::from_le_bytes(first_bytes(value))),
        };
        let is_integer = !matches!(kind, "FLOAT32" | "FLOAT64");
        if let Some(key) = key.filter(|_| is_integer || (is_good && text.contains(['.', 'e']))) {
            found.insert(key, text);
        }
    }
    found.into_values().collect()
}

fn first_bytes(value: i128) -> [u8; 8] {
    let bytes = value.to_le_bytes();
    bytes.first_chunk().copied().unwrap_or_default()
}

fn integer(random: &mut Random, low: i128, high: i128) -> i128 {
    // The largest domain of a type is without its last values.
    let (low, high) = (low.saturating_add(i128::from(low < 0)), high.saturating_sub(1));
    let length = high.saturating_sub(low).saturating_add(1);
    match random.below(4) {
        0 => low.saturating_add(i128::from(random.below(3))),
        1 => high.saturating_sub(i128::from(random.below(3))),
        _ => low.saturating_add(i128::from(random.next()).checked_rem(length).unwrap_or(0)),
    }
}

fn real(random: &mut Random, is_double: bool) -> String {
    let double = f64::from_bits(random.next());
    let single = f32::from_bits(u32::try_from(random.below(1 << 32)).unwrap_or(0));
    let power = i64::try_from(random.below(60)).unwrap_or(0).saturating_sub(30);
    match (random.below(5), is_double) {
        (0, true) => format!("{double:?}"),
        (0, false) => format!("{single:?}"),
        (1, true) => format!("{double:.40e}"),
        (1, false) | (2, false) => beside_a_middle(random, single),
        (2, true) => format!("{:e}", f64::from_bits(random.below(1 << 52))),
        (3, _) => format!("{}e{power}", random.below(1_000_000)),
        _ => format!("{}.{:025}e{power}", random.below(10), random.next()),
    }
}

/// A number just beside the middle of two neighbours of FLOAT32, which is the middle for FLOAT64.
fn beside_a_middle(random: &mut Random, value: f32) -> String {
    let middle = (f64::from(value) + f64::from(value.next_up())) / 2.0;
    let digits = format!("{middle:.160}");
    let digits = digits.trim_end_matches('0');
    match digits.strip_suffix('5') {
        Some(start) if random.one_in(2) => format!("{start}4999999999999"),
        _ => format!("{digits}0000000000001"),
    }
}

/// Integers past 64 bits, and numbers beyond the largest real, are text in a new array: as they are
/// written.
fn past_64_bits(random: &mut Random, tdb: &Path) -> Result<()> {
    let digits = random.length(20, 60);
    let number: String = (0..digits)
        .map(|_| char::from(b'1'.saturating_add(u8::try_from(random.below(9)).unwrap_or(0))))
        .collect();
    for texts in [
        vec![number.clone()],
        vec!["-1".to_owned(), "18446744073709551615".to_owned()],
        vec![format!("{number}e999")],
    ] {
        for ending in ["csv", "ndjson"] {
            let bench = Bench::new(tdb)?;
            let said = bench.import(ending, &texts, &[])?;
            if bench.column()? != texts || !said.contains("becomes text") {
                return Err(format!("{texts:?} in {ending} is not text: {said}"));
            }
        }
    }
    Ok(())
}

/// A folder for one entry.
struct Bench {
    tdb: PathBuf,
    folder: PathBuf,
}

impl Drop for Bench {
    fn drop(&mut self) {
        // What is left lies in the folder for temporary files.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Bench {
    fn new(tdb: &Path) -> Result<Self> {
        let folder = scratch("edges-text");
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Self { tdb: tdb.to_owned(), folder })
    }

    fn write(&self, name: &str, contents: &str) -> Result<()> {
        fs::write(self.folder.join(name), contents).map_err(|error| format!("{name}: {error}"))
    }

    /// Runs the command in the folder; returns what it prints, and what it says on standard error.
    fn tdb(&self, args: &[&str]) -> Result<(String, String)> {
        let ran = Command::new(&self.tdb).args(args).current_dir(&self.folder).stdin(Stdio::null()).output();
        let ran = ran.map_err(|error| format!("{}: {error}", self.tdb.display()))?;
        let [out, err] = [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let shown: String = args.join(" ").chars().take(200).collect();
        if ran.status.success() { Ok((out, err)) } else { Err(format!("{shown}: {err}")) }
    }

    /// Imports a column `a` of these texts, and the number of each as column `i`; returns what is
    /// said on standard error.
    fn import(&self, ending: &str, texts: &[String], more: &[&str]) -> Result<String> {
        let rows = texts.iter().enumerate();
        let (name, contents) = match ending {
            "csv" => ("x.csv", rows.map(|(row, text)| format!("{text},{row}\n")).collect::<String>()),
            _ => ("x.ndjson", rows.map(|(row, text)| format!("{{\"a\":{text},\"i\":{row}}}\n")).collect()),
        };
        self.write(name, &if ending == "csv" { format!("a,i\n{contents}") } else { contents })?;
        Ok(self.tdb(&[&["import", "array", name], more].concat())?.1)
    }

    /// The column `a`, in the order of the texts.
    fn column(&self) -> Result<Vec<String>> {
        let (out, _) = self.tdb(&["read", "array", "--fields", "a,i", "--format", "csv"])?;
        let cells = out.lines().skip(1).filter_map(|line| line.rsplit_once(','));
        let mut cells: Vec<(usize, String)> =
            cells.filter_map(|(text, row)| Some((row.parse().ok()?, text.to_owned()))).collect();
        cells.sort();
        Ok(cells.into_iter().map(|(_, text)| text).collect())
    }

    fn imported(&self, kind: &str, ending: &str, texts: &[String]) -> Result<Vec<String>> {
        self.import(ending, texts, &["--types", &format!("a={kind}")])?;
        self.column()
    }

    fn coordinates(&self, kind: &str, texts: &[String]) -> Result<Vec<String>> {
        self.import("ndjson", texts, &["--types", &format!("a={kind}"), "--dims", "a"])?;
        self.column()
    }

    /// Each text, if it finds its cell.
    fn points(&self, kind: &str, texts: &[String]) -> Result<Vec<String>> {
        self.import("csv", texts, &["--types", &format!("a={kind}"), "--dims", "a"])?;
        self.write("points.txt", &texts.join("\n"))?;
        self.found(&["--points", "a=@points.txt"], texts)
    }

    fn conditions(&self, kind: &str, texts: &[String]) -> Result<Vec<String>> {
        self.import("csv", texts, &["--types", &format!("a={kind}")])?;
        self.found(&["--where", &format!("a in ({})", texts.join(", "))], texts)
    }

    /// Each text whose cell is found.
    fn found(&self, options: &[&str], texts: &[String]) -> Result<Vec<String>> {
        let read = ["read", "array", "--fields", "i", "--format", "csv"];
        let (out, _) = self.tdb(&[&read, options].concat())?;
        let rows: Vec<usize> = out.lines().skip(1).filter_map(|row| row.parse().ok()).collect();
        let one = |(row, text): (usize, &String)| {
            if rows.contains(&row) { text.clone() } else { "nothing".to_owned() }
        };
        Ok(texts.iter().enumerate().map(one).collect())
    }

    fn create(&self, kind: &str, texts: &[String]) -> Result<()> {
        let schema = format!(
            "{{\"type\":\"sparse\",\"dimensions\":[{{\"name\":\"i\",\"datatype\":\"INT64\",\"domain\":[0,9]}}],\
              \"attributes\":[{{\"name\":\"a\",\"datatype\":\"INT32\",\"enumeration\":\"e\"}}],\
              \"enumerations\":[{{\"name\":\"e\",\"datatype\":\"{kind}\",\"values\":[{}]}}]}}",
            texts.join(",")
        );
        self.write("schema.json", &schema)?;
        self.tdb(&["create", "array", "--schema", "schema.json"]).map(|_| ())
    }

    /// The values of the enumeration.
    fn values(&self) -> Result<Vec<String>> {
        let (out, _) = self.tdb(&["info", "array", "--json"])?;
        items_behind(&out, "\"enumerations\"").and_then(|rest| items(rest, "\"values\"")).ok_or(out)
    }

    fn enumerated(&self, kind: &str, texts: &[String]) -> Result<Vec<String>> {
        self.create(kind, texts)?;
        self.values()
    }

    fn extended(&self, kind: &str, texts: &[String]) -> Result<Vec<String>> {
        self.create(kind, &[])?;
        self.tdb(&["evolve", "array", "--extend-enum", &format!("e={}", texts.join(","))])?;
        self.values()
    }

    fn metadata(&self, kind: &str, texts: &[String]) -> Result<Vec<String>> {
        self.create(kind, &[])?;
        let values: Vec<&str> = texts.iter().map(String::as_str).collect();
        self.tdb(&[&["meta", "set", "array", "--type", kind, "k", "--"], &values[..]].concat())?;
        let (out, _) = self.tdb(&["meta", "get", "array", "k", "--json"])?;
        items(&out, "\"value\"").ok_or(out)
    }
}

/// What is behind a key in JSON.
fn items_behind<'t>(json: &'t str, key: &str) -> Option<&'t str> {
    json.split_once(key).map(|(_, behind)| behind)
}

/// The numbers of the list at a key in JSON, as they are printed: no reader of JSON may change
/// them.
fn items(json: &str, key: &str) -> Option<Vec<String>> {
    let (_, list) = items_behind(json, key)?.split_once('[')?;
    let (list, _) = list.split_once(']')?;
    Some(list.split(',').map(|item| item.trim().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_of_different_numbers_of_the_type() {
        let mut random = Random::new(1);
        for (kind, low, high) in KINDS {
            let texts = texts(&mut random, kind, low, high);
            assert!(texts.len() > 100, "{kind}: {}", texts.len());
            for text in &texts {
                assert!(same(kind, text, text), "{kind}: {text}");
            }
        }
        assert!(
            same("FLOAT32", "0.1", "0.10000000149011612") && !same("FLOAT64", "0.1", "0.10000000149011612")
        );
        assert!(!same("FLOAT64", "0.1", "nothing") && !same("INT8", "1", "2"));
    }

    #[test]
    fn lists_are_taken_out_of_json_as_they_are_printed() {
        assert_eq!(
            items("{\"a\": 1,\n \"value\": [\n  1.50,\n  -0\n ]}", "\"value\""),
            Some(vec!["1.50".into(), "-0".into()])
        );
        assert_eq!(items("{}", "\"value\""), None);
    }
}
