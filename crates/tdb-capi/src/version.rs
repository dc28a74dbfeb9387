//! The release of libtiledb whose functions these are.

use crate::ffi::Out;

/// Major, minor and patch of the release whose headers and behaviour the library has.
pub(crate) const VERSION: [i32; 3] = [2, 30, 0];

exported! {
    fn tiledb_version(major: Out<i32>, minor: Out<i32>, patch: Out<i32>) {
        for (out, number) in [major, minor, patch].iter().zip(VERSION) {
            // A number that the caller does not want is no failure.
            let _ = out.set(number);
        }
    }
}
