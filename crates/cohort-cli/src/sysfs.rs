//! Small files of the kernel, and the lists of numbers in them.

use std::path::Path;

/// The text of a small file, trimmed; `None` if it cannot be read or is empty.
pub fn text(path: impl AsRef<Path>) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The count of numbers in a list like `0-3,8`.
pub fn count(list: &str) -> Option<usize> {
    numbers(list).map(|numbers| numbers.len())
}

/// The numbers in such a list.
pub fn numbers(list: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for range in list.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let first: usize = first.trim().parse().ok()?;
        let last: usize = last.trim().parse().ok()?;
        last.checked_sub(first)?;
        numbers.extend(first..=last);
    }
    Some(numbers)
}

/// The value after `name:` in a file of such lines.
pub fn field(path: impl AsRef<Path>, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

/// The CPUs' model name.
pub fn cpu_model() -> String {
    field("/proc/cpuinfo", "model name")
        .or_else(|| field("/proc/cpuinfo", "CPU part").map(|part| format!("CPU part {part}")))
        .unwrap_or_else(|| "unknown CPU".to_owned())
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn lists_are_counted() {
        assert_eq!(count("0"), Some(1));
        assert_eq!(count("0-3,8,10-11"), Some(7));
        assert_eq!(count("3-1"), None);
        assert_eq!(count("all"), None);
    }
}
