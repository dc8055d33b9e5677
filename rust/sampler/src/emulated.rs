//! Counters of an emulated host: those of its control groups and its disk instead of the machine's. Its link
//! needs nothing: `/proc/net` shows the reader's network namespace.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::time::ClockId;
use serde::Deserialize;

use crate::Counters;
use crate::clock::read_ns;
use crate::disk::put_named;
use crate::host::pressure;

/// The places of the host's counters. Control groups of version 1 have a directory for each controller, those
/// of version 2 have one. Where limits come from several nested groups, `cpu` and `memory` are the groups
/// that set them, in both versions.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Emulated {
    /// Cores by its quota; the machine's without one. 0: cores are not bounded, and stay the machine's.
    pub cores: f64,
    /// 0: memory is not bounded, and stays the machine's.
    pub memory_bytes: u64,
    pub cpu: Option<PathBuf>,
    pub cpuacct: Option<PathBuf>,
    pub memory: Option<PathBuf>,
    /// Its group of version 2; next to version 1 it shows the pressure stall.
    pub unified: Option<PathBuf>,
    /// Name of its block device, e.g. `loop3`; without one its data are on the machine's disk.
    pub disk: Option<String>,
}

/// Replaces the machine's counters by the host's own.
pub fn overlay(proc_root: &Path, host: &Emulated, out: &mut Counters) -> Result<(), String> {
    if host.memory_bytes > 0 {
        memory(host, out)?;
    }
    if let Some(name) = &host.disk {
        put_named(proc_root, name, out)?;
    }
    if host.cores <= 0.0 {
        return Ok(());
    }
    cpu(host, out)?;
    // These are the machine's, for all its hosts together.
    out.retain(|name, _| !name.starts_with("pressure_") && !name.starts_with("vm_pswp") && name != "run_delay_us");
    match &host.unified {
        Some(group) => pressure(
            ["cpu", "io", "memory"].map(|what| group.join(format!("{what}.pressure"))),
            out,
        ),
        None => Ok(()),
    }
}

fn cpu(host: &Emulated, out: &mut Counters) -> Result<(), String> {
    let (user_us, system_us) = match (&host.cpuacct, host.cpu.as_ref().or(host.unified.as_ref())) {
        (Some(group), _) => {
            // Only `usage` is exact. The kernel divides it by its clock's ticks, and those miss most of what a quota lets run in
            // pieces: 0.05 core was counted of a host that used all of its 0.25.
            let used_us = number(&group.join("cpuacct.usage"))? / 1_000;
            let system_us = (number(&group.join("cpuacct.usage_sys"))? / 1_000).min(used_us);
            (used_us - system_us, system_us)
        }
        (None, Some(group)) => {
            let stat = group.join("cpu.stat");
            (field(&stat, "user_usec")?, field(&stat, "system_usec")?)
        }
        (None, None) => return Err("an emulated host without a control group".into()),
    };
    // Steal stays the machine's: all its hosts suffer from it.
    for name in ["nice", "iowait", "irq", "softirq"] {
        out.insert(format!("cpu_{name}_us"), 0);
    }
    out.insert("cpu_user_us".into(), user_us);
    out.insert("cpu_system_us".into(), system_us);
    let allowed_us = read_ns(ClockId::Monotonic) as f64 / 1e3 * host.cores;
    out.insert(
        "cpu_idle_us".into(),
        (allowed_us as u64).saturating_sub(user_us + system_us),
    );
    let (group, throttled_per_us) = match (&host.cpu, &host.cpuacct, &host.unified) {
        (Some(group), Some(_), _) => (group, ("throttled_time", 1_000)),
        (Some(group), None, _) | (None, None, Some(group)) => (group, ("throttled_usec", 1)),
        // It has no quota, or no group that shows it.
        (None, Some(_), _) | (None, None, None) => return Ok(()),
    };
    let stat = group.join("cpu.stat");
    out.insert("cpu_periods".into(), field(&stat, "nr_periods")?);
    out.insert("cpu_throttled_periods".into(), field(&stat, "nr_throttled")?);
    out.insert(
        "cpu_throttled_us".into(),
        field(&stat, throttled_per_us.0)? / throttled_per_us.1,
    );
    if let Some(us) = period_us(group) {
        out.insert("cpu_period_us".into(), us);
    }
    Ok(())
}

/// Length of a quota's periods.
fn period_us(group: &Path) -> Option<u64> {
    number(&group.join("cpu.cfs_period_us")).ok().or_else(|| {
        let text = read(&group.join("cpu.max")).ok()?;
        text.split_whitespace().nth(1)?.parse().ok()
    })
}

fn memory(host: &Emulated, out: &mut Counters) -> Result<(), String> {
    let group = host.memory.as_ref().or(host.unified.as_ref());
    let group = group.ok_or("an emulated host without a control group")?;
    let version_1 = group.join("memory.usage_in_bytes").exists();
    let (used, prefix) = if version_1 {
        ("memory.usage_in_bytes", "total_")
    } else {
        ("memory.current", "")
    };
    let (used, stat) = (number(&group.join(used))?, group.join("memory.stat"));
    // Unmapped pages of files are given back when other processes need memory.
    let cached = field(&stat, &format!("{prefix}inactive_file"))? + field(&stat, &format!("{prefix}active_file"))?;
    let (dirty, writeback) = if version_1 {
        ("total_dirty", "total_writeback")
    } else {
        ("file_dirty", "file_writeback")
    };
    out.insert("memory_total_bytes".into(), host.memory_bytes);
    out.insert(
        "memory_available_bytes".into(),
        host.memory_bytes.saturating_sub(used.saturating_sub(cached)),
    );
    out.insert("memory_cached_bytes".into(), cached);
    out.insert("memory_dirty_bytes".into(), field(&stat, dirty)?);
    out.insert("memory_writeback_bytes".into(), field(&stat, writeback)?);
    out.insert("vm_pgmajfault".into(), field(&stat, &format!("{prefix}pgmajfault"))?);
    // The machine's swap is not the host's; only some kernels report the swap of its own processes.
    out.insert(
        "swap_used_bytes".into(),
        field(&stat, &format!("{prefix}swap")).unwrap_or(0),
    );
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

fn number(path: &Path) -> Result<u64, String> {
    let text = read(path)?;
    text.trim()
        .parse()
        .map_err(|_| format!("{} holds no number: {text:?}", path.display()))
}

/// A line `name value` of a file.
fn field(path: &Path, name: &str) -> Result<u64, String> {
    let text = read(path)?;
    let value = text
        .lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))
        .and_then(|value| value.trim().parse().ok());
    value.ok_or_else(|| format!("{} has no {name}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const PRESSURE: &str =
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=70\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=30\n";
    const DISKS: &str = "   7 0 loop0 1 0 8 3 2 0 16 6 0 7 9 0 0 0 0 0 0\n 254 0 vda 100 0 800 300 200 0 1600 600 0 700 900 0 0 0 0 0 0\n";

    fn machine() -> Counters {
        [
            ("cpu_user_us", 9_000_000),
            ("cpu_steal_us", 5),
            ("cpu_iowait_us", 44),
            ("disk_writes", 999),
            ("pressure_cpu_some_us", 1),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    #[test]
    fn version_1_has_a_directory_for_each_controller() {
        let root = tree(&[
            // What ticks have counted is less than what was used.
            ("cpuacct/cpuacct.usage", "2500000\n"),
            ("cpuacct/cpuacct.usage_user", "700000\n"),
            ("cpuacct/cpuacct.usage_sys", "500000\n"),
            (
                "cpu/cpu.stat",
                "nr_periods 40\nnr_throttled 10\nthrottled_time 3000000\n",
            ),
            ("memory/memory.usage_in_bytes", "700\n"),
            (
                "memory/memory.stat",
                "inactive_file 1\ntotal_inactive_file 200\ntotal_active_file 100\ntotal_dirty 5\ntotal_writeback 6\ntotal_pgmajfault 7\n",
            ),
            ("unified/cpu.pressure", PRESSURE),
            ("unified/io.pressure", PRESSURE),
            ("unified/memory.pressure", PRESSURE),
            ("proc/diskstats", DISKS),
        ]);
        let at = |name: &str| Some(root.path().join(name));
        let host = Emulated {
            cores: 0.5,
            memory_bytes: 1_000,
            cpu: at("cpu"),
            cpuacct: at("cpuacct"),
            memory: at("memory"),
            unified: at("unified"),
            disk: Some("loop0".into()),
        };
        let mut out = machine();
        overlay(&root.path().join("proc"), &host, &mut out).unwrap();
        assert_eq!(
            (out["cpu_user_us"], out["cpu_system_us"], out["cpu_iowait_us"]),
            (2_000, 500, 0)
        );
        assert_eq!(out["cpu_steal_us"], 5);
        assert_eq!((out["cpu_throttled_periods"], out["cpu_throttled_us"]), (10, 3_000));
        assert_eq!((out["memory_total_bytes"], out["memory_available_bytes"]), (1_000, 600));
        assert_eq!((out["disk_writes"], out["disk_write_bytes"]), (2, 16 * 512));
        assert_eq!((out["pressure_cpu_some_us"], out["pressure_io_full_us"]), (70, 30));
    }

    #[test]
    fn version_2_has_one_directory() {
        let root = tree(&[
            (
                "cpu.stat",
                "usage_usec 2500\nuser_usec 2000\nsystem_usec 500\nnr_periods 4\nnr_throttled 1\nthrottled_usec 300\n",
            ),
            ("memory.current", "700\n"),
            (
                "memory.stat",
                "inactive_file 200\nactive_file 100\nfile_dirty 5\nfile_writeback 6\npgmajfault 7\n",
            ),
            ("cpu.pressure", PRESSURE),
            ("io.pressure", PRESSURE),
            ("memory.pressure", PRESSURE),
        ]);
        let host = Emulated {
            cores: 1.0,
            memory_bytes: 1_000,
            unified: Some(root.path().into()),
            ..Emulated::default()
        };
        let mut out = machine();
        overlay(root.path(), &host, &mut out).unwrap();
        assert_eq!((out["cpu_user_us"], out["cpu_throttled_us"]), (2_000, 300));
        assert_eq!((out["memory_available_bytes"], out["memory_dirty_bytes"]), (600, 5));
        // Without a disk of its own, the machine's counters stay.
        assert_eq!(out["disk_writes"], 999);
    }

    #[test]
    fn limits_may_come_from_groups_above_each_other() {
        let root = tree(&[
            (
                "a/cpu.stat",
                "user_usec 2000\nsystem_usec 500\nnr_periods 40\nnr_throttled 30\nthrottled_usec 900\n",
            ),
            ("a/cpu.max", "40000 50000\n"),
            ("a/b/memory.current", "700\n"),
            (
                "a/b/memory.stat",
                "inactive_file 200\nactive_file 100\nfile_dirty 5\nfile_writeback 6\npgmajfault 7\n",
            ),
        ]);
        let host = Emulated {
            cores: 0.8,
            memory_bytes: 1_000,
            cpu: Some(root.path().join("a")),
            memory: Some(root.path().join("a/b")),
            ..Emulated::default()
        };
        let mut out = machine();
        overlay(root.path(), &host, &mut out).unwrap();
        assert_eq!((out["cpu_user_us"], out["memory_available_bytes"]), (2_000, 600));
        assert_eq!((out["cpu_throttled_periods"], out["cpu_period_us"]), (30, 50_000));
    }

    #[test]
    fn what_is_not_bounded_stays_the_machines() {
        let root = tree(&[
            ("memory.current", "700\n"),
            (
                "memory.stat",
                "inactive_file 200\nactive_file 100\nfile_dirty 5\nfile_writeback 6\npgmajfault 7\n",
            ),
        ]);
        let host = Emulated {
            memory_bytes: 1_000,
            memory: Some(root.path().into()),
            ..Emulated::default()
        };
        let mut out = machine();
        overlay(root.path(), &host, &mut out).unwrap();
        assert_eq!((out["cpu_user_us"], out["memory_total_bytes"]), (9_000_000, 1_000));
        assert_eq!(out["pressure_cpu_some_us"], 1);
    }

    #[test]
    fn what_is_missing_is_named() {
        let root = tree(&[("cpu.stat", "user_usec 1\n")]);
        let host = Emulated {
            cores: 1.0,
            unified: Some(root.path().into()),
            ..Emulated::default()
        };
        assert!(
            overlay(root.path(), &host, &mut machine())
                .unwrap_err()
                .contains("system_usec")
        );
    }
}
