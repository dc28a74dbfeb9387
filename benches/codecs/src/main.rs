//! Times the codecs that `tdb-filters` uses beside those it could use, all in one run, and prints a
//! Markdown table.
//!
//! Run it with `cargo run --release` in this folder; words on the command line choose families by
//! name. Each candidate works on 64 KiB chunks with its contexts kept, as a worker of tdb does.
//! Families run in rounds, one pass of every candidate a round, so that what else the machine does
//! falls on all of them; a figure is the best pass, as the geometric mean over the kinds of data.

mod candidates;
mod data;

use std::time::{Duration, Instant};

use candidates::{Candidate, families};

/// Length of the chunks that libtiledb writes.
const CHUNK: usize = 64 << 10;
/// How long a family runs on one kind of data, at least.
const PATIENCE: Duration = Duration::from_secs(4);
const ROUNDS: usize = 5;

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    println!("| codec | candidate | decodes MB/s | encodes MB/s | ratio |\n|---|---|---:|---:|---:|");
    for (family, make) in families() {
        if !wanted.is_empty() && !wanted.iter().any(|word| word == family) {
            continue;
        }
        let sets = data::sets(family);
        let names: Vec<&str> = make().iter().map(|candidate| candidate.name).collect();
        // Logarithms of decoding, encoding and compression, summed over the kinds of data.
        let mut sums = vec![[0f64; 3]; names.len()];
        for set in &sets {
            for (sum, found) in sums.iter_mut().zip(measure(&mut make(), set)) {
                sum.iter_mut().zip(found).for_each(|(sum, found)| *sum += found.ln());
            }
        }
        let kinds = f64::from(u32::try_from(sets.len()).unwrap_or(1));
        for (name, sum) in names.iter().zip(sums) {
            let mean = |index: usize| (sum[index] / kinds).exp();
            let speed = |value: f64| if value.is_finite() { format!("{value:.0}") } else { "–".to_owned() };
            // A digest is not a shorter form of what it digests.
            let ratio = if mean(0).is_finite() { format!("{:.2}", mean(2)) } else { "–".to_owned() };
            println!("| {family} | {name} | {} | {} | {ratio} |", speed(mean(0)), speed(mean(1)));
        }
    }
}

/// MB/s of decoding and of encoding, and the compression, of each candidate on the chunks of one
/// kind of data.
fn measure(candidates: &mut [Candidate], cells: &[u8]) -> Vec<[f64; 3]> {
    let chunks: Vec<&[u8]> = cells.chunks(CHUNK).collect();
    let mut out = vec![0; CHUNK];
    let encoded: Vec<Vec<Vec<u8>>> = candidates
        .iter_mut()
        .map(|candidate| {
            chunks
                .iter()
                .map(|chunk| {
                    let mut stream = vec![0; CHUNK * 2];
                    let len = (candidate.encode)(chunk, &mut stream);
                    stream.truncate(len);
                    if let Some(decode) = &mut candidate.decode {
                        out.resize(chunk.len(), 0);
                        decode(&stream, &mut out);
                        assert!(out == *chunk, "{} gives back what it took", candidate.name);
                    }
                    stream
                })
                .collect()
        })
        .collect();
    let mut best = vec![[f64::INFINITY; 2]; candidates.len()];
    let mut room = vec![0; CHUNK * 2];
    let (start, mut round) = (Instant::now(), 0);
    while round < ROUNDS || start.elapsed() < PATIENCE {
        round += 1;
        for ((candidate, streams), best) in candidates.iter_mut().zip(&encoded).zip(&mut best) {
            if let Some(decode) = &mut candidate.decode {
                let clock = Instant::now();
                for (stream, chunk) in streams.iter().zip(&chunks) {
                    decode(stream, &mut out[..chunk.len()]);
                }
                best[0] = best[0].min(clock.elapsed().as_secs_f64());
            }
            let clock = Instant::now();
            for chunk in &chunks {
                (candidate.encode)(chunk, &mut room);
            }
            best[1] = best[1].min(clock.elapsed().as_secs_f64());
        }
    }
    let megabytes = cells.len() as f64 / 1e6;
    best.iter()
        .zip(&encoded)
        .map(|(best, streams)| {
            let stored: usize = streams.iter().map(Vec::len).sum();
            let speed = |seconds: f64| if seconds.is_finite() { megabytes / seconds } else { f64::NAN };
            [speed(best[0]), speed(best[1]), cells.len() as f64 / stored as f64]
        })
        .collect()
}
