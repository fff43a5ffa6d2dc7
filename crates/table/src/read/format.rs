//! Which format a file is in, told by its first bytes.

use crate::TableError;

/// A table format, compression aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Delimited text: commas, tabs, semicolons or pipes.
    Csv,
    /// Weka's attribute-relation file format.
    Arff,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, as a file (Feather v2) or a stream.
    Arrow,
}

/// Beginnings of files that people hand in and that are no tables of ours.
const FOREIGN: [(&[u8], &str); 7] = [
    (b"PK\x03\x04", "a spreadsheet or zip archive"),
    (b"\xd0\xcf\x11\xe0", "an old Excel spreadsheet"),
    (b"FEA1", "a Feather version 1 file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"%PDF", "a PDF document"),
    (b"BZh", "a bzip2 archive"),
];

/// The format of the (decompressed) bytes.
pub(super) fn detect(bytes: &[u8], file: &str) -> Result<Format, TableError> {
    if let Some((_, format)) = FOREIGN.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        return Err(TableError::UnsupportedFormat { file: file.to_owned(), format });
    }
    // A stream begins with the continuation marker and the length of its schema message.
    let is_stream = bytes.starts_with(&[0xff; 4]) && bytes.len() >= 8;
    Ok(if bytes.starts_with(b"PAR1") || bytes.starts_with(b"PARE") {
        Format::Parquet
    } else if bytes.starts_with(b"ARROW1") || is_stream {
        Format::Arrow
    } else if begins_like_arff(bytes) {
        Format::Arff
    } else {
        Format::Csv
    })
}

/// What pages, and tables that were saved as parts of one, begin with.
const HTML: [&[u8]; 9] = [
    b"<!doctype html",
    b"<html",
    b"<head",
    b"<body",
    b"<meta",
    b"<table",
    b"<div",
    b"<style",
    b"<script",
];

/// So much of a text is looked at for the end of the JSON that it begins with.
const LOOK: usize = 1 << 16;

/// Refuses text that is plainly no table, by name: a page that a download gave instead of a file, an object of JSON.
pub(super) fn check_is_table(bytes: &[u8], file: &str) -> Result<(), TableError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii_start();
    let begins =
        |word: &[u8]| bytes.len() >= word.len() && bytes[..word.len()].eq_ignore_ascii_case(word);
    let format = match bytes {
        _ if HTML.iter().any(|tag| begins(tag)) => "an HTML page",
        _ if begins(b"<?xml") => "an XML document",
        [b'{' | b'[', rest @ ..] if is_json(bytes[0], rest) => "JSON",
        _ => return Ok(()),
    };
    Err(TableError::UnsupportedFormat { file: file.to_owned(), format })
}

/// What follows the bracket that JSON begins with: a key and a colon, another bracket, or a value, the bracket closed at
/// the end of a line and no sooner. `[x],[y]` is a header.
fn is_json(opening: u8, rest: &[u8]) -> bool {
    let all = rest;
    let rest = rest.trim_ascii_start();
    match rest.first() {
        Some(b'"') if opening == b'{' => {
            let end = memchr::memchr(b'"', &rest[1..]).map_or(rest.len(), |at| at + 2);
            rest[end.min(rest.len())..].trim_ascii_start().starts_with(b":")
        }
        Some(b'{') if opening == b'[' => is_json(b'{', &rest[1..]),
        Some(b'[') if opening == b'[' => true,
        Some(b'"' | b'-' | b'0'..=b'9') if opening == b'[' => closes_at_the_end(all),
        Some(b'}') => opening == b'{',
        Some(b']') => opening == b'[' && rest[1..].trim_ascii().is_empty(),
        _ => false,
    }
}

/// Whether the bracket that was opened before a text is closed at the end of a line, or far away.
fn closes_at_the_end(rest: &[u8]) -> bool {
    let (mut depth, mut is_quoted) = (1, false);
    for (at, &byte) in rest.iter().take(LOOK).enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted || rest[at - 1] == b'\\',
            b'[' | b'{' if !is_quoted => depth += 1,
            b']' | b'}' if !is_quoted => depth -= 1,
            _ => (),
        }
        if depth == 0 {
            let line = rest[at + 1..].split(|&b| b == b'\n').next().unwrap_or_default();
            return line.trim_ascii().is_empty();
        }
    }
    rest.len() > LOOK
}

/// Whether the first line that is neither blank nor a comment is an ARFF declaration.
fn begins_like_arff(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines = bytes.split(|&b| b == b'\n').map(|line| line.trim_ascii());
    let first = lines.find(|line| !line.is_empty() && !line.starts_with(b"%")).unwrap_or_default();
    let declares = |keyword: &[u8]| {
        first.len() > keyword.len()
            && first[..keyword.len()].eq_ignore_ascii_case(keyword)
            && first[keyword.len()].is_ascii_whitespace()
    };
    declares(b"@relation") || declares(b"@attribute")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arff_is_known_by_its_first_declaration() {
        let detect = |bytes: &[u8]| detect(bytes, "x").unwrap();
        assert_eq!(detect(b"% note\n\n  @RELATION iris\n"), Format::Arff);
        assert_eq!(detect(b"@relation,b\n1,2\n"), Format::Csv);
        assert_eq!(detect(b"a,b\n1,2\n"), Format::Csv);
        assert_eq!(detect(b"PAR1...."), Format::Parquet);
        assert_eq!(detect(b""), Format::Csv);
    }

    #[test]
    fn pages_and_objects_are_named_as_such() {
        for (text, format) in [
            ("<!DOCTYPE html><html>", Some("an HTML page")),
            ("\n <html lang=en>", Some("an HTML page")),
            ("<?xml version='1.0'?>", Some("an XML document")),
            ("[{\"a\": 1}, {\"a\": 2}]", Some("JSON")),
            ("{\"a\": [1, 2]}\n", Some("JSON")),
            ("<table border=\"1\" class=\"dataframe\">\n<tr>", Some("an HTML page")),
            ("[1, 2]\n", Some("JSON")),
            ("[[1,2],[3,4]]", Some("JSON")),
            ("[\n  \"a\",\n  \"b]\"\n]\n", Some("JSON")),
            ("[]\n", Some("JSON")),
            ("{a},{b}\n1,2\n", None),
            ("[1],[2]\n1,2\n", None),
            ("[1],2\n3,4\n", None),
            ("[x],[y]\n1,2\n", None),
            ("a,b\n1,2\n", None),
            ("", None),
        ] {
            let named = match check_is_table(text.as_bytes(), "x") {
                Err(TableError::UnsupportedFormat { format, .. }) => Some(format),
                _ => None,
            };
            assert_eq!(named, format, "{text}");
        }
    }

    #[test]
    fn a_spreadsheet_is_named_as_such() {
        let err = detect(b"PK\x03\x04....", "sales.xlsx").unwrap_err();
        assert_eq!(
            err.to_string(),
            "sales.xlsx is a spreadsheet or zip archive, which is not read"
        );
    }
}
