//! The formats, and how they are recognised.

/// A format of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Parquet.
    Parquet,
    /// The file format of Arrow IPC, also called Feather: with a table of its batches at the end.
    Arrow,
    /// The stream format of Arrow IPC, which can be read and written without seeking.
    ArrowStream,
}

/// The first bytes of a Parquet file.
pub(crate) const PARQUET: &[u8] = b"PAR1";
/// The first bytes of an Arrow file; two zeros follow.
pub(crate) const ARROW: &[u8] = b"ARROW1";
/// The first bytes of each message of an Arrow stream.
pub(crate) const CONTINUATION: [u8; 4] = [0xff; 4];

impl Format {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Parquet, Self::Arrow, Self::ArrowStream];

    /// The format's name on command lines, which is also the ending of its files.
    ///
    /// ```
    /// use tdb_convert::Format;
    ///
    /// assert_eq!(Format::of_ending("feather"), Some(Format::Arrow));
    /// assert!(Format::ALL.into_iter().all(|format| Format::of_ending(format.name()) == Some(format)));
    /// ```
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::ArrowStream => "arrows",
        }
    }

    /// The format of files whose names end with a dot and this, in small letters.
    #[must_use]
    pub fn of_ending(ending: &str) -> Option<Self> {
        match ending {
            "parquet" | "pq" => Some(Self::Parquet),
            "arrow" | "feather" | "ipc" => Some(Self::Arrow),
            "arrows" => Some(Self::ArrowStream),
            _ => None,
        }
    }

    /// The format of a file that begins with these bytes; six are enough.
    ///
    /// ```
    /// use tdb_convert::Format;
    ///
    /// assert_eq!(Format::of_start(b"PAR1\x15\x00"), Some(Format::Parquet));
    /// assert_eq!(Format::of_start(b"city,price\n"), None);
    /// ```
    #[must_use]
    pub fn of_start(bytes: &[u8]) -> Option<Self> {
        match bytes {
            _ if bytes.starts_with(PARQUET) => Some(Self::Parquet),
            _ if bytes.starts_with(ARROW) => Some(Self::Arrow),
            _ if bytes.starts_with(&CONTINUATION) => Some(Self::ArrowStream),
            _ => None,
        }
    }
}
