//! One host's counters from /proc.

use std::fs;
use std::path::{Path, PathBuf};

use procfs_core::net::{InterfaceDeviceStatus, Snmp};
use procfs_core::prelude::*;
use procfs_core::{CpuPressure, IoPressure, KernelStats, Meminfo, MemoryPressure, VmStat};

use crate::Counters;
use crate::disk::{Disk, put_all};
use crate::procfs::{Units, parse};

/// Reads all counters of the host that `proc_root` describes. Counters that a kernel does not offer (pressure
/// stall, schedstat) are left out; those that it offers and that cannot be read are an error. The disk is
/// that of its data, or all disks where that is not known.
pub fn read(proc_root: &Path, units: Units, disk: Option<&Disk>) -> Result<Counters, String> {
    let mut out = Counters::new();
    cpu(proc_root, units, &mut out)?;
    memory(proc_root, &mut out)?;
    match disk {
        Some(disk) => disk.put(proc_root, &mut out)?,
        None => put_all(proc_root, &mut out)?,
    }
    network(proc_root, &mut out)?;
    run_delay(proc_root, &mut out)?;
    pressure(
        ["cpu", "io", "memory"].map(|what| proc_root.join("pressure").join(what)),
        &mut out,
    )?;
    Ok(out)
}

fn cpu(root: &Path, units: Units, out: &mut Counters) -> Result<(), String> {
    let stat = parse("stat", KernelStats::from_file(root.join("stat"), &units.info()))?;
    let total = &stat.total;
    for (name, ticks) in [
        ("user", Some(total.user)),
        ("nice", Some(total.nice)),
        ("system", Some(total.system)),
        ("idle", Some(total.idle)),
        ("iowait", total.iowait),
        ("irq", total.irq),
        ("softirq", total.softirq),
        ("steal", total.steal),
    ] {
        out.insert(format!("cpu_{name}_us"), units.tick_us(ticks.unwrap_or(0)));
    }
    out.insert("cpu_count".into(), stat.cpu_time.len() as u64);
    out.insert("context_switches".into(), stat.ctxt);
    Ok(())
}

fn memory(root: &Path, out: &mut Counters) -> Result<(), String> {
    let memory = parse("meminfo", Meminfo::from_file(root.join("meminfo")))?;
    out.insert("memory_total_bytes".into(), memory.mem_total);
    out.insert(
        "memory_available_bytes".into(),
        memory.mem_available.unwrap_or(memory.mem_free),
    );
    out.insert("memory_dirty_bytes".into(), memory.dirty);
    out.insert("memory_writeback_bytes".into(), memory.writeback);
    out.insert("memory_cached_bytes".into(), memory.cached);
    out.insert("swap_used_bytes".into(), memory.swap_total - memory.swap_free);
    let vm = parse("vmstat", VmStat::from_file(root.join("vmstat")))?;
    for name in ["pswpin", "pswpout", "pgmajfault"] {
        out.insert(
            format!("vm_{name}"),
            vm.0.get(name).map_or(0, |&value| value.max(0) as u64),
        );
    }
    Ok(())
}

/// Those of pods and their networks are among them.
const STACKED: [&str; 23] = [
    "bond", "br-", "br0", "cali", "cilium", "cni", "docker", "dummy", "eni", "flannel", "genev", "gre", "kube-", "lxc",
    "ovs", "tap", "team", "tun", "veth", "virbr", "vlan", "vxlan", "wg",
];

/// Loopback is kept separate: its bytes are not load on a link.
fn network(root: &Path, out: &mut Counters) -> Result<(), String> {
    let devices = parse("net/dev", InterfaceDeviceStatus::from_file(root.join("net/dev")))?;
    // The traffic of a bond, bridge or tunnel also passes a device below it: it is counted once. A namespace
    // may have only virtual ones.
    let is_stacked = |name: &str| STACKED.iter().any(|prefix| name.starts_with(prefix));
    let has_plain = devices.0.keys().any(|name| name != "lo" && !is_stacked(name));
    for (prefix, is_loopback) in [("net", false), ("lo", true)] {
        let of_kind = || {
            devices
                .0
                .iter()
                .filter(|(name, _)| (name.as_str() == "lo") == is_loopback && !(has_plain && is_stacked(name)))
                .map(|(_, device)| device)
        };
        out.insert(
            format!("{prefix}_in_bytes"),
            of_kind().map(|device| device.recv_bytes).sum(),
        );
        out.insert(
            format!("{prefix}_out_bytes"),
            of_kind().map(|device| device.sent_bytes).sum(),
        );
        out.insert(
            format!("{prefix}_in_packets"),
            of_kind().map(|device| device.recv_packets).sum(),
        );
        out.insert(
            format!("{prefix}_out_packets"),
            of_kind().map(|device| device.sent_packets).sum(),
        );
        out.insert(
            format!("{prefix}_drops"),
            of_kind().map(|device| device.recv_drop + device.sent_drop).sum(),
        );
    }
    let snmp = parse("net/snmp", Snmp::from_file(root.join("net/snmp")))?;
    out.insert("tcp_in_segments".into(), snmp.tcp_in_segs);
    out.insert("tcp_out_segments".into(), snmp.tcp_out_segs);
    out.insert("tcp_retransmitted_segments".into(), snmp.tcp_retrans_segs);
    Ok(())
}

/// Time that runnable tasks waited for a core, summed over cores: field 8 of each `cpu` line
/// (kernel documentation, scheduler/sched-stats).
fn run_delay(root: &Path, out: &mut Counters) -> Result<(), String> {
    let Ok(text) = fs::read_to_string(root.join("schedstat")) else {
        return Ok(());
    };
    let mut sum_ns = 0u64;
    for line in text.lines().filter(|line| line.starts_with("cpu")) {
        let field = line
            .split_whitespace()
            .nth(8)
            .and_then(|field| field.parse::<u64>().ok());
        sum_ns += field.ok_or_else(|| format!("schedstat has no run delay in {line:?}"))?;
    }
    out.insert("run_delay_us".into(), sum_ns / 1_000);
    Ok(())
}

/// Pressure stall from the files for cpu, io and memory; nothing where the kernel keeps none.
pub(crate) fn pressure(files: [PathBuf; 3], out: &mut Counters) -> Result<(), String> {
    let [cpu, io, memory] = files;
    if !cpu.exists() {
        return Ok(());
    }
    let cpu = parse("pressure of cpu", CpuPressure::from_file(cpu))?;
    let io = parse("pressure of io", IoPressure::from_file(io))?;
    let memory = parse("pressure of memory", MemoryPressure::from_file(memory))?;
    out.insert("pressure_cpu_some_us".into(), cpu.some.total);
    out.insert("pressure_io_some_us".into(), io.some.total);
    out.insert("pressure_io_full_us".into(), io.full.total);
    out.insert("pressure_memory_some_us".into(), memory.some.total);
    out.insert("pressure_memory_full_us".into(), memory.full.total);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_proc_reads() {
        let counters = read(Path::new("/proc"), Units::here(), None).unwrap();
        assert!(counters["cpu_count"] > 0 && counters["memory_total_bytes"] > 0);
    }

    /// A simulated /proc with known figures.
    #[test]
    fn a_made_up_proc_gives_its_figures() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(
            "stat",
            "cpu  100 0 50 800 30 0 5 15 0 0\ncpu0 50 0 25 400 15 0 2 7 0 0\ncpu1 50 0 25 400 15 0 3 8 0 0\nctxt 77\nbtime 1\nprocesses 9\nprocs_running 1\nprocs_blocked 0\n",
        );
        for name in ["meminfo", "net/snmp", "vmstat"] {
            write(name, &fs::read_to_string(Path::new("/proc").join(name)).unwrap());
        }
        write(
            "diskstats",
            " 254 0 vda 10 0 200 30 20 0 400 60 0 70 90 0 0 0 0 0 0\n 254 1 vda1 10 0 200 30 20 0 400 60 0 70 90 0 0 0 0 0 0\n",
        );
        write(
            "net/dev",
            "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    lo: 1000 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0\n  eth0: 500 5 0 1 0 0 0 0 700 7 0 2 0 0 0 0\n bond0: 500 5 0 1 0 0 0 0 700 7 0 2 0 0 0 0\n",
        );
        write(
            "schedstat",
            "version 17\ntimestamp 1\ncpu0 0 0 0 0 0 0 5 6000 7\ncpu1 0 0 0 0 0 0 5 8000 7\n",
        );
        let units = Units {
            ticks_per_s: 100,
            page_bytes: 4096,
        };
        let counters = read(root.path(), units, None).unwrap();
        assert_eq!(counters["cpu_user_us"], 1_000_000);
        assert_eq!(counters["cpu_steal_us"], 150_000);
        assert_eq!(counters["cpu_count"], 2);
        assert_eq!(counters["disk_write_bytes"], 400 * 512);
        assert_eq!(
            (
                counters["net_out_bytes"],
                counters["lo_in_bytes"],
                counters["net_drops"]
            ),
            (700, 1000, 3)
        );
        assert_eq!(counters["run_delay_us"], 14);
        assert!(!counters.contains_key("pressure_cpu_some_us"));
    }

    #[test]
    fn a_broken_file_is_an_error_with_its_name() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("stat"), "nonsense").unwrap();
        assert!(read(root.path(), Units::here(), None).unwrap_err().starts_with("stat"));
    }
}
