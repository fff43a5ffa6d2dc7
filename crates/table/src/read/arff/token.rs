//! ARFF's words: bare, or in single or double quotes with backslash escapes.

use std::borrow::Cow;

/// A word of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) quoted: bool,
}

/// A quote that opens and never closes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unclosed;

/// The quoted word at the beginning of `text`, which begins with a quote, and what follows it.
pub(super) fn quoted(text: &str) -> Result<(Token<'_>, &str), Unclosed> {
    let quote = text.as_bytes()[0];
    let body = &text[1..];
    let mut at = 0;
    let mut escaped = false;
    loop {
        let next = memchr::memchr2(quote, b'\\', &body.as_bytes()[at..]).ok_or(Unclosed)?;
        at += next;
        if body.as_bytes()[at] == quote {
            break;
        }
        escaped = true;
        // The character after the backslash may have several bytes; all but the first are no quotes.
        at += 2;
        if at > body.len() {
            return Err(Unclosed);
        }
    }
    let inner = &body[..at];
    let text = if escaped { Cow::Owned(unescape(inner)) } else { Cow::Borrowed(inner) };
    Ok((Token { text, quoted: true }, &body[at + 1..]))
}

fn unescape(inner: &str) -> String {
    let mut text = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            text.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('u') => match code_point(chars.as_str()) {
                Some(decoded) => {
                    text.push(decoded);
                    chars.nth(3);
                }
                None => text.push('u'),
            },
            Some(other) => text.push(other),
            None => text.push('\\'),
        }
    }
    text
}

/// The character of four hexadecimal digits.
fn code_point(digits: &str) -> Option<char> {
    let digits = digits.get(..4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))?;
    char::from_u32(u32::from_str_radix(digits, 16).ok()?)
}

/// The words between separators. Commas separate where there are any outside quotes; otherwise
/// tabs; otherwise spaces. Weka separates by all of them, but files in the wild have bare values with spaces.
pub(super) fn split(text: &str) -> Result<Vec<Token<'_>>, Unclosed> {
    let mut tokens = Vec::new();
    split_into(text, &mut tokens)?;
    Ok(tokens)
}

/// The same, into a list that is used again.
pub(super) fn split_into<'a>(text: &'a str, tokens: &mut Vec<Token<'a>>) -> Result<(), Unclosed> {
    for separator in [b',', b'\t', b' '] {
        tokens.clear();
        split_by(text, separator, tokens)?;
        if tokens.len() > 1 {
            return Ok(());
        }
    }
    Ok(())
}

fn split_by<'a>(text: &'a str, separator: u8, tokens: &mut Vec<Token<'a>>) -> Result<(), Unclosed> {
    let mut rest = text;
    loop {
        rest = trim_start(rest);
        let (token, after) = match rest.as_bytes().first() {
            Some(b'\'' | b'"') => quoted(rest)?,
            _ => {
                let end = memchr::memchr(separator, rest.as_bytes()).unwrap_or(rest.len());
                let text = Cow::Borrowed(rest[..end].trim_ascii_end());
                (Token { text, quoted: false }, &rest[end..])
            }
        };
        tokens.push(token);
        match after.bytes().position(|b| b == separator || !b.is_ascii_whitespace()) {
            // Whitespace to the end.
            None => return Ok(()),
            Some(i) if after.as_bytes()[i] == separator => rest = &after[i + 1..],
            // Something right behind a closing quote: a word of its own, which leads to an error
            // about the number of cells.
            Some(i) => rest = &after[i..],
        }
        if separator == b' ' && trim_start(rest).is_empty() {
            return Ok(());
        }
    }
}

fn trim_start(text: &str) -> &str {
    text.trim_ascii_start()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        split(text).unwrap().into_iter().map(|t| t.text.into_owned()).collect()
    }

    #[test]
    fn words_may_be_bare_or_quoted_with_escapes() {
        assert_eq!(words(r"a, 'b c' ,d"), ["a", "b c", "d"]);
        assert_eq!(words(r#"'it\'s',"say \"x\"",'a\\b'"#), ["it's", "say \"x\"", r"a\b"]);
        assert_eq!(words(r"'a\nb\u00e9'"), ["a\nbé"]);
        assert_eq!(words("a b,c"), ["a b", "c"]);
        assert_eq!(words("1 2  3 "), ["1", "2", "3"]);
        assert_eq!(words("1\t2\tx y"), ["1", "2", "x y"]);
        assert_eq!(words("a,,b,"), ["a", "", "b", ""]);
        assert_eq!(words("'\\é'"), ["é"]);
    }

    #[test]
    fn an_open_quote_is_found() {
        for text in ["'a", r"'a\'", r"a,'b\", "\"", "'\\"] {
            assert_eq!(split(text), Err(Unclosed), "{text}");
        }
    }
}
