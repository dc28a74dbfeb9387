//! The outer shell of each exported function. The macros keep the names of functions with
//! `#[unsafe(no_mangle)]`, which is all that they lift the lint for.

use core::any::Any;
use core::fmt::{self, Display};
use std::panic::{self, AssertUnwindSafe};

/// The codes that functions return.
pub(crate) const OK: i32 = 0;
/// A failure whose text the caller can ask for.
pub(crate) const ERR: i32 = -1;
/// Memory was refused.
pub(crate) const OOM: i32 = -2;
/// There is no context, so no text is kept.
pub(crate) const INVALID_CONTEXT: i32 = -3;
/// There is no place for an error.
pub(crate) const INVALID_ERROR: i32 = -4;

/// Why a function failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    code: i32,
    text: String,
}

/// What the body of a function returns.
pub(crate) type Outcome = Result<(), Failure>;

impl Failure {
    /// A failure with this text.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { code: ERR, text: text.into() }
    }

    /// A failure of a part of the library, as libtiledb words it: `[TileDB::PART] Error: text`.
    pub(crate) fn of(part: &str, error: impl Display) -> Self {
        Self::new(format!("{part}: {error}"))
    }

    /// The failure of a function that is not written.
    pub(crate) fn not_supported(name: &str) -> Self {
        Self::new(format!("{name}: not supported by tdb"))
    }

    /// The code that the function returns.
    pub(crate) const fn code(&self) -> i32 {
        self.code
    }

    /// The text that the caller can ask for.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    fn of_panic(name: &str, payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no text");
        Self::new(format!("{name}: internal error: {text}"))
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<&str> for Failure {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Failure {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<tdb_array::Error> for Failure {
    fn from(error: tdb_array::Error) -> Self {
        Self::new(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let code = if error.kind() == std::io::ErrorKind::OutOfMemory { OOM } else { ERR };
        Self { code, text: error.to_string() }
    }
}

/// Where the text of a failure goes.
pub(crate) trait Reporter {
    /// Called before the function; an error is the code that it returns at once.
    fn begin(&self) -> Result<(), i32>;

    /// Keeps the failure of the function.
    fn keep(&self, failure: &Failure);
}

/// No one is told: the code is all that the caller gets.
impl Reporter for () {
    fn begin(&self) -> Result<(), i32> {
        Ok(())
    }

    fn keep(&self, _failure: &Failure) {}
}

/// Runs the body of a function that returns a code.
pub(crate) fn run(name: &str, reporter: &impl Reporter, body: impl FnOnce() -> Outcome) -> i32 {
    let caught = panic::catch_unwind(AssertUnwindSafe(|| {
        if let Err(code) = reporter.begin() {
            return code;
        }
        match body() {
            Ok(()) => OK,
            Err(failure) => {
                reporter.keep(&failure);
                failure.code()
            }
        }
    }));
    caught.unwrap_or_else(|payload| {
        let failure = Failure::of_panic(name, &*payload);
        // Keeping a text is a lock and an assignment; should that panic, the code remains.
        let _ = panic::catch_unwind(AssertUnwindSafe(|| reporter.keep(&failure)));
        ERR
    })
}

/// Runs the body of a function that returns a value, and returns `other` if it panics.
pub(crate) fn run_or<T>(other: T, body: impl FnOnce() -> T) -> T {
    panic::catch_unwind(AssertUnwindSafe(body)).unwrap_or(other)
}

/// Functions with the names and arguments of the C API:
///
/// - `fn name(ctx: Ctx, …) -> Code for ctx { … }`: the body is an [`Outcome`], whose failure goes
///   to the argument that is named behind `for`; `nobody` keeps none.
/// - `fn name(…) -> u64 { … }`: a value; the default of its type after a panic.
/// - `fn name(…) { … }`: nothing.
///
/// A name of the C API begins with `tiledb_`, as no other symbol of the library does. Each `fn` has
/// four spaces before it: so the build script finds it.
macro_rules! exported {
    () => {};
    ($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> Code for nobody $body:block $($rest:tt)*) => {
        $(#[$meta])*
        #[expect(unsafe_code, reason = "a function keeps its name only so")]
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name($($arg: $type),*) -> i32 {
            $crate::ffi::run(stringify!($name), &(), || -> $crate::ffi::Outcome { $body })
        }
        exported! { $($rest)* }
    };
    ($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> Code for $reporter:ident $body:block $($rest:tt)*) => {
        $(#[$meta])*
        #[expect(unsafe_code, reason = "a function keeps its name only so")]
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name($($arg: $type),*) -> i32 {
            $crate::ffi::run(stringify!($name), &$reporter, || -> $crate::ffi::Outcome { $body })
        }
        exported! { $($rest)* }
    };
    ($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $result:ty $body:block $($rest:tt)*) => {
        $(#[$meta])*
        #[expect(unsafe_code, reason = "a function keeps its name only so")]
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name($($arg: $type),*) -> $result {
            $crate::ffi::run_or(<$result>::default(), || $body)
        }
        exported! { $($rest)* }
    };
    ($(#[$meta:meta])* fn $name:ident($($arg:ident: $type:ty),* $(,)?) $body:block $($rest:tt)*) => {
        $(#[$meta])*
        #[expect(unsafe_code, reason = "a function keeps its name only so")]
        #[unsafe(no_mangle)]
        pub(crate) extern "C" fn $name($($arg: $type),*) {
            $crate::ffi::run_or((), || $body);
        }
        exported! { $($rest)* }
    };
}

/// Variables with the names of the C API, each a pointer to a constant.
macro_rules! exported_variables {
    ($($(#[$meta:meta])* static $name:ident: $type:ty = $value:expr;)*) => {$(
        $(#[$meta])*
        #[expect(unsafe_code, reason = "a variable keeps its name only so")]
        #[unsafe(no_mangle)]
        pub(crate) static $name: &$type = $value;
    )*};
}
