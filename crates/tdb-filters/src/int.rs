//! Dispatch from a value size or machine type to a kernel compiled for it.

/// Runs `$body` with `$T` as the unsigned integer of 1, 2, 4 or 8 bytes.
macro_rules! with_uint {
    ($size:expr, $T:ident, $body:expr) => {
        match $size {
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            8 => {
                type $T = u64;
                $body
            }
            _ => {
                type $T = u8;
                $body
            }
        }
    };
}

/// Runs `$body` with `$T` as the machine integer of a `Physical`; floats count as unsigned integers
/// of their size (integer filters are never resolved for floats).
macro_rules! with_int {
    ($physical:expr, $T:ident, $body:expr) => {
        match $physical {
            tdb_codec::Physical::I8 => {
                type $T = i8;
                $body
            }
            tdb_codec::Physical::U8 => {
                type $T = u8;
                $body
            }
            tdb_codec::Physical::I16 => {
                type $T = i16;
                $body
            }
            tdb_codec::Physical::U16 => {
                type $T = u16;
                $body
            }
            tdb_codec::Physical::I32 => {
                type $T = i32;
                $body
            }
            tdb_codec::Physical::U32 | tdb_codec::Physical::F32 => {
                type $T = u32;
                $body
            }
            tdb_codec::Physical::I64 => {
                type $T = i64;
                $body
            }
            tdb_codec::Physical::U64 | tdb_codec::Physical::F64 => {
                type $T = u64;
                $body
            }
        }
    };
}

pub(crate) use {with_int, with_uint};
