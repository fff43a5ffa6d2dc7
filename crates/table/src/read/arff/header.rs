//! The declarations at the top: `@relation`, `@attribute NAME TYPE`, `@data`.

use super::date_format::DateFormat;
use super::token::{self, Token};
use crate::TableError;

/// A declared column.
#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// A declared type.
#[derive(Debug)]
pub(super) enum Kind {
    /// `numeric` or `real`.
    Numeric,
    /// `integer`.
    Integer,
    /// `{a, b, c}`.
    Nominal(Vec<String>),
    /// `string`.
    Text,
    /// `date`, with its pattern.
    Date(DateFormat),
}

/// All that stands before the rows.
pub(super) struct Header {
    pub(super) attributes: Vec<Attribute>,
    /// Where the first row's line begins.
    pub(super) data_start: usize,
    /// The number of that line, from 1.
    pub(super) data_line: usize,
}

impl Header {
    pub(super) fn parse(text: &str, file: &str, limit: usize) -> Result<Self, TableError> {
        let mut attributes = Vec::new();
        let mut cursor = Cursor { text, file, at: 0, line: 0 };
        while let Some(line) = cursor.next_line() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('%') {
                continue;
            }
            let (keyword, rest) = line.split_at(keyword_len(line));
            if keyword.eq_ignore_ascii_case("@attribute") {
                if attributes.len() == limit {
                    let (file, n_columns) = (file.to_owned(), count_attributes(text));
                    return Err(TableError::TooManyColumns { file, n_columns, limit });
                }
                attributes.push(cursor.attribute(rest.trim_start())?);
            } else if keyword.eq_ignore_ascii_case("@data") {
                if attributes.is_empty() {
                    return Err(TableError::NoColumns { file: file.to_owned() });
                }
                return Ok(Self { attributes, data_start: cursor.at, data_line: cursor.line + 1 });
            } else if !keyword.eq_ignore_ascii_case("@relation") {
                return Err(cursor.syntax("@attribute or @data", line));
            }
        }
        cursor.line += 1;
        Err(cursor.syntax("@data", "the end of the file"))
    }
}

/// How many attributes are declared, roughly: what a user is told to allow.
fn count_attributes(text: &str) -> usize {
    let declares = |line: &&str| {
        line.trim_start().get(..10).is_some_and(|word| word.eq_ignore_ascii_case("@attribute"))
    };
    text.lines().filter(declares).count()
}

fn keyword_len(line: &str) -> usize {
    let end = |c: char| c.is_ascii_whitespace() || c == '%';
    line.find(end).unwrap_or(line.len())
}

struct Cursor<'a> {
    text: &'a str,
    file: &'a str,
    at: usize,
    /// The line just read, from 1.
    line: usize,
}

impl<'a> Cursor<'a> {
    fn next_line(&mut self) -> Option<&'a str> {
        let rest = &self.text[self.at..];
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |i| i + 1);
        self.at += end;
        self.line += 1;
        Some(&rest[..end])
    }

    fn syntax(&self, expected: &'static str, found: &str) -> TableError {
        let found = found.trim().chars().take(60).collect();
        TableError::ArffSyntax { file: self.file.to_owned(), line: self.line, expected, found }
    }

    fn attribute(&mut self, rest: &'a str) -> Result<Attribute, TableError> {
        let (name, rest) = match rest.as_bytes().first() {
            None => return Err(self.syntax("a name and a type", "@attribute")),
            Some(b'\'' | b'"') => {
                let (token, rest) =
                    token::quoted(rest).map_err(|_| self.syntax("a closing quote", rest))?;
                (token.text.into_owned(), rest)
            }
            Some(_) => {
                let end = |c: char| c.is_ascii_whitespace() || c == '{';
                let (name, rest) = rest.split_at(rest.find(end).unwrap_or(rest.len()));
                (name.to_owned(), rest)
            }
        };
        let kind = self.kind(&name, rest.trim_start())?;
        Ok(Attribute { name, kind })
    }

    fn kind(&mut self, name: &str, declared: &'a str) -> Result<Kind, TableError> {
        if let Some(levels) = declared.strip_prefix('{') {
            return self.levels(levels).map(Kind::Nominal);
        }
        let (word, rest) = declared.split_at(keyword_len(declared));
        match word.to_ascii_lowercase().as_str() {
            "numeric" | "real" => Ok(Kind::Numeric),
            "integer" => Ok(Kind::Integer),
            "string" => Ok(Kind::Text),
            "date" => self.date(name, rest.trim()).map(Kind::Date),
            "relational" => Err(TableError::UnsupportedType {
                file: self.file.to_owned(),
                column: name.to_owned(),
                kind: "relational".to_owned(),
            }),
            _ => Err(self.syntax(
                "numeric, real, integer, string, date or {values} after the name",
                declared,
            )),
        }
    }

    fn date(&self, name: &str, pattern: &str) -> Result<DateFormat, TableError> {
        let pattern = match pattern.as_bytes().first() {
            None | Some(b'%') => return Ok(DateFormat::default()),
            Some(b'\'' | b'"') => {
                let quoted = token::quoted(pattern);
                let (token, _) = quoted.map_err(|_| self.syntax("a closing quote", pattern))?;
                token.text.into_owned()
            }
            Some(_) => pattern.to_owned(),
        };
        DateFormat::compile(&pattern).ok_or_else(|| TableError::UnsupportedType {
            file: self.file.to_owned(),
            column: name.to_owned(),
            kind: format!("date {pattern:?}"),
        })
    }

    /// The declared values, which may go on over several lines, up to the closing brace.
    fn levels(&mut self, first: &'a str) -> Result<Vec<String>, TableError> {
        let mut listed = first.to_owned();
        let end = loop {
            match closing_brace(&listed) {
                Ok(Some(end)) => break end,
                Ok(None) => {}
                Err(token::Unclosed) => return Err(self.syntax("a closing quote", first)),
            }
            let Some(line) = self.next_line() else {
                return Err(self.syntax("a closing brace", "the end of the file"));
            };
            if line.trim_start().starts_with('@') {
                return Err(self.syntax("a closing brace", line));
            }
            listed.push(' ');
            listed.push_str(line.trim());
        };
        let inner = listed[..end].trim();
        let tokens = token::split(inner).map_err(|_| self.syntax("a closing quote", first))?;
        let mut levels: Vec<String> = Vec::with_capacity(tokens.len());
        let mut seen = std::collections::HashSet::with_capacity(tokens.len());
        for Token { text, quoted } in tokens {
            if (quoted || !text.is_empty()) && seen.insert(text.clone()) {
                levels.push(text.into_owned());
            }
        }
        Ok(levels)
    }
}

/// Where the first closing brace outside quotes is.
fn closing_brace(listed: &str) -> Result<Option<usize>, token::Unclosed> {
    let mut at = 0;
    let mut value_begins = true;
    while let Some(&byte) = listed.as_bytes().get(at) {
        match byte {
            b'}' => return Ok(Some(at)),
            // Within a bare value a quote is a character like any other.
            b'\'' | b'"' if value_begins => {
                let (_, rest) = token::quoted(&listed[at..])?;
                at = listed.len() - rest.len();
                value_begins = false;
                continue;
            }
            b',' => value_begins = true,
            b if b.is_ascii_whitespace() => {}
            _ => value_begins = false,
        }
        at += 1;
    }
    Ok(None)
}
