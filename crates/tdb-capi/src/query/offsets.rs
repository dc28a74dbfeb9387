//! The form in which callers give the offsets of cells of variable length.

use super::failure;
use crate::config::Config;
use crate::ffi::Failure;

/// The keys `sm.var_offsets.*` of a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OffsetsFormat {
    /// Whether an offset has 64 bits, or else 32.
    pub(crate) is_wide: bool,
    /// Whether offsets count values, or else bytes.
    pub(crate) in_elements: bool,
    /// Whether there is one more offset than there are cells: the end of the last one.
    pub(crate) has_extra: bool,
}

impl OffsetsFormat {
    /// What a configuration says.
    ///
    /// # Errors
    /// It says something else than what there is.
    pub(crate) fn of(config: &Config) -> Result<Self, Failure> {
        let wrong = |what: &str| {
            failure(format!("Cannot initialize query; Unsupported offsets {what} in configuration"))
        };
        let is_wide = match config.get("sm.var_offsets.bitsize").as_deref() {
            Some("64") => true,
            Some("32") => false,
            _ => return Err(wrong("bitsize")),
        };
        let in_elements = match config.get("sm.var_offsets.mode").as_deref() {
            Some("bytes") => false,
            Some("elements") => true,
            _ => return Err(wrong("format")),
        };
        let has_extra = config.get("sm.var_offsets.extra_element").as_deref() == Some("true");
        Ok(Self { is_wide, in_elements, has_extra })
    }

    /// The bytes of an offset.
    pub(crate) const fn width(self) -> usize {
        if self.is_wide { 8 } else { 4 }
    }

    /// Where each cell of a field begins, and where the last one ends, in bytes. `value_size` is
    /// the size of a value, and `end` that of all of them.
    ///
    /// # Errors
    /// Offsets that descend, or that lie behind the values.
    pub(crate) fn starts(
        self,
        name: &str,
        given: &[u8],
        value_size: usize,
        end: usize,
    ) -> Result<Vec<u64>, Failure> {
        let wrong = |why: String| failure(format!("Invalid offsets for attribute {name}; {why}"));
        if !given.len().is_multiple_of(self.width()) {
            return Err(wrong(format!("their {} bytes are no whole number of offsets", given.len())));
        }
        let unit = if self.in_elements { crate::number(value_size) } else { 1 };
        let end = crate::number(end);
        let mut starts: Vec<u64> = Vec::with_capacity((given.len() / self.width()).saturating_add(1));
        if self.is_wide {
            starts.extend(given.as_chunks::<8>().0.iter().map(|chunk| u64::from_le_bytes(*chunk)));
        } else {
            starts.extend(given.as_chunks::<4>().0.iter().map(|chunk| u64::from(u32::from_le_bytes(*chunk))));
        }
        if unit != 1 {
            starts.iter_mut().for_each(|start| *start = start.saturating_mul(unit));
        }
        if self.has_extra {
            match starts.pop() {
                Some(last) if last == end => {}
                Some(last) => {
                    return Err(wrong(format!(
                        "the last offset: {last} is not equal to the size of the data buffer: {end}"
                    )));
                }
                None => {}
            }
        }
        if !starts.is_sorted() {
            return Err(wrong("offsets must be given in strictly ascending order.".to_owned()));
        }
        if let Some(last) = starts.last().filter(|last| **last > end) {
            return Err(wrong(format!("offset {last} specified for buffer of size {end}")));
        }
        starts.push(end);
        Ok(starts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: OffsetsFormat = OffsetsFormat { is_wide: true, in_elements: false, has_extra: false };

    fn wide(offsets: &[u64]) -> Vec<u8> {
        offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect()
    }

    #[test]
    fn offsets_are_read_in_each_form() {
        let bytes = wide(&[0, 4, 12]);
        assert_eq!(PLAIN.starts("a", &bytes, 4, 20).unwrap(), [0, 4, 12, 20]);
        let extra = OffsetsFormat { has_extra: true, ..PLAIN };
        assert_eq!(extra.starts("a", &bytes, 4, 12).unwrap(), [0, 4, 12]);
        let elements = OffsetsFormat { in_elements: true, ..PLAIN };
        assert_eq!(elements.starts("a", &wide(&[0, 1, 3]), 4, 20).unwrap(), [0, 4, 12, 20]);
        let narrow = OffsetsFormat { is_wide: false, ..PLAIN };
        assert_eq!(narrow.starts("a", &[0, 0, 0, 0, 7, 0, 0, 0], 1, 9).unwrap(), [0, 7, 9]);
        assert_eq!(PLAIN.starts("a", &[], 1, 0).unwrap(), [0]);
    }

    #[test]
    fn offsets_that_descend_or_lie_outside_are_refused() {
        let why = |format: OffsetsFormat, offsets: &[u64], end| {
            format.starts("a", &wide(offsets), 1, end).unwrap_err().text().to_owned()
        };
        assert!(why(PLAIN, &[0, 4, 3], 9).contains("strictly ascending order"));
        assert!(why(PLAIN, &[0, 4, 10], 9).contains("offset 10 specified for buffer of size 9"));
        let extra = OffsetsFormat { has_extra: true, ..PLAIN };
        assert!(why(extra, &[0, 4, 8], 9).contains("is not equal to the size of the data buffer"));
        let elements = OffsetsFormat { in_elements: true, ..PLAIN };
        assert!(elements.starts("a", &wide(&[0, u64::MAX / 2]), 8, 9).is_err());
        assert!(PLAIN.starts("a", &[0; 9], 1, 9).is_err());
    }
}
