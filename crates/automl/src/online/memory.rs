//! How much memory a search may use where the caller does not say.

use std::fs;

/// The share of what is free that a search takes.
const SHARE: f64 = 0.7;

/// Where nothing can be found out.
const FALLBACK: u64 = 4 << 30;

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
