//! The values that a key takes.

/// What a key takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Any text.
    Any,
    /// `true` or `false`.
    Bool,
    /// A number without a sign, of 32 bits.
    U32,
    /// A number without a sign, of 64 bits.
    U64,
    /// A number of 64 bits.
    I64,
    /// A real number.
    F32,
    /// One of these words.
    Words(&'static [&'static str]),
}

impl Takes {
    /// Checks the value of a key.
    ///
    /// # Errors
    /// The key does not take it; the text says which type it has.
    pub(super) fn check(self, key: &str, value: &str) -> Result<(), String> {
        let (fits, name) = match self {
            Self::Any => return Ok(()),
            Self::Bool => {
                let fits = ["true", "false"].iter().any(|word| value.eq_ignore_ascii_case(word));
                (fits, "bool")
            }
            Self::U32 => (value.parse::<u32>().is_ok(), "uint32_t"),
            Self::U64 => (value.parse::<u64>().is_ok(), "uint64_t"),
            Self::I64 => (value.parse::<i64>().is_ok(), "int64_t"),
            Self::F32 => (value.parse::<f32>().is_ok(), "float32_t"),
            Self::Words(words) => {
                if words.contains(&value) {
                    return Ok(());
                }
                return Err(format!("Invalid value '{value}' of parameter '{key}'"));
            }
        };
        if fits {
            Ok(())
        } else {
            Err(format!("Failed to convert string '{value}' to {name}; Invalid argument"))
        }
    }
}
