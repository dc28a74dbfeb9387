//! Numbers of things in words.

/// A number and what it counts: `1 cell`, `2 cells`.
pub(crate) fn count(number: u64, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_not_many() {
        assert_eq!([0, 1, 2].map(|number| count(number, "cell")), ["0 cells", "1 cell", "2 cells"]);
    }
}
