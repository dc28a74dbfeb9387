//! Names of fragments and of every other timestamped file (specification, "Timestamped name").

use core::fmt;

use tdb_codec::{FormatVersion, Gate};
use thiserror::Error as ThisError;

/// Version assumed for names of the first era, which do not contain it: the metadata file
/// distinguishes 1 from 2.
const FIRST_ERA: u32 = 2;
/// Version assumed for names of the second era: the footer distinguishes 3 from 4.
const SECOND_ERA: u32 = 4;
/// Number of hex digits of a uuid.
const UUID_DIGITS: usize = 32;

/// A name that does not have a known form.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[error("\"{0}\" is not a timestamped name")]
pub struct NameError(pub String);

/// Whether a name read from a file can only refer to a file in the folder where it is looked up: it
/// has no separators, and it is not a name such as `..` that refers to another folder. Names of
/// schemas, enumerations and data files come from files that are not trusted.
#[must_use]
pub fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0'])
}

/// Whether a name in a folder of the format begins with a dot. Other programs leave such files
/// there: macOS its `.DS_Store`, and a `._NAME` beside each file on disks that lack extended
/// attributes. They are not part of the array.
///
/// ```
/// assert!(tdb_fragment::is_hidden_name("._1_1_a") && !tdb_fragment::is_hidden_name("__1_1_a"));
/// ```
#[must_use]
pub fn is_hidden_name(name: &str) -> bool {
    name.starts_with('.')
}

/// The parts of a timestamped name.
///
/// | era | form |
/// |---|---|
/// | versions 1–2 | `__uuid_t`, consolidated `__uuid_tnow_t` (only the last number counts) |
/// | versions 3–4, and schemas and metadata of every version | `__t1_t2_uuid` |
/// | version 5 on | `__t1_t2_uuid_v` |
///
/// Times are milliseconds since 1970-01-01 UTC, in decimal and without leading zeros. A suffix
/// (`.wrt`, …) is ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimestampedName {
    /// The first and the last millisecond that the object covers, inclusive.
    pub timestamps: (u64, u64),
    /// The unique part.
    pub uuid: String,
    /// The version in the name (era 3), or the newest one of its era (a guess); `None` if this
    /// build does not read the version in the name.
    pub version: Option<FormatVersion>,
    /// Whether the name itself contains the version.
    pub states_version: bool,
    /// The wall-clock time at which a fragment of versions 1 and 2 was consolidated; it is not
    /// related to the times of its cells.
    pub consolidated_at: Option<u64>,
}

impl TimestampedName {
    /// A name in the current form: with a version for fragments and commits, without one for
    /// schemas and metadata.
    pub fn new(timestamps: (u64, u64), uuid: impl Into<String>, version: Option<FormatVersion>) -> Self {
        let (uuid, states_version) = (uuid.into(), version.is_some());
        Self { timestamps, uuid, version, states_version, consolidated_at: None }
    }

    /// The name of a fragment or commit in the form of its version's era.
    ///
    /// ```
    /// use tdb_codec::FormatVersion;
    /// use tdb_fragment::TimestampedName;
    ///
    /// let name = TimestampedName::of_fragment((10, 20), "0123", FormatVersion::OLDEST);
    /// assert_eq!(name.to_string(), "__0123_20");
    /// let name = TimestampedName::of_fragment((10, 20), "0123", FormatVersion::CURRENT);
    /// assert_eq!(name.to_string(), "__10_20_0123_22");
    /// ```
    pub fn of_fragment(timestamps: (u64, u64), uuid: impl Into<String>, version: FormatVersion) -> Self {
        let states_version = version.has(Gate::CommitFiles);
        Self { states_version, ..Self::new(timestamps, uuid, Some(version)) }
    }

    /// A unique part that sorts so many places behind the one of this name; `None` if there is
    /// none, or if this one does not have the usual form. Other writers leave more room between
    /// their names.
    ///
    /// ```
    /// use tdb_fragment::TimestampedName;
    ///
    /// let name = TimestampedName::parse("__10_20_000000000000000000000000000000ff_22")?;
    /// assert_eq!(name.unique_behind(1).unwrap(), "00000000000000000000000000000100");
    /// # Ok::<(), tdb_fragment::NameError>(())
    /// ```
    #[must_use]
    pub fn unique_behind(&self, places: u64) -> Option<String> {
        let unique = u128::from_str_radix(&self.uuid, 16).ok().filter(|_| self.uuid.len() == UUID_DIGITS)?;
        unique.checked_add(places.into()).map(|unique| format!("{unique:032x}"))
    }

    /// Parses a file or folder name.
    ///
    /// # Errors
    /// If the name has another form, or its first time is after its last.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        let bad = || NameError(name.to_owned());
        let stem = name.split_once('.').map_or(name, |(stem, _)| stem);
        let parts: Vec<&str> = stem.strip_prefix("__").ok_or_else(bad)?.split('_').collect();
        let time = |text: &str| -> Result<u64, NameError> {
            // Only digits are allowed: `parse` alone would also accept a plus sign.
            if text.bytes().all(|byte| byte.is_ascii_digit()) {
                text.parse().map_err(|_| bad())
            } else {
                Err(bad())
            }
        };
        let mut consolidated_at = None;
        let (timestamps, uuid, version, states_version) = match *parts.as_slice() {
            [t1, t2, uuid, version] => {
                let version = version.parse().map_err(|_| bad())?;
                ((time(t1)?, time(t2)?), uuid, version, true)
            }
            [t1, t2, uuid] if uuid.len() == UUID_DIGITS => ((time(t1)?, time(t2)?), uuid, SECOND_ERA, false),
            [uuid, now, t] => {
                consolidated_at = Some(time(now)?);
                ((time(t)?, time(t)?), uuid, FIRST_ERA, false)
            }
            [uuid, t] => ((time(t)?, time(t)?), uuid, FIRST_ERA, false),
            _ => return Err(bad()),
        };
        if timestamps.0 > timestamps.1 {
            return Err(bad());
        }
        let version = FormatVersion::parse(version).ok();
        Ok(Self { timestamps, uuid: uuid.to_owned(), version, states_version, consolidated_at })
    }
}

/// The name in the form of its era. A name of versions 1 and 2 contains only the last of the two
/// times.
impl fmt::Display for TimestampedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = self.timestamps;
        if self.version.is_some_and(|version| !version.has(Gate::FragmentFooter)) && !self.states_version {
            return match self.consolidated_at {
                Some(time) => write!(f, "__{}_{time}_{last}", self.uuid),
                None => write!(f, "__{}_{last}", self.uuid),
            };
        }
        write!(f, "__{first}_{last}_{}", self.uuid)?;
        match self.version {
            Some(version) if self.states_version => write!(f, "_{version}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUID: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn all_three_eras_are_told_apart() {
        let first = TimestampedName::parse(&format!("__{UUID}_1795223794158")).unwrap();
        assert_eq!((first.timestamps, first.states_version), ((1795223794158, 1795223794158), false));
        let consolidated = TimestampedName::parse(&format!("__{UUID}_1795_99")).unwrap();
        assert_eq!(consolidated.timestamps, (99, 99), "only the last number counts");
        let second = TimestampedName::parse(&format!("__5_7_{UUID}")).unwrap();
        assert_eq!((second.timestamps, second.version.unwrap().number()), ((5, 7), 4));
        let third = TimestampedName::parse(&format!("__5_7_{UUID}_12.wrt")).unwrap();
        assert_eq!((third.version.unwrap().number(), third.states_version), (12, true));
        assert_eq!(third.uuid, UUID);
    }

    #[test]
    fn names_read_back_as_written() {
        for version in [None, Some(FormatVersion::CURRENT)] {
            let text = TimestampedName::new((5, 7), UUID, version).to_string();
            assert_eq!(TimestampedName::parse(&text).unwrap().to_string(), text);
            assert_eq!(TimestampedName::parse(&text).unwrap().states_version, version.is_some());
        }
    }

    #[test]
    fn fragments_of_every_version_are_named_in_the_shape_of_its_era() {
        let shapes = [(1, "__{}_7"), (2, "__{}_7"), (3, "__5_7_{}"), (4, "__5_7_{}"), (5, "__5_7_{}_5")];
        for (number, shape) in shapes {
            let version = FormatVersion::parse(number).unwrap();
            let name = TimestampedName::of_fragment((5, 7), UUID, version).to_string();
            assert_eq!(name, shape.replace("{}", UUID));
            assert_eq!(TimestampedName::parse(&name).unwrap().to_string(), name);
        }
        let consolidated = format!("__{UUID}_1795_99");
        assert_eq!(TimestampedName::parse(&consolidated).unwrap().to_string(), consolidated);
    }

    #[test]
    fn names_that_lead_out_of_their_folder_are_not_plain() {
        for name in ["", ".", "..", "../x", "a/b", "a\\b", "a\0"] {
            assert!(!is_plain_name(name), "{name:?}");
        }
        assert!(is_plain_name("..x") && is_plain_name("__1_1_a"));
    }

    #[test]
    fn names_of_other_shapes_and_inverted_times_are_refused() {
        for name in ["", "junk", "__", "__x", "__7_5_0123_9", "__1_2_3_4_5", "__+1_2_ab_9", "__1_b_ab_9"] {
            assert_eq!(TimestampedName::parse(name), Err(NameError(name.into())), "{name}");
        }
        let future = TimestampedName::parse(&format!("__5_7_{UUID}_99")).unwrap();
        assert_eq!(future.version, None);
    }

    #[test]
    fn names_with_a_dot_in_front_are_hidden() {
        assert!(is_hidden_name(".DS_Store") && is_hidden_name("._1_1_a"));
        assert!(!is_hidden_name("__1_1_a.wrt") && !is_hidden_name(""));
    }

    #[test]
    fn a_unique_part_behind_another_counts_on_in_hexadecimal() {
        let behind = |unique: &str, places| TimestampedName::new((1, 1), unique, None).unique_behind(places);
        let zeros = "0".repeat(30);
        assert_eq!(behind(&format!("{zeros}fe"), 1), Some(format!("{zeros}ff")));
        assert_eq!(behind(&format!("{zeros}fe"), 3), Some(format!("{}101", &zeros[1..])));
        assert_eq!(behind(&"f".repeat(32), 1), None, "none is behind the last");
        assert_eq!(behind("fe", 1), None, "not the usual form");
    }
}
