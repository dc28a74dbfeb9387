//! Between C and Rust: what the caller's pointers mean, and the shell of each function.
//!
//! The types of arguments are as large as what C passes, and private inside, so only a caller in C
//! can make one. It promises that a pointer that is not null points to what the header says; all
//! methods rest on this promise and on nothing else.

#[macro_use]
mod shell;

mod buffers;
mod callbacks;
mod constants;
mod file;
mod guard;
mod handles;
#[cfg(test)]
mod kinds;
mod memory;
mod out;
mod ranges;
mod strings;

pub(crate) use buffers::{Data, OutData, Raw};
pub(crate) use callbacks::{EntryCallback, FileCallback, ObjectCallback, TextCallback, call_each};
pub(crate) use constants::{Constant, ConstantPointer, OutConstant};
pub(crate) use file::OutFile;
#[cfg(test)]
pub(crate) use handles::testing;
pub(crate) use handles::{Freed, In, Object, OutHandle};
#[cfg(test)]
pub(crate) use kinds::Signature;
pub(crate) use memory::{Loan, Memory, OutMemory, OutSize, UserBuffer};
pub(crate) use out::Out;
pub(crate) use ranges::RangePointer;
pub(crate) use shell::{Failure, INVALID_CONTEXT, INVALID_ERROR, Outcome, Reporter, run, run_or};
pub(crate) use strings::{OutText, StaticText, Text, Texts};
