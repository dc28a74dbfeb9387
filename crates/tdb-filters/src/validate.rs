//! Checks for newly created pipelines. Pipelines from files are not checked: they can be parsed and
//! written with any options, and decoding rejects only what it cannot do.

use tdb_codec::{Datatype, DatatypeClass, to_u64};

use crate::error::{Error, ErrorKind, Kind};
use crate::filter::{PixelFormat, ScaleFloat, WebP};
use crate::step::Plan;
use crate::webp::Image;
use crate::{ByteWidth, Filter, Pipeline, TileContext};

/// The allowed range of a WebP image's quality.
const QUALITY: core::ops::RangeInclusive<f32> = 0.0..=100.0;

impl Filter {
    /// zlib streams. `level` is 0 to 9, or negative for zlib's default.
    ///
    /// ```
    /// use tdb_filters::{Filter, Pipeline};
    ///
    /// let pipeline = Pipeline::new(vec![Filter::bit_width_reduction(256)?, Filter::gzip(6)?]);
    /// assert_eq!(pipeline.filters[1], Filter::Gzip { level: 6 });
    /// let error = Filter::gzip(10).unwrap_err();
    /// assert!(error.to_string().starts_with("filter 'gzip' has the option value 10, which is out of range"));
    /// # Ok::<(), tdb_filters::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the level is over 9.
    pub fn gzip(level: i32) -> Result<Self, Error> {
        Self::Gzip { level }.checked()
    }

    /// Zstandard frames. `level` is −7 to 22.
    ///
    /// # Errors
    /// If the level is outside that range; libtiledb would then use another level than the one it
    /// stores.
    pub fn zstd(level: i32) -> Result<Self, Error> {
        Self::Zstd { level }.checked()
    }

    /// bzip2 streams. `level` is up to 9; below 1 counts as 1.
    ///
    /// # Errors
    /// If the level is over 9.
    pub fn bzip2(level: i32) -> Result<Self, Error> {
        Self::Bzip2 { level }.checked()
    }

    /// Integers as narrow offsets from the minimum of their window of `max_window` bytes.
    ///
    /// # Errors
    /// If the window is empty.
    pub fn bit_width_reduction(max_window: u32) -> Result<Self, Error> {
        Self::BitWidthReduction { max_window }.checked()
    }

    /// Differences between values that never decrease, in windows of `max_window` bytes.
    ///
    /// # Errors
    /// If the window is empty.
    pub fn positive_delta(max_window: u32) -> Result<Self, Error> {
        Self::PositiveDelta { max_window }.checked()
    }

    /// Differences, in the values' own type or in `reinterpret`.
    ///
    /// # Errors
    /// If `reinterpret` is a float, or `ANY`, which means no type.
    pub fn delta(reinterpret: Option<Datatype>) -> Result<Self, Error> {
        Self::Delta { level: -1, reinterpret }.checked()
    }

    /// Differences of differences, in the values' own type or in `reinterpret`.
    ///
    /// # Errors
    /// As [`Self::delta`].
    pub fn double_delta(reinterpret: Option<Datatype>) -> Result<Self, Error> {
        Self::DoubleDelta { level: -1, reinterpret }.checked()
    }

    /// Floats as integers of `byte_width` bytes: `(value − offset) / scale`, rounded.
    ///
    /// # Errors
    /// If the scale is zero, or the scale or the offset is not finite.
    pub fn scale_float(scale: f64, offset: f64, byte_width: ByteWidth) -> Result<Self, Error> {
        Self::ScaleFloat(ScaleFloat { scale, offset, byte_width }).checked()
    }

    /// Lossless images, in tiles of `y_extent` rows of `x_extent` bytes.
    ///
    /// # Errors
    /// If a row is empty or is not a whole number of pixels of `format`.
    pub fn webp_lossless(format: PixelFormat, y_extent: u16, x_extent: u16) -> Result<Self, Error> {
        Self::WebP(WebP { quality: 100.0, format, lossless: true, y_extent, x_extent }).checked()
    }

    /// Lossy images with a quality from 0 to 100, in tiles of `y_extent` rows of `x_extent` bytes.
    ///
    /// # Errors
    /// If a row is empty or is not a whole number of pixels of `format`, or if the quality is out
    /// of range.
    pub fn webp_lossy(
        quality: f32,
        format: PixelFormat,
        y_extent: u16,
        x_extent: u16,
    ) -> Result<Self, Error> {
        Self::WebP(WebP { quality, format, lossless: false, y_extent, x_extent }).checked()
    }

    fn checked(self) -> Result<Self, Error> {
        match self.check() {
            Ok(()) => Ok(self),
            Err(kind) => Err(self.error(kind, 1, 1)),
        }
    }

    fn error(&self, kind: ErrorKind, position: usize, count: usize) -> Error {
        Error { filter: self.name(), code: self.code(), position, count, kind }
    }

    /// Checks that the options make sense.
    fn check(&self) -> Kind<()> {
        let out_of_range = |value: i32| Err(ErrorKind::InvalidOption { value: i64::from(value) });
        match self {
            Self::Gzip { level: level @ 10.. } | Self::Bzip2 { level: level @ 10.. } => out_of_range(*level),
            Self::Zstd { level } if !(-7..=22).contains(level) => out_of_range(*level),
            Self::BitWidthReduction { max_window: 0 } | Self::PositiveDelta { max_window: 0 } => {
                out_of_range(0)
            }
            Self::Delta { reinterpret: Some(datatype), .. }
            | Self::DoubleDelta { reinterpret: Some(datatype), .. }
                if matches!(datatype.class(), DatatypeClass::Real | DatatypeClass::Any) =>
            {
                Err(ErrorKind::InputType { datatype: *datatype })
            }
            Self::ScaleFloat(ScaleFloat { scale, offset, .. })
                if *scale == 0.0 || !scale.is_finite() || !offset.is_finite() =>
            {
                Err(ErrorKind::BadOption {
                    reason: "a scale of zero, or a scale or offset that is not finite",
                })
            }
            Self::WebP(options) => {
                if Image::new(options)?.is_too_large() {
                    return Err(ErrorKind::BadOption { reason: "an image of more than 16383 pixels a side" });
                }
                if !options.lossless && !QUALITY.contains(&options.quality) {
                    return Err(ErrorKind::BadOption { reason: "a quality outside 0 to 100" });
                }
                Ok(())
            }
            Self::Aes256Gcm => {
                Err(ErrorKind::BadOption { reason: "encryption is enabled by a key, not by a filter" })
            }
            Self::Unknown { code, .. } => Err(ErrorKind::UnknownFilter { code: *code }),
            _ => Ok(()),
        }
    }

    /// Checks that the filter is meant for values of `datatype`.
    fn check_type(&self, datatype: Datatype) -> Kind<()> {
        match self {
            // Decoding accepts any type that has the size of a float, as libtiledb does. Encoding
            // integers as if they were floats would destroy them.
            Self::ScaleFloat(_) if !datatype.physical().is_float() => Err(ErrorKind::InputType { datatype }),
            Self::BitWidthReduction { max_window } | Self::PositiveDelta { max_window }
                if u64::from(*max_window) < to_u64(datatype.size()) =>
            {
                Err(ErrorKind::InvalidOption { value: i64::from(*max_window) })
            }
            _ => Ok(()),
        }
    }
}

impl Pipeline {
    /// Checks that the pipeline makes sense for tiles of `context`. Call it when creating a schema:
    /// libtiledb may reject, or crash on, a file with a pipeline that fails this check.
    ///
    /// ```
    /// use tdb_filters::{Datatype, Filter, FormatVersion, Pipeline, TileContext};
    ///
    /// let pipeline = Pipeline::new(vec![Filter::ByteShuffle, Filter::Zstd { level: 30 }]);
    /// let context = TileContext::new(Datatype::Int32, 4, FormatVersion::CURRENT);
    /// let error = pipeline.validate(context).unwrap_err();
    /// assert_eq!(
    ///     error.in_field("a").to_string(),
    ///     "filter 'zstd' has the option value 30, which is out of range (field \"a\", filter 2 of 2)",
    /// );
    /// ```
    ///
    /// # Errors
    /// If an option is out of range; if a filter does not accept its input type, or would misread
    /// it; if a filter that stores strings is not the first; if the pipeline contains encryption,
    /// which belongs to the array; if a filter is unknown or not part of this build. The error
    /// contains the filter and its position.
    pub fn validate(&self, context: TileContext) -> Result<(), Error> {
        let count = self.filters.len();
        let mut datatype = context.datatype;
        for (filter, position) in self.filters.iter().zip(1..) {
            let error = |kind| filter.error(kind, position, count);
            filter.check().and_then(|()| filter.check_type(datatype)).map_err(error)?;
            if context.propagates_types() {
                datatype = filter.output_type(datatype);
            }
        }
        Plan::new(self, &context, None).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use tdb_codec::FormatVersion;

    use super::*;
    use crate::registry;

    fn context(datatype: Datatype) -> TileContext {
        TileContext::new(datatype, datatype.size() as u64, FormatVersion::CURRENT)
    }

    fn refusal(filters: Vec<Filter>, context: TileContext) -> (&'static str, usize, ErrorKind) {
        let error = Pipeline::new(filters).validate(context).unwrap_err();
        let shown = error.in_field("the field").to_string();
        assert!(shown.contains(error.filter) && shown.contains("\"the field\""), "{shown}");
        (error.filter, error.position, error.kind)
    }

    #[test]
    fn ordinary_options_of_every_filter_pass_on_a_type_of_their_own() {
        for row in registry::all().iter().filter(|row| row.available && row.name != "aes-256-gcm") {
            let context = match row.name {
                "scale-float" => context(Datatype::Float32),
                "webp" => context(Datatype::Uint8),
                "dictionary" => TileContext::values(Datatype::StringUtf8, FormatVersion::CURRENT),
                _ => context(Datatype::Int64),
            };
            row.pipeline().validate(context).unwrap();
        }
    }

    #[test]
    fn nonsense_is_refused_by_filter_and_position() {
        use ErrorKind::{InputType, InvalidOption};
        let first = Filter::None;
        let at_second = |filter: Filter, datatype| refusal(vec![first.clone(), filter], context(datatype));
        let int = Datatype::Int32;
        let window = |max_window| Filter::BitWidthReduction { max_window };
        assert_eq!(at_second(window(0), int), ("bit-width-reduction", 2, InvalidOption { value: 0 }));
        assert_eq!(at_second(window(3), int), ("bit-width-reduction", 2, InvalidOption { value: 3 }));
        let filter = Filter::PositiveDelta { max_window: 7 };
        assert_eq!(at_second(filter, Datatype::Uint64), ("positive-delta", 2, InvalidOption { value: 7 }));
        let scale =
            |scale| Filter::ScaleFloat(ScaleFloat { scale, offset: 0.0, byte_width: ByteWidth::Four });
        for datatype in
            [Datatype::StringAscii, Datatype::StringUtf32, Datatype::Int16, Datatype::Int32, Datatype::Uint64]
        {
            assert_eq!(at_second(scale(1.0), datatype), ("scale-float", 2, InputType { datatype }));
        }
        for odd in [0.0, f64::NAN, f64::INFINITY] {
            let (filter, _, kind) = at_second(scale(odd), Datatype::Float64);
            assert!(filter == "scale-float" && matches!(kind, ErrorKind::BadOption { .. }));
        }
        for reinterpret in [Datatype::Float32, Datatype::Float64, Datatype::Any] {
            for filter in [
                Filter::Delta { level: -1, reinterpret: Some(reinterpret) },
                Filter::DoubleDelta { level: -1, reinterpret: Some(reinterpret) },
            ] {
                assert_eq!(at_second(filter, int).2, InputType { datatype: reinterpret });
            }
        }
        let filter = Filter::Delta { level: -1, reinterpret: None };
        assert_eq!(at_second(filter, Datatype::Float32).2, InputType { datatype: Datatype::Float32 });
        for (code, name) in [(17, "bitsort"), (77, "unknown")] {
            let unknown = Filter::Unknown { code, options: Vec::new() };
            assert_eq!(at_second(unknown, int), (name, 2, ErrorKind::UnknownFilter { code }));
        }
        assert!(matches!(at_second(Filter::Aes256Gcm, int).2, ErrorKind::BadOption { .. }));
        assert_eq!(at_second(Filter::Gzip { level: 10 }, int).2, InvalidOption { value: 10 });
        assert_eq!(at_second(Filter::Bzip2 { level: 10 }, int).2, InvalidOption { value: 10 });
        assert_eq!(at_second(Filter::Zstd { level: -8 }, int).2, InvalidOption { value: -8 });
    }

    #[test]
    fn images_have_at_most_16383_pixels_a_side() {
        let image = |y, x| Filter::webp_lossless(PixelFormat::Rgb, y, x);
        assert!(image(16_383, 16_383 * 3).is_ok());
        assert!(matches!(image(16_384, 3).unwrap_err().kind, ErrorKind::BadOption { .. }));
        assert!(matches!(image(1, 16_384 * 3).unwrap_err().kind, ErrorKind::BadOption { .. }));
    }

    #[test]
    fn two_filters_that_hold_strings_or_one_behind_another_are_refused() {
        let (rle, dictionary) = (Filter::Rle { level: -1 }, Filter::Dictionary { level: -1 });
        let strings = TileContext::values(Datatype::StringAscii, FormatVersion::CURRENT);
        let not_first = ErrorKind::NotFirst;
        assert_eq!(refusal(vec![rle.clone(), dictionary.clone()], strings), ("dictionary", 2, not_first));
        assert_eq!(refusal(vec![Filter::ByteShuffle, rle.clone()], strings), ("rle", 2, not_first));
        // Neither of these filters changes strings.
        for idle in [Filter::None, Filter::BitWidthReduction { max_window: 256 }] {
            assert_eq!(refusal(vec![idle, rle.clone()], strings), ("rle", 2, not_first));
        }
        let datatype = Datatype::Int32;
        let kind = ErrorKind::InputType { datatype };
        assert_eq!(refusal(vec![dictionary], context(datatype)), ("dictionary", 1, kind));
    }

    #[cfg(feature = "webp")]
    #[test]
    fn images_take_bytes_of_fixed_cells_and_whole_pixels_only() {
        let webp = Filter::webp_lossless(PixelFormat::Rgba, 4, 16).unwrap();
        for datatype in [Datatype::Int8, Datatype::Uint16, Datatype::Blob, Datatype::Char] {
            assert_eq!(refusal(vec![webp.clone()], context(datatype)).2, ErrorKind::InputType { datatype });
        }
        let var = TileContext::values(Datatype::Uint8, FormatVersion::CURRENT);
        assert_eq!(refusal(vec![webp], var).0, "webp");
        assert!(Filter::webp_lossless(PixelFormat::Rgb, 4, 16).is_err());
        assert!(Filter::webp_lossless(PixelFormat::None, 4, 16).is_err());
        for quality in [-0.5, 100.5, f32::NAN] {
            assert!(Filter::webp_lossy(quality, PixelFormat::Bgr, 4, 12).is_err());
        }
        assert!(Filter::webp_lossy(80.0, PixelFormat::Bgr, 4, 12).is_ok());
    }

    #[test]
    fn constructors_give_what_files_store() {
        assert_eq!(Filter::gzip(-1), Ok(Filter::Gzip { level: -1 }));
        assert_eq!(Filter::zstd(22), Ok(Filter::Zstd { level: 22 }));
        assert_eq!(Filter::rle(), Filter::Rle { level: -1 });
        assert_eq!(Filter::dictionary(), Filter::Dictionary { level: -1 });
        assert_eq!(Filter::bzip2(0), Ok(Filter::Bzip2 { level: 0 }));
        assert!(Filter::bzip2(10).is_err() && Filter::zstd(23).is_err());
        assert!(Filter::positive_delta(0).is_err() && Filter::bit_width_reduction(0).is_err());
        assert!(Filter::delta(Some(Datatype::Any)).is_err());
        let reinterpret = Some(Datatype::Uint8);
        assert_eq!(Filter::delta(reinterpret), Ok(Filter::Delta { level: -1, reinterpret }));
        let filter = Filter::double_delta(Some(Datatype::Int32));
        assert_eq!(filter, Ok(Filter::DoubleDelta { level: -1, reinterpret: Some(Datatype::Int32) }));
        assert!(Filter::scale_float(0.0, 0.0, ByteWidth::One).is_err());
        assert!(Filter::scale_float(0.5, 1.0, ByteWidth::One).is_ok());
    }

    #[test]
    fn what_a_file_holds_is_decoded_even_if_no_one_should_make_it() {
        // An empty window in the options does not matter: the chunk's metadata contains the lengths
        // of its windows.
        let odd = Pipeline::new(vec![Filter::PositiveDelta { max_window: 0 }]);
        assert!(odd.validate(context(Datatype::Int32)).is_err());
        assert!(odd.decoder(context(Datatype::Int32)).is_ok());
    }
}
