//! The page `docs/second-hour.md`, as [`first_hour`] has its own.

use crate::first_hour;

const PAGE: &str = "second-hour";

#[test]
fn the_script_has_the_commands_of_the_page() {
    first_hour::assert_script(PAGE, 200);
}

#[test]
fn the_commands_of_the_page_print_what_it_shows() {
    first_hour::assert_output(PAGE);
}
