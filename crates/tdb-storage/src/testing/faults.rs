//! A plan of the calls of a storage that fail, and of the way in which they do.

use core::fmt;
use core::time::Duration;
use std::io;

use super::conformance::Random;

/// The operations of a storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is a function of the traits, by its name")]
pub enum CallKind {
    List,
    Size,
    Read,
    ReadTail,
    ReadInto,
    Open,
    /// One range of `read_ranges`, or of `fetch`.
    ReadRange,
    ReadVersioned,
    CreateFolder,
    CreateFile,
    Append,
    Finish,
    PutFile,
    SwapFile,
    ReplaceFile,
    Lock,
    SyncFolder,
    RemoveFile,
    RemoveFolder,
}

impl CallKind {
    /// Whether it may change what is stored.
    #[must_use]
    pub const fn is_change(self) -> bool {
        !matches!(
            self,
            Self::List
                | Self::Size
                | Self::Read
                | Self::ReadTail
                | Self::ReadInto
                | Self::Open
                | Self::ReadRange
                | Self::ReadVersioned
                | Self::Lock
        )
    }
}

/// A call of a storage. If many requests are made together, each counts as one call, so that one
/// may fail and the others not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// The operation.
    pub kind: CallKind,
    /// The file or folder.
    pub key: String,
    /// The number of calls before this one.
    pub number: u64,
    /// The number of calls of the same sort before this one: reads and locks, or changes.
    pub of_sort: u64,
}

impl Call {
    pub(super) const fn new(kind: CallKind, key: String, number: u64, of_sort: u64) -> Self {
        Self { kind, key, number, of_sort }
    }
}

/// The fault that replaces the normal answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// An error; nothing is done.
    Fail(io::ErrorKind),
    /// The operation is done, but returns an error as if it was not, as when a reply is lost.
    FailAfter(io::ErrorKind),
    /// A reply lacks this many bytes at its end, as from a storage that does not check lengths. A
    /// read into a buffer leaves as many bytes unfilled; an append omits as many bytes, and then
    /// fails. Other calls fail with [`io::ErrorKind::UnexpectedEof`].
    Short(usize),
    /// The reply is missing among those to many requests. Other calls fail with
    /// [`io::ErrorKind::UnexpectedEof`].
    Lost,
    /// The operation is done after a delay.
    Delay(Duration),
}

/// The calls that fail: a plan for a [`FaultyStorage`](super::FaultyStorage).
///
/// ```
/// use std::io::ErrorKind;
/// use tdb_array::storage::testing::{CallKind, Fault, Faults};
///
/// // The third read.
/// Faults::read(2, Fault::Short(1));
/// // The fifth change, and all later ones.
/// Faults::changes_from(4, Fault::Fail(ErrorKind::StorageFull));
/// // One call of ten, the same ones in every run.
/// Faults::random(7, 10, [Fault::Fail(ErrorKind::TimedOut), Fault::FailAfter(ErrorKind::TimedOut)]);
/// // Any other plan.
/// Faults::new(|call| (call.kind == CallKind::Lock).then_some(Fault::Fail(ErrorKind::PermissionDenied)));
/// ```
pub struct Faults(Plan);

type Plan = Box<dyn FnMut(&Call) -> Option<Fault> + Send>;

impl fmt::Debug for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Faults")
    }
}

impl Default for Faults {
    fn default() -> Self {
        Self::none()
    }
}

impl Faults {
    /// Asks `plan` about each call.
    pub fn new(plan: impl FnMut(&Call) -> Option<Fault> + Send + 'static) -> Self {
        Self(Box::new(plan))
    }

    /// No call fails.
    #[must_use]
    pub fn none() -> Self {
        Self::new(|_| None)
    }

    /// The call with this number, from 0.
    #[must_use]
    pub fn call(number: u64, fault: Fault) -> Self {
        Self::new(move |call| (call.number == number).then_some(fault))
    }

    /// The read (or lock) with this number, from 0.
    #[must_use]
    pub fn read(number: u64, fault: Fault) -> Self {
        Self::new(move |call| (!call.kind.is_change() && call.of_sort == number).then_some(fault))
    }

    /// The change with this number, from 0.
    #[must_use]
    pub fn change(number: u64, fault: Fault) -> Self {
        Self::new(move |call| (call.kind.is_change() && call.of_sort == number).then_some(fault))
    }

    /// The change with this number, from 0, and all later ones.
    #[must_use]
    pub fn changes_from(number: u64, fault: Fault) -> Self {
        Self::new(move |call| (call.kind.is_change() && call.of_sort >= number).then_some(fault))
    }

    /// The first `count` calls; later ones succeed.
    #[must_use]
    pub fn first(count: u64, fault: Fault) -> Self {
        Self::new(move |call| (call.number < count).then_some(fault))
    }

    /// On average one call of `one_in`, each with one of the faults. Both choices depend only on
    /// the seed and on the order of calls.
    #[must_use]
    pub fn random(seed: u64, one_in: u64, faults: impl Into<Vec<Fault>>) -> Self {
        let faults: Vec<Fault> = faults.into();
        let mut random = Random::new(seed);
        Self::new(move |_| {
            let number = random.below(one_in.max(1));
            let which = random.below(tdb_codec::to_u64(faults.len().max(1)));
            let which = usize::try_from(which).unwrap_or(0);
            (number == 0).then(|| faults.get(which).copied()).flatten()
        })
    }

    pub(super) fn of(&mut self, call: &Call) -> Option<Fault> {
        (self.0)(call)
    }
}
