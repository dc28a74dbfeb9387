//! Tests of encoding straight into a tile.

use tdb_codec::Datatype;

use super::{POSITIVE_DELTA, context, encode, gentle};
use crate::{ErrorKind, Filter, Pipeline, Scratch};

/// Filters that keep the length of the data.
const KEEPING: [Filter; 6] = [
    Filter::ByteShuffle,
    Filter::BitShuffle,
    POSITIVE_DELTA,
    Filter::Xor,
    Filter::ChecksumMd5,
    Filter::ChecksumSha256,
];

#[test]
fn a_chunk_encoded_into_its_place_is_the_chunk_encoded_into_a_buffer() {
    let mut chains = vec![vec![]];
    for length in 0..3 {
        let longer: Vec<Vec<Filter>> = chains.iter().filter(|chain| chain.len() == length).cloned().collect();
        for chain in longer {
            chains.extend(KEEPING.iter().map(|filter| [chain.clone(), vec![filter.clone()]].concat()));
        }
    }
    assert_eq!(chains.len(), 1 + 6 + 36 + 216);
    let mut scratch = Scratch::new();
    let mut compared = 0;
    for chain in chains {
        let pipeline = Pipeline::new(chain);
        for values in [0, 1, 80, 5000] {
            let context = context(Datatype::Uint32);
            let input = gentle(Datatype::Uint32, values * 4, 4);
            let into = |scratch: &mut Scratch| {
                let (mut metadata, mut data) = (vec![9; 5], vec![0xee; input.len()]);
                let encoder = pipeline.encoder(context)?;
                encoder
                    .encode_chunk_into(&input, scratch, &mut metadata, &mut data)
                    .map(|()| (metadata, data))
            };
            match encode(&pipeline, context, &input) {
                Ok(sides) => {
                    assert_eq!(into(&mut scratch).unwrap(), sides, "{pipeline:?}");
                    compared += 1;
                }
                // Positive delta after a filter that changes the order of values.
                Err(error) => assert_eq!(into(&mut scratch).unwrap_err(), error),
            }
        }
    }
    assert!(compared > 800, "{compared}");
}

#[test]
fn a_place_of_another_length_and_a_pipeline_that_changes_lengths_are_refused() {
    let context = context(Datatype::Int32);
    let (input, mut metadata, mut scratch) = ([1; 16], Vec::new(), Scratch::new());
    let wrong = |found| ErrorKind::WrongLength { expected: 16, found };
    for (filter, len, kind) in [
        (Filter::ByteShuffle, 15, wrong(15)),
        (Filter::ByteShuffle, 17, wrong(17)),
        (Filter::Rle { level: -1 }, 16, ErrorKind::ChangesLength),
    ] {
        let encoder = Pipeline::new(vec![filter]).encoder(context).unwrap();
        let mut place = vec![0; len];
        let error = encoder.encode_chunk_into(&input, &mut scratch, &mut metadata, &mut place).unwrap_err();
        assert_eq!(error.kind, kind);
    }
}
