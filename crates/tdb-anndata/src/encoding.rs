//! What AnnData says of each node: `encoding-type` and `encoding-version`.

use serde_json::{Map, Value};

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoding {
    /// Nothing is said, as AnnData 0.7 does of arrays and dictionaries.
    Unsaid,
    /// An object of AnnData.
    AnnData,
    /// The matrix and the variables as they were.
    Raw,
    /// A dictionary.
    Dict,
    /// A table.
    DataFrame,
    /// Numbers, truth values or dates.
    Array,
    /// Texts.
    Texts,
    /// A sparse matrix, stored row by row.
    Csr,
    /// A sparse matrix, stored column by column.
    Csc,
    /// Categories, and the number of one for each cell.
    Categorical,
    /// Whole numbers, truth values, or texts, and which of them are missing.
    Nullable,
    /// One number, truth value or text.
    Scalar,
    /// Nothing.
    Null,
}

use Encoding::{
    AnnData, Array, Categorical, Csc, Csr, DataFrame, Dict, Null, Nullable, Raw, Scalar, Texts, Unsaid,
};

/// The encodings that are read, with their versions.
const KNOWN: [(&str, &[&str], Encoding); 16] = [
    ("anndata", &["0.1.0"], AnnData),
    ("raw", &["0.1.0"], Raw),
    ("dict", &["0.1.0"], Dict),
    // The older one has categories beside the columns.
    ("dataframe", &["0.1.0", "0.2.0"], DataFrame),
    ("array", &["0.1.0", "0.2.0"], Array),
    ("string-array", &["0.2.0"], Texts),
    ("csr_matrix", &["0.1.0"], Csr),
    ("csc_matrix", &["0.1.0"], Csc),
    ("categorical", &["0.2.0"], Categorical),
    ("nullable-integer", &["0.1.0"], Nullable),
    ("nullable-boolean", &["0.1.0"], Nullable),
    ("nullable-string-array", &["0.1.0"], Nullable),
    ("numeric-scalar", &["0.2.0"], Scalar),
    ("string", &["0.2.0"], Scalar),
    ("null", &["0.1.0"], Null),
    ("", &[""], Unsaid),
];

/// What the attributes of a node say.
pub(crate) fn encoding(attributes: &Map<String, Value>) -> Result<Encoding, String> {
    let said = |key: &str| match attributes.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text.as_str()),
        Some(other) => Err(format!("{key} is {other}, not a text")),
    };
    let (kind, release) = (said("encoding-type")?, said("encoding-version")?);
    let found = KNOWN.iter().find(|(name, ..)| *name == kind);
    let (_, versions, encoding) = found.ok_or_else(|| format!("the encoding {kind:?} is not read"))?;
    if versions.contains(&release) {
        return Ok(*encoding);
    }
    let known = versions.join(" and ");
    Err(format!("the version {release:?} of the encoding {kind:?} is not read: {known} is"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(attributes: &Value) -> Result<Encoding, String> {
        encoding(attributes.as_object().unwrap())
    }

    #[test]
    fn encodings_are_known_by_name_and_version() {
        assert_eq!(of(&json!({})), Ok(Unsaid));
        assert_eq!(of(&json!({"encoding-type": "csr_matrix", "encoding-version": "0.1.0"})), Ok(Csr));
        let error = of(&json!({"encoding-type": "awkward-array", "encoding-version": "0.1.0"})).unwrap_err();
        assert_eq!(error, "the encoding \"awkward-array\" is not read");
        let error = of(&json!({"encoding-type": "array", "encoding-version": "9"})).unwrap_err();
        assert!(error.contains("the version \"9\" of the encoding \"array\" is not read"), "{error}");
        assert!(of(&json!({"encoding-type": 7})).unwrap_err().contains("encoding-type is 7"));
    }
}
