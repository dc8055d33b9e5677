//! Counters of a service: one process and all its descendants.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use procfs_core::prelude::*;
use procfs_core::process::{Io, Stat};

use crate::Counters;
use crate::procfs::Units;

/// All live processes of a host, read once per sample and shared by all services.
pub struct Table {
    stats: BTreeMap<i32, Stat>,
}

impl Table {
    /// Reads `stat` of every process; those that end meanwhile are left out.
    pub fn read(proc_root: &Path) -> Result<Self, String> {
        let entries =
            fs::read_dir(proc_root).map_err(|error| format!("{} cannot be listed: {error}", proc_root.display()))?;
        let pids = entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let stats = pids.filter_map(|pid| Some((pid, Stat::from_file(proc_root.join(format!("{pid}/stat"))).ok()?)));
        Ok(Self { stats: stats.collect() })
    }

    /// `root` and everything descended from it that is alive.
    pub fn tree(&self, root: i32) -> Vec<i32> {
        let mut tree = vec![root];
        let mut next = 0;
        while next < tree.len() {
            let parent = tree[next];
            // A pid used again while we read could make a ring of parents: each is visited once.
            let children = self
                .stats
                .values()
                .filter(|stat| stat.ppid == parent)
                .map(|stat| stat.pid);
            let new: Vec<i32> = children.filter(|pid| !tree.contains(pid)).collect();
            tree.extend(new);
            next += 1;
        }
        tree.retain(|pid| self.stats.contains_key(pid));
        tree
    }

    /// The parent of a process, its parent, and so on.
    pub fn ancestors(&self, pid: i32) -> impl Iterator<Item = i32> {
        // A pid used again while we read could make a ring of parents.
        std::iter::successors(Some(pid), |pid| self.stats.get(pid).map(|stat| stat.ppid))
            .skip(1)
            .take(self.stats.len())
    }

    /// Sums over the tree of `root`; `None` when no process of it is alive. CPU and I/O of waited-for
    /// children are included.
    pub fn service(&self, proc_root: &Path, root: i32, units: Units) -> Option<Counters> {
        let tree = self.tree(root);
        if tree.is_empty() {
            return None;
        }
        let mut out = Counters::new();
        let mut add = |name: &str, value: u64| *out.entry(name.to_owned()).or_default() += value;
        for pid in tree {
            let stat = &self.stats[&pid];
            add("cpu_user_us", units.tick_us(stat.utime + stat.cutime.max(0) as u64));
            add("cpu_system_us", units.tick_us(stat.stime + stat.cstime.max(0) as u64));
            add("memory_bytes", stat.rss * units.page_bytes);
            add("threads", stat.num_threads.max(0) as u64);
            add("processes", 1);
            // Needs permission; without it the fields are left out.
            if let Ok(io) = Io::from_file(proc_root.join(format!("{pid}/io"))) {
                add("disk_read_bytes", io.read_bytes);
                add("disk_write_bytes", io.write_bytes);
            }
        }
        Some(out)
    }
}

/// CPU time of the ended, waited-for children of `pid`, in microseconds.
pub fn ended_children_cpu_us(proc_root: &Path, pid: i32, units: Units) -> Option<u64> {
    let stat = Stat::from_file(proc_root.join(format!("{pid}/stat"))).ok()?;
    Some(units.tick_us(stat.cutime.max(0) as u64 + stat.cstime.max(0) as u64))
}

/// CPU time of the threads of `pid` whose names begin with each of `prefixes`, in nanoseconds: one pass over the
/// threads.
pub fn thread_cpu_ns<const N: usize>(proc_root: &Path, pid: i32, prefixes: [&str; N]) -> [u64; N] {
    let mut sums = [0; N];
    let Ok(tasks) = fs::read_dir(proc_root.join(format!("{pid}/task"))) else {
        return sums;
    };
    for task in tasks.flatten() {
        let Ok(comm) = fs::read_to_string(task.path().join("comm")) else {
            continue; // it ended
        };
        let Some(at) = prefixes.iter().position(|prefix| comm.starts_with(prefix)) else {
            continue;
        };
        let schedstat = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        sums[at] += schedstat
            .split_whitespace()
            .next()
            .and_then(|ns| ns.parse::<u64>().ok())
            .unwrap_or(0);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat_line(pid: i32, parent: i32, user_ticks: u64) -> String {
        format!(
            "{pid} (java) S {parent} {pid} {pid} 0 -1 0 0 0 0 0 {user_ticks} 0 0 0 20 0 3 0 5 1000 10 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n"
        )
    }

    #[test]
    fn a_service_is_its_whole_tree() {
        let root = tempfile::tempdir().unwrap();
        for (pid, parent, ticks) in [(10, 1, 100), (11, 10, 50), (12, 11, 25), (20, 1, 1000)] {
            fs::create_dir(root.path().join(pid.to_string())).unwrap();
            fs::write(root.path().join(format!("{pid}/stat")), stat_line(pid, parent, ticks)).unwrap();
        }
        let table = Table::read(root.path()).unwrap();
        let units = Units {
            ticks_per_s: 100,
            page_bytes: 4096,
        };
        let counters = table.service(root.path(), 10, units).unwrap();
        assert_eq!(
            (counters["cpu_user_us"], counters["processes"], counters["threads"]),
            (1_750_000, 3, 9)
        );
        assert_eq!(counters["memory_bytes"], 3 * 10 * 4096);
        assert!(table.service(root.path(), 99, units).is_none());
    }

    #[test]
    fn ancestors_are_told_from_the_nearest_on() {
        let table = Table::read(Path::new("/proc")).unwrap();
        let own = std::process::id().cast_signed();
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        let ancestors: Vec<i32> = table.ancestors(own).collect();
        assert_eq!(ancestors[0], parent);
        assert!(ancestors.contains(&1));
    }

    #[test]
    fn threads_are_told_apart_by_their_names() {
        let root = tempfile::tempdir().unwrap();
        for (task, comm, ns) in [
            (1, "java", 7),
            (2, "C2 CompilerThre", 30),
            (3, "C1 CompilerThre", 4),
            (4, "C2 CompilerThre", 5),
        ] {
            let folder = root.path().join(format!("10/task/{task}"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("comm"), format!("{comm}\n")).unwrap();
            fs::write(folder.join("schedstat"), format!("{ns} 1 2\n")).unwrap();
        }
        assert_eq!(thread_cpu_ns(root.path(), 10, ["C1 ", "C2 "]), [4, 35]);
        assert_eq!(thread_cpu_ns(root.path(), 11, ["C1 "]), [0]);
    }

    #[test]
    fn our_own_process_is_found() {
        let table = Table::read(Path::new("/proc")).unwrap();
        assert!(
            table
                .service(Path::new("/proc"), std::process::id() as i32, Units::here())
                .is_some()
        );
    }
}
