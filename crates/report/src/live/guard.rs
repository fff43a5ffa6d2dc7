//! Who may see the page: whoever has its token, under a name of this machine, from no other origin.
//!
//! The socket is on the loopback interface, so that only this machine can reach it; but its other users can, and so can
//! any web page that its user has open. The token keeps out the former. Of the latter, one that lets its own name point
//! here is known by the `Host` that it asks for, and others by the `Origin` that browsers send along.

use std::fmt;
use std::io;

use rand::TryRng;
use rand::rngs::SysRng;

/// 128 bits that nobody can guess.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token(String);

impl Token {
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = [0; 16];
        SysRng.try_fill_bytes(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// In the same time for every wrong guess.
    fn is(&self, guess: &str) -> bool {
        let differences = self.0.bytes().zip(guess.bytes()).map(|(a, b)| a ^ b);
        self.0.len() == guess.len() && differences.fold(0, |all, d| all | d) == 0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// It is shown where the address is told, and nowhere else.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// What of a request says who asks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asker<'a> {
    pub(super) host: Option<&'a str>,
    pub(super) origin: Option<&'a str>,
    /// `Sec-Fetch-Site`.
    pub(super) site: Option<&'a str>,
}

impl Asker<'_> {
    /// Whether it may open the page itself, as a link that somebody clicked may.
    pub(super) fn may_open(&self) -> bool {
        let Some(host) = self.host.filter(|host| is_this_machine(host)) else { return false };
        self.origin.is_none_or(|origin| origin.strip_prefix("http://") == Some(host))
    }

    /// Whether it may ask what has happened, or to stop: the page itself, or no web page at all.
    pub(super) fn may_ask(&self) -> bool {
        self.may_open() && self.site.is_none_or(|site| matches!(site, "same-origin" | "none"))
    }
}

/// Any port: the page may be reached through a tunnel.
fn is_this_machine(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.parse::<u16>().is_ok() => name,
        _ => host,
    };
    matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

/// What is asked for, where the token is right.
pub(super) fn path_within<'a>(url: &'a str, token: &Token) -> Option<(&'a str, &'a str)> {
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let (guess, rest) = path.strip_prefix('/')?.split_once('/')?;
    token.is(guess).then_some((rest, query))
}

/// The value of a name in a query; numbers and plain letters are all that is asked with.
pub(super) fn asked<'a>(query: &'a str, name: &str) -> &'a str {
    let value = |pair: &'a str| pair.strip_prefix(name)?.strip_prefix('=');
    let found = query.split('&').find_map(value).unwrap_or("");
    let is_plain = found.len() <= 32 && found.bytes().all(|b| b.is_ascii_alphanumeric());
    if is_plain { found } else { "" }
}
