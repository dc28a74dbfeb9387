//! The enums of the C API: their numbers, and the words for them.

use core::ffi::CStr;

use crate::ffi::{Failure, Out, OutText, Outcome, Text};

/// Numbers of an enum with the words that `…_to_str` and `…_from_str` know.
pub(crate) struct Words {
    /// The word for the enum in errors.
    name: &'static str,
    /// The numbers and their words.
    words: &'static [(u32, &'static CStr)],
}

impl Words {
    fn put(&self, number: u32, text: OutText) -> Outcome {
        match self.words.iter().find(|(known, _)| *known == number) {
            Some((_, word)) => text.put(word),
            None => {
                text.put(c"")?;
                Err(Failure::new(format!("Invalid {} {number}", self.name)))
            }
        }
    }

    fn find(&self, text: Text, number: Out<u32>) -> Outcome {
        let text = text.get("str")?;
        let found = self.words.iter().find(|(_, word)| word.to_bytes() == text.as_bytes());
        let (found, _) = found.ok_or_else(|| Failure::new(format!("Invalid {} {text}", self.name)))?;
        number.set(*found)
    }

    /// The name in the C headers, without `tiledb_` and `_t`, and the numbers with their words.
    #[cfg(test)]
    pub(crate) fn entries(&self) -> (&'static str, impl Iterator<Item = (u32, &'static str)>) {
        (self.name, self.words.iter().filter_map(|(number, word)| Some((*number, word.to_str().ok()?))))
    }

    /// The word for a number.
    pub(crate) fn word(&self, number: u32) -> Option<&'static str> {
        let found = self.words.iter().find(|(known, _)| *known == number);
        found.and_then(|(_, word)| word.to_str().ok())
    }
}

macro_rules! words {
    ($($(#[$meta:meta])* $constant:ident $name:literal: $($number:literal $word:literal),*;)*) => {
        $(
            $(#[$meta])*
            pub(crate) const $constant: Words = Words { name: $name, words: &[$(($number, $word)),*] };
        )*

        /// All of them.
        #[cfg(test)]
        pub(crate) const ALL: &[Words] = &[$($constant),*];
    };
}

words! {
    /// `tiledb_datatype_t`.
    DATATYPES "Datatype": 0 c"INT32", 1 c"INT64", 2 c"FLOAT32", 3 c"FLOAT64", 4 c"CHAR", 5 c"INT8", 6 c"UINT8",
        7 c"INT16", 8 c"UINT16", 9 c"UINT32", 10 c"UINT64", 11 c"STRING_ASCII", 12 c"STRING_UTF8",
        13 c"STRING_UTF16", 14 c"STRING_UTF32", 15 c"STRING_UCS2", 16 c"STRING_UCS4", 17 c"ANY",
        18 c"DATETIME_YEAR", 19 c"DATETIME_MONTH", 20 c"DATETIME_WEEK", 21 c"DATETIME_DAY", 22 c"DATETIME_HR",
        23 c"DATETIME_MIN", 24 c"DATETIME_SEC", 25 c"DATETIME_MS", 26 c"DATETIME_US", 27 c"DATETIME_NS",
        28 c"DATETIME_PS", 29 c"DATETIME_FS", 30 c"DATETIME_AS", 31 c"TIME_HR", 32 c"TIME_MIN", 33 c"TIME_SEC",
        34 c"TIME_MS", 35 c"TIME_US", 36 c"TIME_NS", 37 c"TIME_PS", 38 c"TIME_FS", 39 c"TIME_AS", 40 c"BLOB",
        41 c"BOOL", 42 c"GEOM_WKB", 43 c"GEOM_WKT";
    /// `tiledb_filter_type_t`.
    FILTER_TYPES "FilterType": 0 c"NONE", 1 c"GZIP", 2 c"ZSTD", 3 c"LZ4", 4 c"RLE", 5 c"BZIP2", 6 c"DOUBLE_DELTA",
        7 c"BIT_WIDTH_REDUCTION", 8 c"BITSHUFFLE", 9 c"BYTESHUFFLE", 10 c"POSITIVE_DELTA", 12 c"CHECKSUM_MD5",
        13 c"CHECKSUM_SHA256", 14 c"DICTIONARY_ENCODING", 15 c"SCALE_FLOAT", 16 c"XOR", 18 c"WEBP", 19 c"DELTA";
    /// `tiledb_filter_option_t`.
    FILTER_OPTIONS "FilterOption": 0 c"COMPRESSION_LEVEL", 1 c"BIT_WIDTH_MAX_WINDOW", 2 c"POSITIVE_DELTA_MAX_WINDOW",
        3 c"SCALE_FLOAT_BYTEWIDTH", 4 c"SCALE_FLOAT_FACTOR", 5 c"SCALE_FLOAT_OFFSET", 6 c"WEBP_QUALITY",
        7 c"WEBP_INPUT_FORMAT", 8 c"WEBP_LOSSLESS", 9 c"COMPRESSION_REINTERPRET_DATATYPE";
    /// `tiledb_layout_t`.
    LAYOUTS "Layout": 0 c"row-major", 1 c"col-major", 2 c"global-order", 3 c"unordered", 4 c"hilbert";
    /// `tiledb_array_type_t`.
    ARRAY_TYPES "ArrayType": 0 c"dense", 1 c"sparse";
    /// `tiledb_data_order_t`.
    DATA_ORDERS "DataOrder": 0 c"unordered", 1 c"increasing", 2 c"decreasing";
    /// `tiledb_encryption_type_t`.
    ENCRYPTION_TYPES "EncryptionType": 0 c"NO_ENCRYPTION", 1 c"AES_256_GCM";
    /// `tiledb_filesystem_t`.
    FILESYSTEMS "Filesystem": 0 c"HDFS", 1 c"S3", 2 c"AZURE", 3 c"GCS", 4 c"MEM";
    /// `tiledb_mime_type_t`.
    MIME_TYPES "MimeType": 0 c"AUTODETECT", 1 c"image/tiff", 2 c"application/pdf";
    /// `tiledb_object_t`.
    OBJECT_TYPES "ObjectType": 0 c"INVALID", 1 c"GROUP", 2 c"ARRAY";
    /// `tiledb_query_status_t`.
    QUERY_STATUSES "QueryStatus": 0 c"FAILED", 1 c"COMPLETED", 2 c"INPROGRESS", 3 c"INCOMPLETE", 4 c"UNINITIALIZED",
        5 c"INITIALIZED";
    /// `tiledb_query_type_t`.
    QUERY_TYPES "QueryType": 0 c"READ", 1 c"WRITE", 2 c"DELETE", 3 c"UPDATE", 4 c"MODIFY_EXCLUSIVE";
    /// `tiledb_serialization_type_t`.
    SERIALIZATION_TYPES "SerializationType": 0 c"JSON", 1 c"CAPNP";
    /// `tiledb_vfs_mode_t`.
    VFS_MODES "VFSMode": 0 c"VFS_READ", 1 c"VFS_WRITE", 2 c"VFS_APPEND";
    /// `tiledb_walk_order_t`.
    WALK_ORDERS "WalkOrder": 0 c"PREORDER", 1 c"POSTORDER";
}

macro_rules! pairs {
    ($($to:ident $from:ident $words:ident;)*) => {
        exported! {$(
            fn $to(number: u32, text: OutText) -> Code for nobody {
                $words.put(number, text)
            }

            fn $from(text: Text, number: Out<u32>) -> Code for nobody {
                $words.find(text, number)
            }
        )*}
    };
}

pairs! {
    tiledb_datatype_to_str tiledb_datatype_from_str DATATYPES;
    tiledb_filter_type_to_str tiledb_filter_type_from_str FILTER_TYPES;
    tiledb_filter_option_to_str tiledb_filter_option_from_str FILTER_OPTIONS;
    tiledb_layout_to_str tiledb_layout_from_str LAYOUTS;
    tiledb_array_type_to_str tiledb_array_type_from_str ARRAY_TYPES;
    tiledb_data_order_to_str tiledb_data_order_from_str DATA_ORDERS;
    tiledb_encryption_type_to_str tiledb_encryption_type_from_str ENCRYPTION_TYPES;
    tiledb_filesystem_to_str tiledb_filesystem_from_str FILESYSTEMS;
    tiledb_mime_type_to_str tiledb_mime_type_from_str MIME_TYPES;
    tiledb_object_type_to_str tiledb_object_type_from_str OBJECT_TYPES;
    tiledb_query_status_to_str tiledb_query_status_from_str QUERY_STATUSES;
    tiledb_query_type_to_str tiledb_query_type_from_str QUERY_TYPES;
    tiledb_serialization_type_to_str tiledb_serialization_type_from_str SERIALIZATION_TYPES;
    tiledb_vfs_mode_to_str tiledb_vfs_mode_from_str VFS_MODES;
    tiledb_walk_order_to_str tiledb_walk_order_from_str WALK_ORDERS;
}
