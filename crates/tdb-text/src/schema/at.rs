//! A position in a JSON document, which is included in error messages.

use tdb_codec::digits::{Real, nearest};

use crate::json::Json;
use crate::suggest::hint;

/// A value of a document, or one line with the fault and its place.
pub type Result<T> = core::result::Result<T, String>;

/// A value, and its path.
#[derive(Clone, Debug)]
pub struct At<'v> {
    path: String,
    /// The value.
    pub value: &'v Json,
}

impl<'v> At<'v> {
    /// The whole document.
    pub const fn root(value: &'v Json) -> Self {
        Self { path: String::new(), value }
    }

    /// An error at this place.
    pub fn error(&self, what: impl core::fmt::Display) -> String {
        if self.path.is_empty() { what.to_string() } else { format!("{}: {what}", self.path) }
    }

    /// Returns an error if this is not an object, or has an unknown key, or one twice.
    pub fn object(&self, known: &[&str]) -> Result<()> {
        let object = self.value.as_object().ok_or_else(|| self.error("an object is expected"))?;
        let is_repeated = |key: &str| object.iter().filter(|(other, _)| other == key).nth(1).is_some();
        if let Some(key) = known.iter().find(|key| is_repeated(key)) {
            return Err(self.error(format!("{key:?} is there twice")));
        }
        match object.iter().map(|(key, _)| key).find(|key| !known.contains(&key.as_str())) {
            Some(key) => {
                let hint = hint(key, known.iter().copied());
                let known = known.join(", ");
                Err(self.error(format!("{key:?} is not a known key (known keys: {known}){hint}")))
            }
            None => Ok(()),
        }
    }

    /// The value of a key, including `null`.
    pub fn entry(&self, key: &str) -> Option<Self> {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Some(Self { path, value: self.value.get(key)? })
    }

    /// The value of a key, unless it is `null`.
    pub fn get(&self, key: &str) -> Option<Self> {
        self.entry(key).filter(|entry| !entry.value.is_null())
    }

    /// The value of a required key.
    pub fn need(&self, key: &str) -> Result<Self> {
        self.get(key).ok_or_else(|| self.error(format!("{key:?} is missing")))
    }

    /// The elements of a list.
    pub fn items(&self) -> Result<Vec<Self>> {
        let items = self.value.as_list().ok_or_else(|| self.error("a list is expected"))?;
        let item = |(index, value)| Self { path: format!("{}[{index}]", self.path), value };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// The elements of the list at a key; empty if there is no such key.
    pub fn list(&self, key: &str) -> Result<Vec<Self>> {
        self.get(key).map_or(Ok(Vec::new()), |list| list.items())
    }

    /// A text.
    ///
    /// # Errors
    /// Anything else.
    pub fn text(&self) -> Result<&'v str> {
        self.value.as_str().ok_or_else(|| self.error("a string is expected"))
    }

    /// True or false.
    ///
    /// # Errors
    /// Anything else.
    pub fn flag(&self) -> Result<bool> {
        match self.value {
            Json::Bool(flag) => Ok(*flag),
            _ => Err(self.error("true or false is expected")),
        }
    }

    /// The real that is nearest to a number.
    ///
    /// # Errors
    /// Anything else, and a number beyond the largest real.
    pub fn real<T: Real>(&self) -> Result<T> {
        let digits = self.value.as_number().ok_or_else(|| self.error("a number is expected"))?;
        nearest(digits).map_err(|_| self.error(format!("{digits} is too large")))
    }

    /// An integer of a type.
    pub fn whole<T: TryFrom<i128>>(&self) -> Result<T> {
        let number = self.value.as_number().and_then(|digits| digits.parse::<i128>().ok());
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.error(format!("{} is not an integer, or does not fit", self.value)))
    }

    /// The text, converted by `parse`, whose errors say what is wrong.
    pub fn understood<T>(&self, parse: impl FnOnce(&str) -> Result<T>) -> Result<T> {
        parse(self.text()?).map_err(|error| self.error(error))
    }

    /// The text, converted by `parse`.
    pub fn parsed<T>(&self, what: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T> {
        let text = self.text()?;
        parse(text).ok_or_else(|| self.error(format!("{text:?} is not a valid {what}")))
    }
}
