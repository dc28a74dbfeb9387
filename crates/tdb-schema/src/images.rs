//! The images of WebP are tiles: their height and width come from the dimensions.

use tdb_codec::ArrayType;
use tdb_filters::{Filter, WebP};

use crate::{ArraySchema, Attribute, Domain, SchemaProblem};

impl ArraySchema {
    /// Sets the extents of WebP in all attributes to those of the tile, as libtiledb does when an
    /// array is created. What cannot have WebP stays as it is.
    ///
    /// # Errors
    /// [`SchemaProblem::Filters`]: a tile that is too large for the filter's options.
    pub fn set_image_extents(&mut self) -> Result<(), SchemaProblem> {
        if self.array_type != ArrayType::Dense {
            return Ok(());
        }
        self.attributes.iter_mut().try_for_each(|attribute| attribute.set_image_extents(&self.domain))
    }

    /// Whether the extents of WebP are those of the tile, where they are given: 0 says nothing.
    pub(crate) fn check_image_extents(&self) -> Result<(), SchemaProblem> {
        let mut settled = self.clone();
        settled.set_image_extents()?;
        for (own, settled) in self.attributes.iter().zip(&settled.attributes) {
            let pairs = own.filters.filters.iter().zip(&settled.filters.filters);
            for (own_filter, settled) in pairs {
                let (Filter::WebP(given), Filter::WebP(tile)) = (own_filter, settled) else { continue };
                let fits = |given: u16, tile: u16| given == 0 || given == tile;
                if !fits(given.y_extent, tile.y_extent) || !fits(given.x_extent, tile.x_extent) {
                    let reason = format!(
                        "the image of WebP is the tile: y_extent is {}, and x_extent is {}; leave them out",
                        tile.y_extent, tile.x_extent
                    );
                    return Err(SchemaProblem::Filters { field: own.name.clone(), reason });
                }
            }
        }
        Ok(())
    }
}

impl Attribute {
    /// Sets the extents of WebP to those of the tiles of a dense array: as many rows as the first
    /// dimension's extent, each of as many bytes as the second one's.
    ///
    /// # Errors
    /// As for [`ArraySchema::set_image_extents`].
    pub fn set_image_extents(&mut self, domain: &Domain) -> Result<(), SchemaProblem> {
        let [rows, bytes] = domain.dimensions.as_slice() else { return Ok(()) };
        let (Some(rows), Some(bytes)) = (rows.extent_cells(), bytes.extent_cells()) else { return Ok(()) };
        let images = self.filters.filters.iter_mut().filter_map(|filter| match filter {
            Filter::WebP(options) => Some(options),
            _ => None,
        });
        for WebP { y_extent, x_extent, .. } in images {
            let (Ok(y), Ok(x)) = (u16::try_from(rows), u16::try_from(bytes)) else {
                let reason = format!(
                    "the image of WebP is the tile, and a tile of {rows} rows of {bytes} bytes is larger than it can be"
                );
                return Err(SchemaProblem::Filters { field: self.name.clone(), reason });
            };
            (*y_extent, *x_extent) = (y, x);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tdb_codec::{CellValNum, Datatype};
    use tdb_filters::{Pipeline, PixelFormat};

    use super::*;
    use crate::Dimension;

    fn built(
        tile: (u32, u32),
        format: PixelFormat,
        extents: (u16, u16),
    ) -> Result<ArraySchema, SchemaProblem> {
        let (y_extent, x_extent) = extents;
        let image = Filter::WebP(WebP { quality: 100.0, format, lossless: true, y_extent, x_extent });
        let mut attribute = Attribute::new("a", Datatype::Uint8, CellValNum::ONE);
        attribute.filters = Pipeline::new(vec![image]);
        let schema = ArraySchema::dense().dimension(Dimension::new("y", 0u32..=1023).with_tile(tile.0));
        schema.dimension(Dimension::new("x", 0u32..=4095).with_tile(tile.1)).attribute(attribute).build()
    }

    #[test]
    fn the_extents_of_an_image_are_those_of_the_tile_in_rows_and_bytes() {
        for (format, depth) in [(PixelFormat::Rgb, 3), (PixelFormat::Bgra, 4)] {
            for (rows, pixels) in [(1, 1), (16, 16), (256, 300), (1000, 7)] {
                for given in [(0, 0), (0, pixels * depth), (rows, pixels * depth)] {
                    let tile = (u32::from(rows), u32::from(pixels * depth));
                    let schema = built(tile, format, given).unwrap();
                    let Filter::WebP(options) = &schema.attributes[0].filters.filters[0] else { panic!() };
                    assert_eq!((options.y_extent, options.x_extent), (rows, pixels * depth));
                }
            }
        }
    }

    #[test]
    fn extents_that_are_not_those_of_the_tile_are_refused_and_so_are_rows_of_half_pixels() {
        for given in [(48, 96), (0, 48), (32, 97)] {
            let error = built((32, 96), PixelFormat::Rgb, given).unwrap_err().to_string();
            assert!(error.contains("y_extent is 32") && error.contains("x_extent is 96"), "{error}");
        }
        built((32, 97), PixelFormat::Rgb, (0, 0)).unwrap_err();
        let mut schema = built((32, 96), PixelFormat::Rgb, (0, 0)).unwrap();
        schema.domain.dimensions[1] = Dimension::new("x", 0u32..=1 << 20).with_tile(70_000u32);
        let error = schema.set_image_extents().unwrap_err().to_string();
        assert!(error.contains("70000 bytes"), "{error}");
    }
}
