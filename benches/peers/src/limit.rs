//! The least that a read takes: the codecs on the stored chunks that it needs, called directly, and
//! copies of memory.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;
use std::time::Instant;

use memmap2::{Advice, MmapMut};
use serde_json::Value;

use crate::{Fallible, text};

/// A chunk as it is stored: parts that a codec made, without headers.
struct Chunk {
    codec: Codec,
    parts: Vec<Part>,
    /// Filters beside the codec: a copy of memory each.
    further: usize,
    /// Bytes of it that the result has.
    wanted: usize,
}

struct Part {
    bytes: Vec<u8>,
    decoded: usize,
}

#[derive(Clone, Copy)]
enum Codec {
    None,
    Zstd,
    Lz4,
    Gzip,
}

/// `{"chunks": file}`: seconds to decode the chunks, with a copy for each further filter and one of
/// what is wanted into the result. The file is what `xtask/peer/peers_limit.py` wrote: JSON of
/// files, each with its codec and chunks of parts `[offset, stored, decoded]`.
pub(crate) fn run(request: &Value, threads: usize) -> Fallible<f64> {
    let mut listed = String::new();
    File::open(text(request, "chunks")?)?.read_to_string(&mut listed)?;
    let chunks = load(&serde_json::from_str(&listed)?)?;
    let wanted: usize = chunks.iter().map(|chunk| chunk.wanted).sum();
    let started = Instant::now();
    // Fresh memory in large pages, which costs the least.
    let mut result = MmapMut::map_anon(wanted.max(1))?;
    result.advise(Advice::HugePage)?;
    let mut rest: &mut [u8] = &mut result;
    let mut jobs = Vec::with_capacity(chunks.len());
    for chunk in &chunks {
        let (own, after) = rest.split_at_mut(chunk.wanted);
        rest = after;
        jobs.push((chunk, own));
    }
    let queue = Mutex::new(jobs.into_iter());
    let failure = Mutex::new(None);
    let work = || {
        let mut thread = Thread::default();
        loop {
            let next = queue.lock().ok().and_then(|mut queue| queue.next());
            let Some((chunk, out)) = next else { break };
            if let (Err(error), Ok(mut failure)) = (thread.decode(chunk, out), failure.lock()) {
                *failure = Some(error.to_string());
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let seconds = started.elapsed().as_secs_f64();
    std::hint::black_box(&result);
    match failure.into_inner().map_err(|error| error.to_string())? {
        Some(error) => Err(error.into()),
        None => Ok(seconds),
    }
}

/// What a thread keeps between chunks.
struct Thread {
    zstd: zstd_safe::DCtx<'static>,
    decoded: Vec<u8>,
    copied: Vec<u8>,
}

impl Default for Thread {
    fn default() -> Self {
        Self { zstd: zstd_safe::DCtx::create(), decoded: Vec::new(), copied: Vec::new() }
    }
}

impl Thread {
    fn decode(&mut self, chunk: &Chunk, out: &mut [u8]) -> Fallible<()> {
        let len: usize = chunk.parts.iter().map(|part| part.decoded).sum();
        // What runs are made of is less than the cells that they stand for.
        let len = len.max(out.len());
        for buffer in [&mut self.decoded, &mut self.copied] {
            if buffer.len() < len {
                buffer.resize(len, 0);
            }
        }
        let mut at = 0;
        for part in &chunk.parts {
            let to = &mut self.decoded[at..at + part.decoded];
            let made = match chunk.codec {
                Codec::None => {
                    // What is stored as it is takes the copy into the result only.
                    if chunk.further == 0 {
                        out.copy_from_slice(&part.bytes[..out.len()]);
                        return Ok(());
                    }
                    to.copy_from_slice(&part.bytes);
                    part.decoded
                }
                Codec::Zstd => self.zstd.decompress(to, &part.bytes).map_err(zstd_safe::get_error_name)?,
                Codec::Lz4 => lz4_flex::block::decompress_into(&part.bytes, to)?,
                Codec::Gzip => {
                    let mut stream = flate2::Decompress::new(true);
                    stream.decompress(&part.bytes, to, flate2::FlushDecompress::Finish)?;
                    usize::try_from(stream.total_out())?
                }
            };
            if made != part.decoded {
                return Err(format!("a part of {} bytes has {made}", part.decoded).into());
            }
            at += part.decoded;
        }
        for _ in 0..chunk.further {
            self.copied[..len].copy_from_slice(&self.decoded[..len]);
            std::mem::swap(&mut self.copied, &mut self.decoded);
        }
        out.copy_from_slice(&self.decoded[..out.len()]);
        Ok(())
    }
}

fn load(listed: &Value) -> Fallible<Vec<Chunk>> {
    let mut chunks = Vec::new();
    for file in listed.as_array().ok_or("no files")? {
        let from = File::open(text(file, "path")?)?;
        let codec = match text(file, "codec")? {
            "none" => Codec::None,
            "zstd" => Codec::Zstd,
            "lz4" => Codec::Lz4,
            "gzip" => Codec::Gzip,
            other => return Err(format!("no limit for {other:?}").into()),
        };
        let number = |value: Option<&Value>| value.and_then(Value::as_u64).ok_or("not a number");
        let further = usize::try_from(number(file.get("further"))?)?;
        for chunk in crate::list(file, "chunks")? {
            let mut parts = Vec::new();
            for part in crate::list(chunk, "parts")? {
                let mut bytes = vec![0; usize::try_from(number(part.get(1))?)?];
                from.read_exact_at(&mut bytes, number(part.get(0))?)?;
                parts.push(Part { bytes, decoded: usize::try_from(number(part.get(2))?)? });
            }
            chunks.push(Chunk {
                codec,
                parts,
                further,
                wanted: usize::try_from(number(chunk.get("wanted"))?)?,
            });
        }
    }
    Ok(chunks)
}
