//! The example runs.

#[expect(unreachable_pub, reason = "an example is a program; here it is a module")]
#[path = "../examples/fragment_footer.rs"]
mod fragment_footer;

#[test]
fn a_footer_is_read_by_the_crates_of_the_format_alone() {
    let done = fragment_footer::main();
    assert!(done.is_ok(), "{done:?}");
}
