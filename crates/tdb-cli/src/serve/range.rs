//! The header `Range`: one range of bytes.

/// The bytes from an offset, and their number.
pub(super) type Bytes = (u64, u64);

/// What a header asks for of a file of this size; `None` if that is not one range of bytes that the
/// file has.
pub(super) fn parse(header: &str, size: u64) -> Option<Bytes> {
    let (first, last) = header.strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if digits { text.parse::<u64>().ok() } else { None }
    };
    let (start, end) = match (first, last) {
        ("", count) => (size.saturating_sub(number(count)?), size),
        (first, "") => (number(first)?, size),
        (first, last) => (number(first)?, number(last)?.checked_add(1)?.min(size)),
    };
    let len = end.checked_sub(start).filter(|len| *len > 0)?;
    Some((start, len))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn one_range_is_what_the_file_has_of_it() {
        let of = |header| parse(header, 10);
        assert_eq!(
            (of("bytes=0-0"), of("bytes=2-5"), of("bytes=8-99")),
            (Some((0, 1)), Some((2, 4)), Some((8, 2)))
        );
        assert_eq!(
            (of("bytes=4-"), of("bytes=-3"), of("bytes=-99")),
            (Some((4, 6)), Some((7, 3)), Some((0, 10)))
        );
        for wrong in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=10-",
            "bytes=10-12",
            "bytes=5-2",
            "bytes=-0",
            "bytes=0-1,3-4",
            "bytes= 0-1",
            "items=0-1",
            "bytes=+1-2",
            "bytes=a-b",
            "bytes=0-18446744073709551615",
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
        assert_eq!(parse("bytes=-1", 0), None);
    }
}
