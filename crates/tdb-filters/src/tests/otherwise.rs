//! Chunks that are not what their pipeline says: without cells, or filtered as if they held other values.

use tdb_codec::{Datatype, FormatVersion};

use super::{context, decode, encode, hex};
use crate::{Filter, Pipeline, TileContext, registry};

/// Libtiledb 2.7 to 2.25 ran gzip over no bytes and stored what no zlib accepts, for instance.
#[test]
fn of_a_chunk_without_cells_nothing_is_read_whatever_filters_it_has() {
    for row in registry::all().iter().filter(|row| row.available && row.name != "aes-256-gcm") {
        let datatype = match row.name {
            "scale-float" => Datatype::Float64,
            "webp" => Datatype::Uint8,
            _ => Datatype::Int32,
        };
        let Ok(decoder) = row.pipeline().decoder(context(datatype)) else { continue };
        for (metadata, data) in [("", ""), ("00000000 01000000 00000000 02000000", "789c"), ("ff", "ffffff")]
        {
            assert_eq!(decode(&decoder, &hex(metadata), &hex(data), 0), Ok(Vec::new()), "{}", row.name);
        }
    }
}

/// A tile of bytes that may have been filtered as if they were numbers.
#[test]
fn what_one_decoder_refuses_another_may_decode_and_the_error_of_both_is_the_first_one_s() {
    let pipeline = Pipeline::new(vec![Filter::BitWidthReduction { max_window: 16 }]);
    let bytes = TileContext::validity(FormatVersion::parse(12).unwrap());
    let typed = bytes.typed_validity(Datatype::Int32).unwrap();
    let input: Vec<u8> = (0..40).map(|cell| u8::from(cell % 3 == 0)).collect();
    let both = pipeline.decoder(typed).unwrap().or(pipeline.decoder(bytes).unwrap());
    for context in [typed, bytes] {
        let (metadata, data) = encode(&pipeline, context, &input).unwrap();
        assert_eq!(metadata.is_empty(), context == bytes);
        assert_eq!(decode(&both, &metadata, &data, input.len()).unwrap(), input);
    }
    let alone = decode(&pipeline.decoder(typed).unwrap(), &[9], &[9], 4);
    assert_eq!(decode(&both, &[9], &[9], 4), alone);
    assert!(alone.is_err() && !both.is_identity() && !both.keeps_sizes());
}
