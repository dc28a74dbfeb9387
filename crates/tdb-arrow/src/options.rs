//! The options of a conversion.

/// How arrays become record batches.
///
/// The defaults copy the least and lose nothing.
///
/// ```
/// use tdb_arrow::{Days, Offsets, Options};
///
/// let options = Options::new().offsets(Offsets::Small).days(Days::Date32);
/// # let _ = options;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    pub(crate) offsets: Offsets,
    pub(crate) text: Text,
    pub(crate) chars: Chars,
    pub(crate) days: Days,
    pub(crate) booleans: Booleans,
    pub(crate) enumerations: Enumerations,
}

impl Options {
    /// The defaults.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets how columns of variable length say where their cells are.
    #[must_use]
    pub const fn offsets(mut self, offsets: Offsets) -> Self {
        self.offsets = offsets;
        self
    }

    /// Sets what `STRING_ASCII` and `STRING_UTF8` of variable length become.
    #[must_use]
    pub const fn text(mut self, text: Text) -> Self {
        self.text = text;
        self
    }

    /// Sets what `CHAR` of variable length becomes.
    #[must_use]
    pub const fn chars(mut self, chars: Chars) -> Self {
        self.chars = chars;
        self
    }

    /// Sets what `DATETIME_DAY` becomes.
    #[must_use]
    pub const fn days(mut self, days: Days) -> Self {
        self.days = days;
        self
    }

    /// Sets what `BOOL` becomes.
    #[must_use]
    pub const fn booleans(mut self, booleans: Booleans) -> Self {
        self.booleans = booleans;
        self
    }

    /// Sets what enumerated attributes become.
    #[must_use]
    pub const fn enumerations(mut self, enumerations: Enumerations) -> Self {
        self.enumerations = enumerations;
        self
    }

    /// The options as one number each, for [`Self::from_codes`] of this version of the library or a
    /// later one.
    #[must_use]
    pub fn codes(self) -> [u8; 6] {
        [
            u8::from(self.offsets == Offsets::Small),
            u8::from(self.text == Text::Binary),
            u8::from(self.chars == Chars::Utf8),
            u8::from(self.days == Days::Date32),
            u8::from(self.booleans == Booleans::UInt8),
            u8::from(self.enumerations == Enumerations::Numbers),
        ]
    }

    /// The options with these [codes](Self::codes). `None` if there is none with one of them.
    ///
    /// ```
    /// use tdb_arrow::{Days, Options};
    ///
    /// let options = Options::new().days(Days::Date32);
    /// assert_eq!(Options::from_codes(options.codes()), Some(options));
    /// assert_eq!(Options::from_codes([9; 6]), None);
    /// ```
    #[must_use]
    pub fn from_codes([offsets, text, chars, days, booleans, enumerations]: [u8; 6]) -> Option<Self> {
        Some(Self {
            offsets: one_of(offsets, Offsets::Large, Offsets::Small)?,
            text: one_of(text, Text::Utf8, Text::Binary)?,
            chars: one_of(chars, Chars::Binary, Chars::Utf8)?,
            days: one_of(days, Days::Int64, Days::Date32)?,
            booleans: one_of(booleans, Booleans::Bits, Booleans::UInt8)?,
            enumerations: one_of(enumerations, Enumerations::Dictionary, Enumerations::Numbers)?,
        })
    }
}

/// The option with a code: 0 is the default.
fn one_of<T>(code: u8, default: T, other: T) -> Option<T> {
    match code {
        0 => Some(default),
        1 => Some(other),
        _ => None,
    }
}

/// Where cells of variable length begin, and how wide that is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Offsets {
    /// 64 bits: `LargeUtf8`, `LargeBinary`, `LargeList`. The offsets of the array, not copied.
    #[default]
    Large,
    /// 32 bits: `Utf8`, `Binary`, `List`, for software that does not support the large types. A
    /// column of more than 2 GiB fails.
    Small,
    /// None where there are views: `Utf8View` and `BinaryView`, which have the first bytes of each
    /// cell beside its place and compare fast. Lists have 64 bits.
    Views,
}

/// The Arrow type of text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Text {
    /// `LargeUtf8`: a cell that is not UTF-8 fails.
    #[default]
    Utf8,
    /// `LargeBinary`: any bytes.
    Binary,
}

/// The Arrow type of `CHAR`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Chars {
    /// `LargeBinary`.
    #[default]
    Binary,
    /// `LargeUtf8`, for arrays that store text in `CHAR`: a cell that is not UTF-8 fails.
    Utf8,
}

/// The Arrow type of days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Days {
    /// `Int64`, the stored values: including those that do not fit in `Date32`, such as "not a
    /// time", the fill value.
    #[default]
    Int64,
    /// `Date32`, copied: a day that does not fit fails.
    Date32,
}

/// The Arrow type of `BOOL`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Booleans {
    /// `Boolean`, one bit per value, copied: a value other than 0 and 1 fails.
    #[default]
    Bits,
    /// `UInt8`, the stored values.
    UInt8,
}

/// The Arrow type of enumerated attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Enumerations {
    /// `Dictionary`, with the stored numbers as its keys, not copied. Numbers that the enumeration
    /// does not have are null.
    #[default]
    Dictionary,
    /// The stored numbers.
    Numbers,
}
