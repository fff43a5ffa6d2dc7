//! Model files taken apart and put together again, header and checksum in order.

/// A stream of numbers that does not depend on the machine.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// One of 0 to n - 1.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % n
    }
}

/// A section of a file, unpacked.
#[derive(Clone)]
pub(crate) struct Section {
    pub(crate) name: String,
    pub(crate) version: u32,
    pub(crate) plain: Vec<u8>,
}

/// The sections of a file.
pub(crate) fn sections(bytes: &[u8]) -> Vec<Section> {
    let mut rest = &bytes[36..];
    let mut take = |n: usize| {
        let (taken, after) = rest.split_at(n);
        rest = after;
        taken.to_vec()
    };
    let number = |bytes: Vec<u8>| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    let mut sections = Vec::new();
    let mut left = bytes.len() - 36;
    while left > 0 {
        let n = take(1)[0] as usize;
        let name = String::from_utf8(take(n)).expect("a name");
        let version = u32::from_le_bytes(take(4).try_into().expect("four bytes"));
        let (own, packed) = (number(take(8)) as usize, number(take(8)) as usize);
        let plain = zstd::bulk::decompress(&take(packed), own).expect("unpacked");
        sections.push(Section { name, version, plain });
        left -= 1 + n + 4 + 16 + packed;
    }
    sections
}

/// A file of these sections.
pub(crate) fn file(format: u32, sections: &[Section]) -> Vec<u8> {
    let mut body = Vec::new();
    for Section { name, version, plain } in sections {
        let packed = zstd::bulk::compress(plain, 1).expect("compressed");
        section(&mut body, name, *version, plain.len() as u64, &packed);
    }
    let plain = sections.iter().map(|s| s.plain.len() as u64).sum();
    with_header(format, plain, &body)
}

/// Adds a section to a body.
pub(crate) fn section(body: &mut Vec<u8>, name: &str, version: u32, plain: u64, packed: &[u8]) {
    body.push(name.len() as u8);
    body.extend_from_slice(name.as_bytes());
    body.extend_from_slice(&version.to_le_bytes());
    body.extend_from_slice(&plain.to_le_bytes());
    body.extend_from_slice(&(packed.len() as u64).to_le_bytes());
    body.extend_from_slice(packed);
}

/// A file around these bytes, header and checksum in order.
pub(crate) fn with_header(format: u32, plain: u64, body: &[u8]) -> Vec<u8> {
    let mut bytes = b"PITCHPIP".to_vec();
    bytes.extend_from_slice(&format.to_le_bytes());
    bytes.extend_from_slice(&plain.to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    let mut hash = xxhash_rust::xxh3::Xxh3::new();
    hash.update(&bytes[8..28]);
    hash.update(body);
    bytes.extend_from_slice(&hash.digest().to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}
