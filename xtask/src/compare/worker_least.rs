//! Lower bounds for writes: only the codecs on an array's cells, a sort of its coordinates, and
//! writing its bytes to files.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use tdb_codec::{Budget, Reader};
use tdb_filters::{Encoder, Scratch};
use tdb_tile::split::Cells;
use tdb_tile::{TileChunks, encode_tile};

use super::worker_limit::{Coded, files};
use super::worker_write::Input;
use super::{Fallible, text};

/// `{"op": "filter", "array", "fields"}`: seconds to filter the fields' chunks, which are already
/// in memory.
pub(super) fn filter(request: &Value, threads: usize) -> Fallible<Value> {
    let files: Vec<Coded> = files(request)?;
    let (mut scratch, budget) = (Scratch::default(), Budget::new(1 << 30));
    let mut chunks: Vec<(Vec<u8>, &Encoder)> = Vec::new();
    for file in &files {
        let bytes = fs::read(&file.path)?;
        let mut reader = Reader::new(&bytes);
        while reader.remaining() > 0 {
            let tile = TileChunks::parse_next(&mut reader)?;
            let lengths: Vec<usize> =
                tile.chunks().map(|chunk| usize::try_from(chunk.original_len)).collect::<Result<_, _>>()?;
            let mut cells = vec![0; lengths.iter().sum()];
            tile.decode(&file.decoder, &mut cells, &mut scratch, &budget)?;
            let mut rest = cells.as_slice();
            for length in lengths {
                let (chunk, behind) = rest.split_at_checked(length).ok_or("a chunk is cut off")?;
                chunks.push((chunk.to_vec(), &file.encoder));
                rest = behind;
            }
        }
    }
    let queue = Mutex::new(chunks.iter());
    let failure = Mutex::new(None);
    let work = || {
        let mut scratch = Scratch::default();
        loop {
            let next = queue.lock().ok().and_then(|mut queue| queue.next());
            let Some((cells, encoder)) = next else { break };
            match encode_tile(encoder, cells, Cells::Whole, &mut scratch) {
                Ok(tile) => drop(black_box(tile)),
                Err(error) => {
                    if let Ok(mut failure) = failure.lock() {
                        *failure = Some(error.to_string());
                    }
                }
            }
        }
    };
    let seconds = timed(threads, work);
    match failure.into_inner()? {
        Some(error) => Err(error.into()),
        None => Ok(json!({"seconds": seconds})),
    }
}

/// `{"op": "sort", "dimensions": [[name, extent], …]}`: seconds to sort the loaded cells by tile
/// and coordinates (integers of 32 bits from 0 on), where each thread sorts a share with the
/// standard library's sort, and to merge the shares.
pub(super) fn sort(request: &Value, input: &Input, threads: usize) -> Fallible<Value> {
    let mut columns = Vec::new();
    for dimension in request.get("dimensions").and_then(Value::as_array).ok_or("no dimensions")? {
        let name = dimension.get(0).and_then(Value::as_str).ok_or("a dimension without a name")?;
        let extent = dimension.get(1).and_then(Value::as_i64).ok_or("a dimension without an extent")?;
        columns.push((input.integers(name)?, extent));
    }
    let cells = columns.first().map_or(0, |(values, _)| values.len());
    let key = |cell: usize| -> Fallible<(u128, u32)> {
        let (mut tiles, mut coordinates) = (0u128, 0u128);
        for (values, extent) in &columns {
            let value = values.get(cell).copied().ok_or("columns of different lengths")?;
            tiles = tiles << 16 | u128::from(u16::try_from(value / extent)?);
            coordinates = coordinates << 32 | u128::from(u32::try_from(value)?);
        }
        Ok((tiles << 64 | coordinates, u32::try_from(cell)?))
    };
    let keys = (0..cells).map(key).collect::<Fallible<Vec<_>>>()?;
    let mut sorted = keys;
    let started = Instant::now();
    let share = cells.div_ceil(threads.max(1)).max(1);
    thread::scope(|scope| {
        for part in sorted.chunks_mut(share) {
            scope.spawn(|| part.sort_unstable());
        }
    });
    let mut parts: Vec<&[(u128, u32)]> = sorted.chunks(share).collect();
    let mut order: Vec<u32> = Vec::with_capacity(cells);
    while let Some((_, min)) =
        parts.iter().enumerate().filter_map(|(index, part)| Some((part.first()?, index))).min()
    {
        let Some((first, rest)) = parts.get(min).and_then(|part| part.split_first()) else { break };
        order.push(first.1);
        if let Some(part) = parts.get_mut(min) {
            *part = rest;
        }
    }
    let seconds = started.elapsed().as_secs_f64();
    black_box(&order);
    Ok(json!({"seconds": seconds}))
}

/// `{"op": "store", "array"}`: seconds to write as many bytes as the array's files have to new
/// files, one for each thread.
pub(super) fn store(request: &Value, threads: usize) -> Fallible<Value> {
    let array = Path::new(text(request, "array")?);
    let bytes = super::worker_limit::size_of_folder(array)?;
    let share = usize::try_from(bytes.div_ceil(u64::try_from(threads.max(1))?))?;
    let from = vec![7u8; share.min(8 << 20)];
    let beside = |number: usize| array.with_extension(format!("copy{number}"));
    let write = |number: usize| -> std::io::Result<()> {
        let mut file = File::create(beside(number))?;
        let mut left = share;
        while left > 0 {
            let piece = from.get(..left.min(1 << 20)).unwrap_or(&from);
            if piece.is_empty() {
                break;
            }
            file.write_all(piece)?;
            left = left.saturating_sub(piece.len());
        }
        Ok(())
    };
    let numbers = Mutex::new(0..threads);
    let failure = Mutex::new(None);
    let seconds = timed(threads, || {
        let next = || numbers.lock().ok().and_then(|mut numbers| numbers.next());
        while let Some(number) = next() {
            if let (Err(error), Ok(mut failure)) = (write(number), failure.lock()) {
                *failure = Some(error.to_string());
            }
        }
    });
    for number in 0..threads {
        fs::remove_file(beside(number))?;
    }
    match failure.into_inner()? {
        Some(error) => Err(error.into()),
        None => Ok(json!({"seconds": seconds})),
    }
}

/// Seconds in which all threads do the same work.
fn timed(threads: usize, work: impl Fn() + Sync) -> f64 {
    let started = Instant::now();
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(&work);
        }
        work();
    });
    started.elapsed().as_secs_f64()
}
