//! Bytes to text: UTF-8 with or without its mark, UTF-16 with one, else Windows-1252.

use std::borrow::Cow;

use crate::{Note, TableError};

/// Windows-1252 where it differs from Latin-1: the bytes 0x80 to 0x9f. The five that it leaves
/// undefined keep their Latin-1 meaning, as browsers have it.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
    '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// The bytes as text without NUL characters; whatever had to be decided goes into the notes.
pub(super) fn decode<'a>(
    bytes: Cow<'a, [u8]>,
    file: &str,
    notes: &mut Vec<Note>,
) -> Result<Cow<'a, str>, TableError> {
    let text = if let Some(rest) = bytes.strip_prefix(&[0xff, 0xfe]) {
        notes.push(Note::Encoding { encoding: "UTF-16".to_owned(), first_line: None });
        Cow::Owned(from_utf16(rest, u16::from_le_bytes, file)?)
    } else if let Some(rest) = bytes.strip_prefix(&[0xfe, 0xff]) {
        notes.push(Note::Encoding { encoding: "UTF-16".to_owned(), first_line: None });
        Cow::Owned(from_utf16(rest, u16::from_be_bytes, file)?)
    } else {
        from_bytes(bytes, file, notes)?
    };
    refuse_nul(text.as_bytes(), file)?;
    Ok(text)
}

fn from_bytes<'a>(
    bytes: Cow<'a, [u8]>,
    file: &str,
    notes: &mut Vec<Note>,
) -> Result<Cow<'a, str>, TableError> {
    // Before the fallback, or a binary file would pass for Latin-1.
    refuse_nul(&bytes, file)?;
    let text = match bytes {
        Cow::Borrowed(bytes) => {
            std::str::from_utf8(bytes).map(Cow::Borrowed).map_err(|_| bytes.to_vec())
        }
        Cow::Owned(bytes) => String::from_utf8(bytes).map(Cow::Owned).map_err(|e| e.into_bytes()),
    };
    Ok(match text {
        Ok(Cow::Borrowed(text)) => Cow::Borrowed(text.strip_prefix('\u{feff}').unwrap_or(text)),
        Ok(Cow::Owned(mut text)) => {
            if text.starts_with('\u{feff}') {
                text.drain(..'\u{feff}'.len_utf8());
            }
            Cow::Owned(text)
        }
        Err(bytes) => Cow::Owned(from_latin1(&bytes, notes)),
    })
}

fn from_latin1(bytes: &[u8], notes: &mut Vec<Note>) -> String {
    let windows = bytes.iter().any(|b| (0x80..0xa0).contains(b));
    let line = 1 + match std::str::from_utf8(bytes) {
        Ok(_) => 0,
        Err(e) => memchr::memchr_iter(b'\n', &bytes[..e.valid_up_to()]).count(),
    };
    let name = if windows { "Windows-1252" } else { "Latin-1" };
    notes.push(Note::Encoding { encoding: name.to_owned(), first_line: Some(line) });
    let decode = |&b: &u8| match b {
        0x80..0xa0 => WINDOWS_1252[usize::from(b - 0x80)],
        _ => char::from(b),
    };
    bytes.iter().map(decode).collect()
}

fn from_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, file: &str) -> Result<String, TableError> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text = String::with_capacity(pairs.len());
    let bad = |text: &str| TableError::BadEncoding {
        file: file.to_owned(),
        encoding: "UTF-16",
        line: 1 + memchr::memchr_iter(b'\n', text.as_bytes()).count(),
    };
    for c in char::decode_utf16(pairs.iter().map(|&pair| unit(pair))) {
        text.push(c.map_err(|_| bad(&text))?);
    }
    if rest.is_empty() { Ok(text) } else { Err(bad(&text)) }
}

/// No table holds NUL: where there is one, the file is binary or in a wide encoding without a mark.
fn refuse_nul(bytes: &[u8], file: &str) -> Result<(), TableError> {
    let Some(at) = memchr::memchr(0, bytes) else { return Ok(()) };
    let before = &bytes[..at];
    let line = 1 + memchr::memchr_iter(b'\n', before).count();
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |i| i + 1);
    let is_delimiter = |b: &&u8| matches!(b, b',' | b';' | b'\t' | b'|');
    let column = 1 + before[line_start..].iter().filter(is_delimiter).count();
    Err(TableError::NulByte { file: file.to_owned(), line, column })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> (String, Vec<String>) {
        let mut notes = Vec::new();
        let text = decode(Cow::Borrowed(bytes), "x.csv", &mut notes).unwrap().into_owned();
        (text, notes.iter().map(Note::to_string).collect())
    }

    #[test]
    fn a_byte_order_mark_is_left_off() {
        assert_eq!(text(b"\xef\xbb\xbfa,b"), ("a,b".into(), vec![]));
        assert_eq!(text(b"\xff\xfea\0,\0").0, "a,");
        assert_eq!(text(b"\xfe\xff\0a\0,").0, "a,");
    }

    #[test]
    fn other_bytes_are_latin1_or_windows_1252_and_noted() {
        let (latin, notes) = text(b"a\ncaf\xe9");
        assert_eq!(latin, "a\ncafé");
        assert_eq!(
            notes,
            ["the text is not UTF-8 (first seen on line 2), so it was read as Latin-1"]
        );
        let (windows, notes) = text(b"\x80 5");
        assert_eq!(windows, "€ 5");
        assert!(notes[0].ends_with("Windows-1252"));
    }

    #[test]
    fn nul_bytes_and_broken_utf16_are_refused() {
        let fail = |bytes: &'static [u8]| {
            decode(Cow::Borrowed(bytes), "x.csv", &mut Vec::new()).unwrap_err().to_string()
        };
        assert_eq!(
            fail(b"a,b\n1,\0"),
            "x.csv: line 2, column 2 holds a NUL byte, so this is not text"
        );
        assert_eq!(
            fail(b"\xff\xfea\0b"),
            "x.csv begins as UTF-16, but line 1 holds bytes that are not"
        );
    }
}
