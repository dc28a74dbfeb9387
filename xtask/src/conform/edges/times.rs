//! (to be written)

use super::Options;

/// Runs the part.
pub(super) fn run(_options: &Options) -> Result<(), String> {
    Err("not written yet".to_owned())
}
