//! Rules for ranges of files, and for many requests at once.

use core::ops::Range;
use std::io;

use bytes::Bytes;
use tdb_codec::{to_u64, to_usize};

use super::reading::files;
use super::{Outcome, Rule, broken, done, holds, offered, refused, same};
use crate::{ByteRange, Reply, Request, Storage};

pub(super) fn rules<S: Storage>() -> Vec<Rule<S>> {
    vec![
        ("a buffer is filled from any place of a file, up to its last byte", buffers),
        ("filling a buffer beyond the end of a file fails with UnexpectedEof", beyond),
        (
            "many ranges are returned in the order in which they were requested, wherever they are",
            many_ranges,
        ),
        ("if one of many ranges cannot be read, the whole call fails", failing_ranges),
        (
            "many requests are answered in the order in which they were made, each with its own kind of reply",
            replies,
        ),
        ("if one request fails, the others are still answered", failing_requests),
        ("an open file returns the same bytes as other reads, and ends at the same place", opened),
    ]
}

/// The bytes of a range of one of the files.
fn part(key: &str, range: &Range<u64>) -> Bytes {
    let bytes = files().into_iter().find(|(own, _)| *own == key).map(|(_, bytes)| bytes).unwrap_or_default();
    let at = |offset| to_usize(offset).unwrap_or(usize::MAX).min(bytes.len());
    bytes.slice(at(range.start)..at(range.end))
}

/// Ranges of a file of this size in bytes: at its ends, in the middle, over pages, and all of it.
fn ranges_of(size: u64) -> Vec<Range<u64>> {
    let middle = size / 2;
    let ends = [0..1, 0..size, size.saturating_sub(1)..size, middle..size, 0..middle, 4095..4097, 5..70_001];
    ends.into_iter().filter(|range| range.start < range.end && range.end <= size).collect()
}

fn buffers<S: Storage>(storage: &S) -> Outcome {
    for (key, bytes) in files() {
        for range in ranges_of(to_u64(bytes.len())) {
            let expected = part(key, &range);
            let mut out = vec![0xa5; expected.len()];
            done("filling a buffer", storage.read_into(key, range.start, &mut out))?;
            same(&format!("filling a buffer with bytes {range:?} of {key}"), &out[..], &expected[..])?;
        }
    }
    done("filling an empty buffer from an empty file", storage.read_into("empty", 0, &mut []))?;
    done("filling an empty buffer at the end of a file", storage.read_into("twelve", 12, &mut []))
}

/// Offsets and lengths that go beyond the end of a file of twelve bytes.
const BEYOND: [(u64, usize); 5] = [(0, 13), (11, 2), (12, 1), (5000, 1), (u64::MAX, 3)];

fn beyond<S: Storage>(storage: &S) -> Outcome {
    for (offset, len) in BEYOND {
        let filled = storage.read_into("twelve", offset, &mut vec![0; len]);
        let what = format!("filling {len} bytes from {offset} of a file of 12");
        refused(&what, filled, io::ErrorKind::UnexpectedEof)?;
    }
    let filled = storage.read_into("empty", 0, &mut [0]);
    refused("filling a byte from an empty file", filled, io::ErrorKind::UnexpectedEof)
}

fn range(key: &str, range: Range<u64>) -> ByteRange {
    ByteRange { key: key.to_owned(), range }
}

/// Ranges that overlap, repeat, touch, have gaps, go backwards, are empty, and belong to several
/// files.
fn mixed() -> Vec<ByteRange> {
    let large = "folder/large";
    let mut ranges = vec![
        range(large, 100..200),
        range("twelve", 6..12),
        range(large, 0..50),
        range(large, 150..70_000),
        range("twelve", 3..3),
        range("folder/a", 0..1),
        range(large, 119_999..120_000),
        range("twelve", 6..12),
        range("empty", 0..0),
        range("folder/nested/deep/x", 1..3),
    ];
    ranges.extend((0..100u64).map(|number| range(large, number * 1000..number * 1000 + 7)));
    ranges
}

fn many_ranges<S: Storage>(storage: &S) -> Outcome {
    same("reading no ranges", &done("reading no ranges", storage.read_ranges(&[]))?.len(), &0)?;
    let asked = mixed();
    let read = done("reading many ranges", storage.read_ranges(&asked))?;
    same("the number of ranges that were read", &read.len(), &asked.len())?;
    for (ByteRange { key, range }, read) in asked.iter().zip(read) {
        same(&format!("reading bytes {range:?} of {key}, among others,"), &read, &part(key, range))?;
    }
    Ok(())
}

fn failing_ranges<S: Storage>(storage: &S) -> Outcome {
    for (offset, len) in BEYOND {
        let end = offset.saturating_add(to_u64(len));
        if offset == end || offset == u64::MAX {
            continue;
        }
        let asked = [range("folder/a", 0..1), range("twelve", offset..end), range("empty", 0..0)];
        let what = format!("reading bytes {offset} to {end} of a file of 12");
        refused(&what, storage.read_ranges(&asked), io::ErrorKind::UnexpectedEof)?;
    }
    let asked = [range("folder/a", 0..1), range("folder/none", 0..1)];
    refused(
        "reading a range of a file that does not exist",
        storage.read_ranges(&asked),
        io::ErrorKind::NotFound,
    )
}

/// Requests of every kind that can all be answered.
fn requests() -> Vec<Request> {
    let mut requests = vec![
        Request::List("folder".to_owned()),
        Request::whole("twelve"),
        Request::Tail("folder/large".to_owned(), 9),
        Request::Tail("empty".to_owned(), 4),
        Request::Tail("twelve".to_owned(), 0),
        Request::whole("empty"),
    ];
    requests.extend(mixed().into_iter().map(Request::Range));
    requests.push(Request::List("folder/nested".to_owned()));
    requests
}

/// Whether a reply is the right one for a request that can be answered.
fn answers(request: &Request, reply: io::Result<Reply>) -> Outcome {
    let what = format!("the reply to {request:?}");
    match (request, done(&what, reply)?) {
        (Request::List(folder), Reply::Entries(entries)) => {
            let count = if folder == "folder" { 3 } else { 1 };
            same(&format!("{what}: the number of entries"), &entries.len(), &count)
        }
        (Request::Tail(key, max), Reply::Tail(size, bytes)) => {
            let all = part(key, &(0..u64::MAX));
            same(&format!("{what}: the size"), &size, &to_u64(all.len()))?;
            let start = all.len().saturating_sub(to_usize(*max).unwrap_or(usize::MAX));
            same(&what, &bytes, &all.slice(start..))
        }
        (Request::Range(ByteRange { key, range }), Reply::Bytes(bytes)) => {
            same(&what, &bytes, &part(key, range))
        }
        (_, other) => broken(format!("{what} is of another kind: {}", super::shown(&other))),
    }
}

fn replies<S: Storage>(storage: &S) -> Outcome {
    holds(storage.fetch(&[]).is_empty(), || "there is a reply although nothing was requested".to_owned())?;
    let asked = requests();
    let replies = storage.fetch(&asked);
    same("the number of replies", &replies.len(), &asked.len())?;
    asked.iter().zip(replies).try_for_each(|(request, reply)| answers(request, reply))
}

fn failing_requests<S: Storage>(storage: &S) -> Outcome {
    let failing = [
        (Request::List("none".to_owned()), io::ErrorKind::NotFound),
        (Request::whole("none"), io::ErrorKind::NotFound),
        (Request::Tail("folder/none".to_owned(), 5), io::ErrorKind::NotFound),
        (Request::range("none", 0..4), io::ErrorKind::NotFound),
        (Request::range("twelve", 10..13), io::ErrorKind::UnexpectedEof),
        (Request::range("twelve", 50..60), io::ErrorKind::UnexpectedEof),
    ];
    let good = requests();
    let bad = failing.iter().cycle();
    let asked: Vec<Request> =
        good.iter().zip(bad.clone()).flat_map(|(good, (bad, _))| [bad.clone(), good.clone()]).collect();
    let replies = storage.fetch(&asked);
    same("the number of replies", &replies.len(), &asked.len())?;
    let mut replies = replies.into_iter();
    for (good, (bad, kind)) in good.iter().zip(bad) {
        if let (Some(failed), Some(reply)) = (replies.next(), replies.next()) {
            refused(&format!("the reply to {bad:?}"), failed, *kind)?;
            answers(good, reply)?;
        }
    }
    Ok(())
}

fn opened<S: Storage>(storage: &S) -> Outcome {
    for (key, bytes) in files() {
        // Where every read is a separate request, nothing can be opened.
        let Some(file) = offered("opening a file", storage.open(key))? else { return Ok(()) };
        for range in ranges_of(to_u64(bytes.len())) {
            let expected = part(key, &range);
            let mut out = vec![0xa5; expected.len()];
            done("filling a buffer from an open file", file.read_into(range.start, &mut out))?;
            let what = format!("filling a buffer with bytes {range:?} of {key}, opened,");
            same(&what, &out[..], &expected[..])?;
        }
        file.will_need(&(0..to_u64(bytes.len())));
        let filled = file.read_into(to_u64(bytes.len()), &mut [0]);
        refused("filling a byte beyond the end of an open file", filled, io::ErrorKind::UnexpectedEof)?;
    }
    Ok(())
}
