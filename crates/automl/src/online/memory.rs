//! How much memory a search may use where the caller does not say, and when it has too much of it.

use std::fs;

/// The share of what is free that a search takes.
const SHARE: f64 = 0.7;

/// Where nothing can be found out.
const FALLBACK: u64 = 4 << 30;

/// The share of the address space that is left, where a shell limits it (`ulimit -v`): what is asked for counts, used or
/// not, and the allocator asks for more than it hands out. What cannot be had there ends the process.
const ADDRESS_SHARE: f64 = 0.4;

/// What a search takes at the least, beside what the process already has.
const LEAST: u64 = 48 << 20;

/// Learners are let go where the process has this share of its ceiling in memory.
const FULL_SHARE: f64 = 0.6;

/// And again where it has grown by this share since.
const GROWTH_SHARE: f64 = 0.04;

/// Watches what the process has in memory.
pub(crate) struct MemoryWatch {
    limit: u64,
    /// Whether anybody looks: what the allocator does may not decide in a repeatable run.
    is_on: bool,
    /// The share of the limit beyond which memory is short again; none while it never was.
    full_share: Option<f64>,
}

impl MemoryWatch {
    pub(crate) fn new(limit: u64, is_on: bool) -> Self {
        Self { limit, is_on, full_share: None }
    }

    /// Whether learners must be let go now.
    pub(crate) fn is_short(&mut self) -> bool {
        if !self.is_on {
            return false;
        }
        let filled = filled(self.limit);
        let is_short = filled > self.full_share.unwrap_or(FULL_SHARE);
        if is_short {
            // What is let go is used again before the process grows, but is not given back at once.
            self.full_share = Some(filled + GROWTH_SHARE);
        }
        is_short
    }

    /// Whether memory was short at some time.
    pub(crate) fn was_short(&self) -> bool {
        self.full_share.is_some()
    }
}

/// Seven tenths of what is free: in the machine, or within the limit of the control group.
pub(crate) fn default_limit() -> u64 {
    let machine = available_in_machine();
    let group = available_in_group();
    let free = match (machine, group) {
        (Some(a), Some(b)) => a.min(b),
        (a, b) => a.or(b).unwrap_or(FALLBACK),
    };
    (free as f64 * SHARE) as u64
}

/// Addresses that the allocator sets aside for each thread.
const PER_THREAD: u64 = 66 << 20;

/// A limit on the process's address space, and what it means for a search.
pub(crate) struct AddressSpace {
    /// The limit.
    pub(crate) limit: u64,
    /// The least limit that a search could run under.
    pub(crate) needed: u64,
    /// What the process may have in memory under it.
    pub(crate) ceiling: u64,
}

impl AddressSpace {
    /// The limit for a search on so many threads, where there is one.
    pub(crate) fn limited(n_threads: usize) -> Option<Self> {
        let (limit, resident) = (address_space_limit()?, resident()?);
        let taken = address_space()? + n_threads as u64 * PER_THREAD;
        let needed = taken + (LEAST as f64 / ADDRESS_SHARE) as u64;
        let left = limit.saturating_sub(taken) as f64;
        Some(Self { limit, needed, ceiling: resident + (ADDRESS_SHARE * left) as u64 })
    }
}

/// The limit on the process's address space (`ulimit -v`), where there is one.
pub fn address_space_limit() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The least limit that a search can keep to, now that the table is in memory.
pub(crate) fn least_limit() -> u64 {
    resident().unwrap_or(0) + LEAST
}

/// How full memory is, as a share of the limit: of what the process has in it, or of the addresses it may ask for.
pub(crate) fn filled(limit: u64) -> f64 {
    let of = |used: Option<u64>, limit: u64| used.map_or(0.0, |used| used as f64 / limit as f64);
    let addresses = address_space_limit().map_or(0.0, |limit| of(address_space(), limit));
    of(resident(), limit).max(addresses)
}

/// Whether so many bytes more can be asked for under a limit on the address space.
pub fn has_addresses_for(bytes: u64) -> bool {
    let taken = address_space().unwrap_or(0);
    address_space_limit().is_none_or(|limit| taken.saturating_add(bytes) <= limit)
}

fn address_space() -> Option<u64> {
    bytes_of(&fs::read_to_string("/proc/self/status").ok()?, "VmSize:")
}

/// What this process has in memory, where that can be found out.
pub(crate) fn resident() -> Option<u64> {
    bytes_of(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

fn available_in_machine() -> Option<u64> {
    bytes_of(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// What a line of this name says in kB, in bytes.
fn bytes_of(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(kib * 1024)
}

/// What the control group leaves: version 2, then version 1.
fn available_in_group() -> Option<u64> {
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let pairs = [
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        (
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/memory.usage_in_bytes",
        ),
    ];
    // Without a limit version 2 says "max", and version 1 a number that no machine has.
    pairs.into_iter().find_map(|(limit, used)| {
        let limit = number(limit).filter(|&l| l < 1 << 60)?;
        Some(limit.saturating_sub(number(used).unwrap_or(0)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_available_memory_is_read_in_bytes() {
        let text = "MemTotal:       16384 kB\nMemFree: 1 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(bytes_of(text, "MemAvailable:"), Some(2048 * 1024));
        assert_eq!(bytes_of("MemTotal: 3 kB\n", "MemAvailable:"), None);
        assert_eq!(bytes_of("VmHWM:\t9 kB\nVmRSS:\t    4 kB\n", "VmRSS:"), Some(4096));
    }

    #[test]
    fn there_is_always_a_limit() {
        assert!(default_limit() > 1 << 20);
    }
}
