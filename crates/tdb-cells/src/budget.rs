//! Amounts of memory, in common units.

use core::fmt;
use core::str::FromStr;

use thiserror::Error as ThisError;

/// The amount of memory that a query may use.
///
/// Written as a number and a unit: `2GiB`, `500 MB`, `64MiB`, `1.5g`. Units with an `i`, and single
/// letters, are powers of 1024; `kB`, `MB`, `GB` and `TB` are powers of 1000; no unit means bytes.
/// Case does not matter.
///
/// ```
/// use tdb_array::MemoryBudget;
///
/// let budget: MemoryBudget = "2GiB".parse()?;
/// assert_eq!(budget.bytes(), 2 << 30);
/// assert_eq!(budget, MemoryBudget::from_bytes(2 << 30));
/// assert_eq!("500 MB".parse::<MemoryBudget>()?.to_string(), "500 MB");
/// assert!("many".parse::<MemoryBudget>().is_err());
/// # Ok::<(), tdb_array::error::MemoryBudgetError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryBudget(u64);

/// A text that is not an amount of memory.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what the variants mean")]
pub enum MemoryBudgetError {
    #[error("\"{0}\" is not an amount of memory: write a number and a unit, such as 512MiB or 2 GB")]
    NoNumber(String),
    #[error("\"{0}\" is not a unit of memory: use B, kB, MB, GB, TB, KiB, MiB, GiB or TiB")]
    UnknownUnit(String),
    #[error("{0} is more memory than 64 bits can count")]
    TooLarge(String),
}

const BINARY: [(&str, u64); 4] = [("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
const DECIMAL: [(&str, u64); 4] =
    [("TB", 1_000_000_000_000), ("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];

impl MemoryBudget {
    /// An amount in bytes.
    #[must_use]
    pub const fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The amount in bytes.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        self.0
    }

    /// Its bytes, down to whole kibibytes.
    #[doc(hidden)]
    #[must_use]
    pub const fn whole_kibibytes(self) -> u64 {
        self.0 & !((1 << 10) - 1)
    }

    /// The next larger amount in whole kibibytes.
    #[doc(hidden)]
    #[must_use]
    pub fn in_kibibytes(bytes: u64) -> Self {
        Self(bytes.checked_next_multiple_of(1 << 10).unwrap_or(u64::MAX))
    }

    /// The next larger amount that is easy to read: at most a sixteenth more, and a whole number of
    /// kibibytes or of a larger unit.
    #[doc(hidden)]
    #[must_use]
    pub fn rounded_up(bytes: u64) -> Self {
        let step = 1u64 << (bytes / 16).max(1 << 10).ilog2();
        Self(bytes.checked_next_multiple_of(step).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for MemoryBudget {
    /// Exact: the printed text parses back to the same amount.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = |(_, size): &&(&str, u64)| self.0 != 0 && self.0.is_multiple_of(*size);
        match BINARY.iter().find(exact).or_else(|| DECIMAL.iter().find(exact)) {
            Some((name, size)) => write!(f, "{} {name}", self.0.checked_div(*size).unwrap_or(0)),
            None => write!(f, "{} B", self.0),
        }
    }
}

impl FromStr for MemoryBudget {
    type Err = MemoryBudgetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let trimmed = text.trim();
        let end = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_');
        let (number, unit) = trimmed.split_at(end.unwrap_or(trimmed.len()));
        let unit = unit.trim_start();
        let no_number = || MemoryBudgetError::NoNumber(text.to_owned());
        let size = unit_size(unit).ok_or_else(|| {
            if number.is_empty() { no_number() } else { MemoryBudgetError::UnknownUnit(unit.to_owned()) }
        })?;
        let number = number.replace('_', "");
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(no_number());
        }
        let too_large = || MemoryBudgetError::TooLarge(text.trim().to_owned());
        let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| too_large())? };
        // A fraction is rounded down to a byte; digits beyond the 15th cannot change a number of
        // bytes up to tebibytes.
        let digits = fraction.get(..fraction.len().min(15)).unwrap_or_default();
        let part: u128 = if digits.is_empty() { 0 } else { digits.parse().map_err(|_| no_number())? };
        let scale = digits.bytes().fold(1u128, |scale, _| scale * 10);
        let part = part * u128::from(size) / scale;
        let bytes = whole.checked_mul(u128::from(size)).and_then(|bytes| bytes.checked_add(part));
        bytes.and_then(|bytes| u64::try_from(bytes).ok()).map(Self).ok_or_else(too_large)
    }
}

fn unit_size(unit: &str) -> Option<u64> {
    if unit.is_empty() || unit.eq_ignore_ascii_case("b") {
        return Some(1);
    }
    // A single letter means a power of 1024, as in other tools.
    let short = |name: &str| name.get(..1).is_some_and(|letter| letter.eq_ignore_ascii_case(unit));
    let named = |name: &str| name.eq_ignore_ascii_case(unit);
    let bare = |name: &str| name.get(..2).is_some_and(|bare| bare.eq_ignore_ascii_case(unit));
    BINARY
        .iter()
        .find(|(name, _)| short(name) || named(name) || bare(name))
        .or_else(|| DECIMAL.iter().find(|(name, _)| named(name)))
        .map(|(_, size)| *size)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn bytes(text: &str) -> u64 {
        text.parse::<MemoryBudget>().unwrap().bytes()
    }

    #[test]
    fn units_of_1024_and_of_1000_are_told_apart() {
        assert_eq!(bytes("2GiB"), 2 << 30);
        assert_eq!(bytes("2gb"), 2_000_000_000);
        assert_eq!(bytes(" 500 MB "), 500_000_000);
        assert_eq!(bytes("64M"), 64 << 20);
        assert_eq!(bytes("64Mi"), 64 << 20);
        assert_eq!(bytes("1.5 KiB"), 1536);
        assert_eq!(bytes("1_000"), 1000);
        assert_eq!(bytes("7 b"), 7);
    }

    #[test]
    fn what_is_no_amount_says_why() {
        let error = |text: &str| text.parse::<MemoryBudget>().unwrap_err();
        assert!(matches!(error(""), MemoryBudgetError::NoNumber(_)));
        assert!(matches!(error("GiB"), MemoryBudgetError::NoNumber(_)));
        assert!(matches!(error("lots"), MemoryBudgetError::NoNumber(_)));
        assert!(matches!(error("."), MemoryBudgetError::NoNumber(_)));
        assert!(matches!(error("1.2.3 MB"), MemoryBudgetError::NoNumber(_)));
        assert!(matches!(error("-1 MB"), MemoryBudgetError::NoNumber(_)));
        assert!(matches!(error("3 miles"), MemoryBudgetError::UnknownUnit(_)));
        assert!(matches!(error("99999999999999 TiB"), MemoryBudgetError::TooLarge(_)));
        assert!(matches!(error(&"9".repeat(60)), MemoryBudgetError::TooLarge(_)));
    }

    proptest! {
        #[test]
        fn what_is_printed_parses_back(amount in any::<u64>(), shift in 0u32..60) {
            let budget = MemoryBudget::from_bytes(amount >> shift << (shift / 2));
            prop_assert_eq!(budget.to_string().parse::<MemoryBudget>(), Ok(budget));
        }

        #[test]
        fn rounding_up_is_up_and_not_far(amount in 1024u64..1 << 60) {
            let rounded = MemoryBudget::rounded_up(amount).bytes();
            prop_assert!(rounded >= amount && rounded - amount <= amount / 16 + 1024);
        }

        #[test]
        fn any_text_parses_or_fails(text in ".{0,40}") {
            let _ = text.parse::<MemoryBudget>();
        }
    }
}
