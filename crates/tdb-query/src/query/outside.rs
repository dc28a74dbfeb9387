//! Ranges outside of domains, for callers that refuse them.

use super::Read;
use crate::Result;
use crate::plan::bounded;
use crate::ranges::{check_ends, outside_domain};

impl Read {
    /// The same query, unless one of its ranges lies wholly outside the domain of its dimension, or
    /// the current domain. Such ranges have no cells; libtiledb refuses them.
    ///
    /// # Errors
    /// A range outside the domain, or one that does not fit its dimension.
    pub fn refuse_outside(self) -> Result<Self> {
        let schema = self.array.schema();
        for (name, ranges) in &self.ranges {
            // The query itself says that there is no such dimension.
            let index = schema.domain.dimensions.iter().position(|own| own.name == *name);
            let Some(dimension) = index.and_then(|index| schema.domain.dimensions.get(index)) else {
                continue;
            };
            let current = schema.current_domain.as_ref().zip(index);
            let dimension =
                bounded(dimension, current.and_then(|(current, index)| current.ranges.get(index)));
            for range in ranges {
                if check_ends(&dimension, range.resolve(&dimension)?)?.is_none() {
                    return Err(outside_domain(&dimension).into());
                }
            }
        }
        Ok(self)
    }
}
