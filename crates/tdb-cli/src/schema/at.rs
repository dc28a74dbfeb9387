//! A place in a JSON document, whose errors name it.

use serde_json::Value;

/// What is wrong with a document, and where: one line.
pub(crate) type Result<T> = core::result::Result<T, String>;

/// A value, and the path to it.
#[derive(Clone, Debug)]
pub(crate) struct At<'v> {
    path: String,
    pub(crate) value: &'v Value,
}

impl<'v> At<'v> {
    /// The whole document.
    pub(crate) const fn root(value: &'v Value) -> Self {
        Self { path: String::new(), value }
    }

    /// An error at this place.
    pub(crate) fn error(&self, what: impl core::fmt::Display) -> String {
        if self.path.is_empty() { what.to_string() } else { format!("{}: {what}", self.path) }
    }

    /// Refuses what is no object, and keys that mean nothing.
    pub(crate) fn object(&self, known: &[&str]) -> Result<()> {
        let object = self.value.as_object().ok_or_else(|| self.error("an object is expected"))?;
        match object.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(self.error(format!("{key:?} is not known (known are {})", known.join(", ")))),
            None => Ok(()),
        }
    }

    /// The value of a key, `null` too.
    pub(crate) fn entry(&self, key: &str) -> Option<Self> {
        let path = if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) };
        Some(Self { path, value: self.value.get(key)? })
    }

    /// The value of a key, unless it is `null`.
    pub(crate) fn get(&self, key: &str) -> Option<Self> {
        self.entry(key).filter(|entry| !entry.value.is_null())
    }

    /// The value of a key that there must be.
    pub(crate) fn need(&self, key: &str) -> Result<Self> {
        self.get(key).ok_or_else(|| self.error(format!("{key:?} is missing")))
    }

    /// The members of a list.
    pub(crate) fn items(&self) -> Result<Vec<Self>> {
        let items = self.value.as_array().ok_or_else(|| self.error("a list is expected"))?;
        let item = |(index, value)| Self { path: format!("{}[{index}]", self.path), value };
        Ok(items.iter().enumerate().map(item).collect())
    }

    /// The members of a list of a key; none if there is no such key.
    pub(crate) fn list(&self, key: &str) -> Result<Vec<Self>> {
        self.get(key).map_or(Ok(Vec::new()), |list| list.items())
    }

    pub(crate) fn text(&self) -> Result<&'v str> {
        self.value.as_str().ok_or_else(|| self.error("a string is expected"))
    }

    pub(crate) fn flag(&self) -> Result<bool> {
        self.value.as_bool().ok_or_else(|| self.error("true or false is expected"))
    }

    pub(crate) fn real(&self) -> Result<f64> {
        self.value.as_f64().ok_or_else(|| self.error("a number is expected"))
    }

    /// A whole number of a type.
    pub(crate) fn whole<T: TryFrom<i128>>(&self) -> Result<T> {
        let number = self.value.as_i64().map(i128::from).or(self.value.as_u64().map(i128::from));
        let number = number.and_then(|number| T::try_from(number).ok());
        number.ok_or_else(|| self.error(format!("{} is no whole number, or does not fit", self.value)))
    }

    /// What `parse` makes of the text.
    pub(crate) fn parsed<T>(&self, what: &str, parse: impl FnOnce(&str) -> Option<T>) -> Result<T> {
        let text = self.text()?;
        parse(text).ok_or_else(|| self.error(format!("{text:?} is no {what}")))
    }
}
