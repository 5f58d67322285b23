//! The CPU quota and CPU set of the container's control groups, in both versions, including all
//! parent groups.

use super::Finding;
use crate::sysfs;
use std::path::{Path, PathBuf};

/// The share of CPU time and the CPUs that this process is limited to.
pub fn quota() -> Finding {
    const TOPIC: &str = "CPU quota";
    let groups = sysfs::text("/proc/self/cgroup").unwrap_or_default();
    let mounts = sysfs::text("/proc/self/mountinfo").unwrap_or_default();
    let limits = Limits::of(&groups, &mounts);
    let set = limits
        .set
        .map_or_else(String::new, |set| format!("; CPU set {set}"));
    if !limits.seen {
        return Finding::good(
            TOPIC,
            format!("unknown: the control groups of this process are not mounted{set}"),
            "threads run for whole time slices",
        );
    }
    let Some(quota) = limits.cpus else {
        let offered = format!("none{set}");
        return Finding::good(TOPIC, offered, "threads run for whole time slices");
    };
    let allowed = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count());
    let finding = Finding::good(
        TOPIC,
        format!("{quota:.2} CPUs{set}"),
        "locks cannot detect an exhausted quota",
    );
    if quota < f64::from(allowed) {
        finding.costs(format!(
            "a throttled holder can block waiters on {allowed} CPUs for the rest of a period; raise \
             the quota, or allow fewer CPUs"
        ))
    } else {
        finding
    }
}

/// Limits of a process; `None` if unlimited.
#[derive(Debug, Default, PartialEq)]
struct Limits {
    /// Whether its groups' folders are accessible.
    seen: bool,
    /// CPUs' worth of time: the least of all groups from its own to the root.
    cpus: Option<f64>,
    /// The CPUs of its own group.
    set: Option<String>,
}

impl Limits {
    fn of(groups: &str, mounts: &str) -> Self {
        let mut limits = Self::default();
        for line in groups.lines() {
            // hierarchy:controllers:path; the second version has no controllers.
            let mut parts = line.splitn(3, ':');
            let (_, Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            let has = |name| controllers.split(',').any(|controller| controller == name);
            let is_second = controllers.is_empty();
            if is_second || has("cpu") {
                let wanted = if is_second { None } else { Some("cpu") };
                for folder in folders(mounts, wanted, path) {
                    let quota = if is_second {
                        second(&folder)
                    } else {
                        first(&folder)
                    };
                    limits.seen = true;
                    limits.cpus = match (limits.cpus, quota) {
                        (Some(least), Some(quota)) => Some(least.min(quota)),
                        (least, quota) => least.or(quota),
                    };
                }
            }
            if is_second || has("cpuset") {
                let wanted = if is_second { None } else { Some("cpuset") };
                let own = folders(mounts, wanted, path).into_iter().next();
                let file = if is_second {
                    "cpuset.cpus.effective"
                } else {
                    "cpuset.effective_cpus"
                };
                let set = own.and_then(|folder| sysfs::text(folder.join(file)));
                limits.set = limits.set.or(set);
            }
        }
        limits
    }
}

/// The group's folder and all above it, as far as they are mounted here.
fn folders(mounts: &str, controller: Option<&str>, path: &str) -> Vec<PathBuf> {
    let Some((root, point)) = mounts.lines().find_map(|line| mount(line, controller)) else {
        return Vec::new();
    };
    // The mounted tree is another namespace's, and this group is outside.
    if root.starts_with("/..") {
        return Vec::new();
    }
    // A container may see a part of the tree as the root.
    let below = path.strip_prefix(&root).unwrap_or(path);
    let mut folder = point.join(below.trim_start_matches('/'));
    if !folder.is_dir() {
        folder.clone_from(&point);
    }
    folder
        .ancestors()
        .take_while(|ancestor| ancestor.starts_with(&point))
        .map(Path::to_path_buf)
        .collect()
}

/// The root and the mount point, if `line` mounts this controller's tree.
fn mount(line: &str, controller: Option<&str>) -> Option<(String, PathBuf)> {
    let (before, after) = line.split_once(" - ")?;
    let mut kind = after.split(' ');
    let fits = match (kind.next()?, controller) {
        ("cgroup2", None) => true,
        ("cgroup", Some(controller)) => kind.nth(1)?.split(',').any(|option| option == controller),
        _ => false,
    };
    let mut fields = before.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    // Spaces in paths are written in octal.
    fits.then(|| (root.to_owned(), PathBuf::from(point.replace("\\040", " "))))
}

fn second(folder: &Path) -> Option<f64> {
    let text = sysfs::text(folder.join("cpu.max"))?;
    let (quota, period) = text.split_once(' ')?;
    ratio(quota, period)
}

fn first(folder: &Path) -> Option<f64> {
    let quota = sysfs::text(folder.join("cpu.cfs_quota_us"))?;
    let period = sysfs::text(folder.join("cpu.cfs_period_us"))?;
    ratio(&quota, &period)
}

/// `None` for `max` and for `-1`, which mean no quota.
fn ratio(quota: &str, period: &str) -> Option<f64> {
    let quota: f64 = quota.parse().ok()?;
    let period: f64 = period.parse().ok()?;
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_quota_of_nested_groups_counts() {
        let root = tempfile::tempdir().unwrap();
        let own = root.path().join("pod/app");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(root.path().join("pod/cpu.max"), "150000 100000\n").unwrap();
        std::fs::write(own.join("cpu.max"), "400000 100000\n").unwrap();
        std::fs::write(own.join("cpuset.cpus.effective"), "0-3\n").unwrap();
        let mounts = format!(
            "30 1 0:26 / {} rw shared:4 - cgroup2 none rw",
            root.path().display()
        );
        let limits = Limits::of("0::/pod/app", &mounts);
        assert_eq!(limits.cpus, Some(1.5));
        assert_eq!(limits.set.as_deref(), Some("0-3"));
    }

    #[test]
    fn the_first_version_and_a_part_of_the_tree_are_understood() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("cpu.cfs_quota_us"), "50000\n").unwrap();
        std::fs::write(root.path().join("cpu.cfs_period_us"), "100000\n").unwrap();
        let mounts = format!(
            "31 1 0:27 /docker/abc {} ro - cgroup cgroup rw,cpu,cpuacct",
            root.path().display()
        );
        let limits = Limits::of("4:cpu,cpuacct:/docker/abc\n0::/", &mounts);
        assert_eq!(limits.cpus, Some(0.5));
    }

    #[test]
    fn no_quota_is_none() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("cpu.max"), "max 100000\n").unwrap();
        let mounts = format!("30 1 0:26 / {} rw - cgroup2 none rw", root.path().display());
        let limits = Limits::of("0::/", &mounts);
        assert!(limits.seen && limits.cpus.is_none());
    }

    #[test]
    fn what_cannot_be_seen_is_not_called_unlimited() {
        assert!(!Limits::of("", "").seen);
        let outside = "30 1 0:26 /../.. / rw - cgroup2 none rw";
        assert!(!Limits::of("0::/", outside).seen);
    }
}
