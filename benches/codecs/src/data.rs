//! What is compressed: 2 MiB each of floats, sorted integers and text; an image for WebP.

const LEN: usize = 2 << 20;

/// The kinds of data for a family of codecs.
pub fn sets(family: &str) -> Vec<Vec<u8>> {
    match family {
        "webp" => vec![image()],
        // What these do does not depend on the bytes.
        "sha256" | "md5" | "aes-256-gcm" => vec![floats()],
        // 20 times slower than the others.
        "bzip2" => [floats(), integers(), text()].map(|set| set[..LEN / 4].to_vec()).into(),
        _ => vec![floats(), integers(), text()],
    }
}

/// The next number of a xorshift generator.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// A sensor: 64-bit floats of a slow wave with noise, rounded to two decimals.
fn floats() -> Vec<u8> {
    let mut state = 1;
    (0..LEN / 8)
        .flat_map(|index| {
            let noise = (random(&mut state) % 100) as f64 / 100.0;
            let value = 20.0 + 8.0 * (index as f64 / 3000.0).sin() + noise;
            ((value * 100.0).round() / 100.0).to_le_bytes()
        })
        .collect()
}

/// Sorted 64-bit integers with irregular small steps: time stamps.
fn integers() -> Vec<u8> {
    let (mut state, mut value) = (2, 1_700_000_000_000u64);
    (0..LEN / 8)
        .flat_map(|_| {
            value += random(&mut state) % 1000;
            value.to_le_bytes()
        })
        .collect()
}

/// Words of a small vocabulary, the frequent ones more often.
fn text() -> Vec<u8> {
    let mut state = 3;
    let words: Vec<String> = (0..4000)
        .map(|_| {
            let len = 2 + random(&mut state) % 9;
            (0..len).map(|_| char::from(b'a' + (random(&mut state) % 26) as u8)).collect()
        })
        .collect();
    let mut text = Vec::new();
    while text.len() < LEN {
        let rank = random(&mut state) % 4000 * (random(&mut state) % 4000) / 4000;
        text.extend_from_slice(words[rank as usize].as_bytes());
        text.push(b' ');
    }
    text.truncate(LEN);
    text
}

/// One chunk of RGB pixels, 128 × 170: gradients with noise in the low bits.
fn image() -> Vec<u8> {
    let mut state = 4;
    (0..170u64)
        .flat_map(|y| (0..128u64).map(move |x| (x, y)))
        .flat_map(|(x, y)| [x + y, 2 * x, y].map(|value| (value & 0xfc) as u8))
        .map(|value| value | (random(&mut state) & 3) as u8)
        .collect()
}
