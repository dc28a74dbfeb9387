//! (to be written)

pub(super) const USAGE: &str = "[]";

/// Entry point of the subcommand.
pub(super) fn run(_args: &[String]) -> Result<(), String> {
    Err("not written yet".to_owned())
}
