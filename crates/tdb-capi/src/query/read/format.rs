//! How offsets of cells of variable length go to the caller.

use crate::query::offsets::OffsetsFormat;

impl OffsetsFormat {
    /// How many cells have room for their offsets in a buffer of this size.
    pub(crate) const fn cells(self, capacity: usize) -> usize {
        let offsets = capacity / self.width();
        if self.has_extra { offsets.saturating_sub(1) } else { offsets }
    }

    /// Writes an offset in bytes; `value` is the size of a value.
    fn put(self, slot: &mut [u8], offset: u64, value: u64) {
        let offset = if self.in_elements { offset.checked_div(value).unwrap_or(offset) } else { offset };
        // An offset of 32 bits that does not fit is a buffer of more than 4 GiB, which `fits`
        // refuses.
        slot.iter_mut().zip(offset.to_le_bytes()).for_each(|(to, from)| *to = from);
    }

    /// Writes the offsets of cells, which begin at `base` in their column and at `start` in the
    /// buffer.
    pub(crate) fn put_all(self, to: &mut [u8], offsets: &[u64], (base, start): (u64, u64), value: u64) {
        let moved = |offset: &u64| offset.wrapping_sub(base).wrapping_add(start);
        if self.is_wide && !self.in_elements {
            for (slot, offset) in to.as_chunks_mut::<8>().0.iter_mut().zip(offsets) {
                *slot = moved(offset).to_le_bytes();
            }
            return;
        }
        for (slot, offset) in to.chunks_exact_mut(self.width()).zip(offsets) {
            self.put(slot, moved(offset), value);
        }
    }

    /// The most bytes of values that offsets can say.
    pub(crate) const fn max_bytes(self, value: u64) -> u64 {
        let most = if !self.is_wide { u32::MAX as u64 } else { u64::MAX };
        if self.in_elements { most.saturating_mul(value) } else { most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn put(format: OffsetsFormat, value: u64) -> Vec<u8> {
        let mut bytes = vec![0xFF; format.width() * 3];
        format.put_all(&mut bytes, &[8, 16, 16], (8, 24), value);
        bytes
    }

    #[test]
    fn offsets_have_the_width_and_the_unit_of_the_configuration() {
        let mut config = Config::default();
        let wide = OffsetsFormat::of(&config).unwrap();
        assert_eq!(put(wide, 4), [24u64, 32, 32].map(u64::to_le_bytes).concat());
        config.set("sm.var_offsets.bitsize", "32").unwrap();
        config.set("sm.var_offsets.mode", "elements").unwrap();
        config.set("sm.var_offsets.extra_element", "true").unwrap();
        let narrow = OffsetsFormat::of(&config).unwrap();
        assert_eq!(put(narrow, 4), [6u32, 8, 8].map(u32::to_le_bytes).concat());
        assert_eq!((narrow.cells(12), wide.cells(24), narrow.cells(0)), (2, 3, 0));
    }
}
