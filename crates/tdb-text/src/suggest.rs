//! The word that was probably meant.

use strsim::damerau_levenshtein;

/// The known word that differs least from `word`, if it differs little: by one change, or in one of
/// three characters. Upper and lower case are the same here.
pub fn meant<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    let word = word.to_lowercase();
    let len = word.chars().count();
    let most = (len / 3).max(1);
    known
        .into_iter()
        .map(|other| (damerau_levenshtein(&word, &other.to_lowercase()), other))
        .filter(|(changes, other)| *changes <= most && *changes < len.min(other.chars().count()))
        .min_by_key(|(changes, _)| *changes)
        .map(|(_, other)| other)
}

/// The end of a message about a word that is not known: `; did you mean "zstd"?`, or nothing.
pub fn hint<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> String {
    meant(word, known).map_or_else(String::new, |meant| format!("; did you mean {meant:?}?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_with_a_slip_is_recognized_and_another_word_is_not() {
        let known = ["temperature", "time", "x", "Oslo"];
        assert_eq!(meant("temprature", known), Some("temperature"));
        assert_eq!(meant("Tiem", known), Some("time"));
        assert_eq!(meant("OSLO", known), Some("Oslo"));
        assert_eq!(meant("pressure", known), None);
        assert_eq!(meant("y", known), None, "a name of one letter has nothing in common with another one");
        assert_eq!(meant("", known), None);
        assert_eq!(hint("tine", known), "; did you mean \"time\"?");
        assert_eq!(hint("pressure", known), "");
    }
}
