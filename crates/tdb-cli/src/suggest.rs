//! The place that was probably meant.

use std::path::Path;

use tdb_text::suggest::meant;

/// The beginnings of URLs of arrays.
const SCHEMES: [&str; 6] = ["s3", "az", "gs", "https", "http", "file"];

/// The end of a message about a path at which nothing is: what is next to it, or the URL that was
/// probably meant.
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
}
