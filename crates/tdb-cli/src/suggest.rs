//! The word that was probably meant.

use std::path::Path;

use strsim::damerau_levenshtein;

/// The beginnings of URLs of arrays.
const SCHEMES: [&str; 6] = ["s3", "az", "gs", "https", "http", "file"];

/// The known word that differs least from `word`, if it differs little: by one change, or in one of three characters.
/// Upper and lower case are the same here.
pub(crate) fn meant<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
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
pub(crate) fn hint<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> String {
    meant(word, known).map_or_else(String::new, |meant| format!("; did you mean {meant:?}?"))
}

/// The same for a path at which nothing is: what is next to it, or the URL that was probably meant.
pub(crate) fn hint_of_place(path: &Path) -> String {
    let Some(text) = path.to_str() else { return String::new() };
    let url = SCHEMES.into_iter().find_map(|scheme| {
        let rest =
            text.strip_prefix(scheme).filter(|rest| rest.starts_with(':') || rest.starts_with("//"))?;
        Some(format!("{scheme}://{}", rest.trim_start_matches([':', '/'])))
    });
    if let Some(url) = url {
        return format!("; did you mean {url:?}?");
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else {
        return String::new();
    };
    let here = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let entries = std::fs::read_dir(here).into_iter().flatten().flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let there = meant(name, names.iter().map(String::as_str));
    there.map_or_else(String::new, |there| format!("; did you mean {:?}?", folder.join(there)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_anything_is_answered_with_its_neighbour_or_a_url() {
        assert_eq!(hint_of_place(Path::new("s3:/bucket/array")), "; did you mean \"s3://bucket/array\"?");
        assert_eq!(hint_of_place(Path::new("https//host/array")), "; did you mean \"https://host/array\"?");
        assert_eq!(hint_of_place(Path::new("Cargo.tmol")), "; did you mean \"Cargo.toml\"?");
        assert_eq!(hint_of_place(Path::new("./scr")), "; did you mean \"./src\"?");
        assert_eq!(hint_of_place(Path::new("/no/such/array")), "");
    }

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
