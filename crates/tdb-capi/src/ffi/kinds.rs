//! What a type of argument is for C: a pointer, or a number of some size. The test of signatures
//! compares them with the table.

use super::{
    ConstantPointer, Data, Freed, In, Memory, Object, Out, OutConstant, OutData, OutFile, OutHandle,
    OutMemory, OutSize, OutText, RangePointer, Raw, StaticText, Text, Texts,
};

/// A type that an exported function may have as an argument or a result.
pub(crate) trait Kind {
    /// The word for it in the test that compares signatures.
    const KIND: &'static str;
}

macro_rules! kinds {
    ($($kind:literal: $($type:ty),*;)*) => {$($(
        impl Kind for $type {
            const KIND: &'static str = $kind;
        }
    )*)*};
}

kinds! {
    "pointer": ConstantPointer, Data, Memory, OutConstant, OutData, OutFile, OutMemory, OutSize, OutText, RangePointer, Raw, StaticText, Text, Texts;
    "u8": u8;
    "32": u32, i32;
    "u64": u64;
    "void": ();
}

macro_rules! pointers {
    ($($type:ident),*) => {$(
        impl<T: Object> Kind for $type<T> {
            const KIND: &'static str = "pointer";
        }
    )*};
}

pointers!(In, OutHandle, Freed);

impl<T> Kind for Out<T> {
    const KIND: &'static str = "pointer";
}

/// The functions that callers pass.
impl<A, B, C, D, E, R> Kind for Option<extern "C-unwind" fn(A, B, C, D, E) -> R> {
    const KIND: &'static str = "pointer";
}

impl<A, B, R> Kind for Option<extern "C-unwind" fn(A, B) -> R> {
    const KIND: &'static str = "pointer";
}

impl<A, B, C, R> Kind for Option<extern "C-unwind" fn(A, B, C) -> R> {
    const KIND: &'static str = "pointer";
}

impl<A, B, C, D, R> Kind for Option<extern "C-unwind" fn(A, B, C, D) -> R> {
    const KIND: &'static str = "pointer";
}

/// The kinds of the result and of the arguments of a function.
pub(crate) trait Signature {
    /// The result first.
    fn kinds(&self) -> Vec<&'static str>;
}

macro_rules! signatures {
    ($(($($arg:ident)*))*) => {$(
        impl<Res: Kind, $($arg: Kind),*> Signature for extern "C" fn($($arg),*) -> Res {
            fn kinds(&self) -> Vec<&'static str> {
                vec![Res::KIND, $($arg::KIND),*]
            }
        }
    )*};
}

signatures! {
    () (A) (A B) (A B C) (A B C D) (A B C D E) (A B C D E F) (A B C D E F G) (A B C D E F G H) (A B C D E F G H I)
    (A B C D E F G H I J) (A B C D E F G H I J K)
}
