//! The disk below a directory, and its traffic. A file system's ceiling is measured through the file system.
//! Its use must be that of the same disk, not of all disks of the machine, or of each member of a mirror.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use procfs_core::prelude::*;
use procfs_core::{DiskStat, DiskStats};

use crate::Counters;
use crate::procfs::parse;

const SECTOR_BYTES: u64 = 512;

/// A block device, by its name in /proc/diskstats.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    pub name: String,
    /// The disks of a device that consists of several: a mirror, stripes.
    members: Vec<String>,
}

impl Disk {
    /// The disk of a directory, or of one that is not made yet. `None` where that is not a device of this
    /// machine: a file system in memory, an overlay, a network's, or one that spreads over devices by itself.
    pub fn under(sys_root: &Path, directory: &Path) -> Option<Self> {
        let device = directory.ancestors().find_map(|place| fs::metadata(place).ok())?.dev();
        Self::of(sys_root, rustix::fs::major(device), rustix::fs::minor(device))
    }

    /// The disk of the device with these numbers: the disk of a partition, and the one below a volume or an
    /// encrypted device. It goes down to a single disk or to one with several members, whose own counters
    /// count each write once.
    pub fn of(sys_root: &Path, major: u32, minor: u32) -> Option<Self> {
        let link = sys_root.join("dev/block").join(format!("{major}:{minor}"));
        let mut place = fs::canonicalize(link).ok()?;
        let members = loop {
            place = whole(place);
            match below(&place).as_slice() {
                [] => break Vec::new(),
                [one] => place = one.clone(),
                several => break several.iter().flat_map(|one| disks_of(one.clone())).collect(),
            }
        };
        Some(Self {
            name: name_of(&place),
            members,
        })
    }

    /// Adds its counters to `out`.
    pub fn put(&self, proc_root: &Path, out: &mut Counters) -> Result<(), String> {
        let stats = read(proc_root)?;
        let of = |name: &str| stats.0.iter().find(|disk| disk.name == name);
        let own = of(&self.name).ok_or_else(|| format!("diskstats knows no {}", self.name))?;
        put_disk(&[own], out);
        // Older kernels keep no times of devices made of several disks: then those of its busiest member.
        let members: Vec<&DiskStat> = self.members.iter().filter_map(|name| of(name)).collect();
        let most = |time: &dyn Fn(&DiskStat) -> u64| members.iter().map(|disk| time(disk)).max();
        if own.time_in_progress == 0
            && let (Some(busy), Some(wait)) = (most(&|disk| disk.time_in_progress), most(&wait_ms))
        {
            out.insert("disk_busy_ms".into(), busy);
            out.insert("disk_wait_ms".into(), wait);
        }
        Ok(())
    }
}

/// A partition's disk; anything else itself.
fn whole(place: PathBuf) -> PathBuf {
    match place.parent() {
        Some(disk) if place.join("partition").exists() => disk.to_owned(),
        _ => place,
    }
}

/// The devices that a device consists of.
fn below(place: &Path) -> Vec<PathBuf> {
    let slaves = fs::read_dir(place.join("slaves")).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = slaves.filter_map(|slave| fs::canonicalize(slave.path()).ok()).collect();
    found.sort();
    found
}

/// The complete disks at the bottom of a device.
fn disks_of(place: PathBuf) -> Vec<String> {
    let place = whole(place);
    let parts = below(&place);
    if parts.is_empty() {
        return vec![name_of(&place)];
    }
    parts.into_iter().flat_map(disks_of).collect()
}

/// In sysfs a slash in a name is an exclamation mark.
fn name_of(place: &Path) -> String {
    let name = place.file_name().unwrap_or_default();
    name.to_string_lossy().replace('!', "/")
}

fn read(proc_root: &Path) -> Result<DiskStats, String> {
    parse("diskstats", DiskStats::from_file(proc_root.join("diskstats")))
}

/// Adds the traffic of all disks of the machine. Complete disks only: partitions, loop and memory devices
/// would count the same bytes twice.
pub(crate) fn put_all(proc_root: &Path, out: &mut Counters) -> Result<(), String> {
    let stats = read(proc_root)?;
    let names: Vec<&str> = stats.0.iter().map(|disk| disk.name.as_str()).collect();
    let whole: Vec<&DiskStat> = stats
        .0
        .iter()
        .filter(|disk| is_whole_disk(&disk.name, &names))
        .collect();
    put_disk(&whole, out);
    Ok(())
}

/// Adds the counters of a device by its name.
pub(crate) fn put_named(proc_root: &Path, name: &str, out: &mut Counters) -> Result<(), String> {
    let disk = Disk {
        name: name.to_owned(),
        members: Vec::new(),
    };
    disk.put(proc_root, out)
}

/// The sum of the counters of some disks.
fn put_disk(disks: &[&DiskStat], out: &mut Counters) {
    let mut put = |name: &str, of: &dyn Fn(&DiskStat) -> u64| {
        out.insert(name.to_owned(), disks.iter().map(|disk| of(disk)).sum());
    };
    put("disk_reads", &|disk| disk.reads);
    put("disk_writes", &|disk| disk.writes);
    put("disk_read_bytes", &|disk| disk.sectors_read * SECTOR_BYTES);
    put("disk_write_bytes", &|disk| disk.sectors_written * SECTOR_BYTES);
    put("disk_wait_ms", &wait_ms);
    put("disk_busy_ms", &|disk| disk.time_in_progress);
}

fn wait_ms(disk: &DiskStat) -> u64 {
    disk.time_reading + disk.time_writing
}

fn is_whole_disk(name: &str, all: &[&str]) -> bool {
    const VIRTUAL: [&str; 6] = ["loop", "ram", "zram", "dm-", "md", "sr"];
    let is_part_of = |whole: &str| {
        name.strip_prefix(whole).is_some_and(|rest| {
            let digits = rest.strip_prefix('p').unwrap_or(rest);
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    !VIRTUAL.iter().any(|prefix| name.starts_with(prefix)) && !all.iter().any(|whole| is_part_of(whole))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn partitions_and_virtual_devices_are_not_whole_disks() {
        let all = ["vda", "vda1", "nvme0n1", "nvme0n1p2", "loop0", "dm-0", "sdb"];
        let whole: Vec<&str> = all.iter().copied().filter(|name| is_whole_disk(name, &all)).collect();
        assert_eq!(whole, ["vda", "nvme0n1", "sdb"]);
    }

    /// A simulated /sys and /proc: two disks with two partitions each. The first partitions are a mirror
    /// (md0) with a volume on it (dm-0), the second one of sda holds an encrypted device (dm-1); sdc is
    /// separate.
    fn machine() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let sys = root.path().join("sys");
        let devices: [(&str, &str, &[&str]); 9] = [
            ("8:0", "devices/pci/block/sda", &[]),
            ("8:1", "devices/pci/block/sda/sda1", &[]),
            ("8:2", "devices/pci/block/sda/sda2", &[]),
            ("8:16", "devices/pci/block/sdb", &[]),
            ("8:17", "devices/pci/block/sdb/sdb1", &[]),
            ("8:32", "devices/pci/block/sdc", &[]),
            (
                "9:0",
                "devices/virtual/block/md0",
                &["devices/pci/block/sda/sda1", "devices/pci/block/sdb/sdb1"],
            ),
            ("253:0", "devices/virtual/block/dm-0", &["devices/virtual/block/md0"]),
            ("253:1", "devices/virtual/block/dm-1", &["devices/pci/block/sda/sda2"]),
        ];
        fs::create_dir_all(sys.join("dev/block")).unwrap();
        for (number, place, slaves) in devices {
            let place = sys.join(place);
            fs::create_dir_all(place.join("slaves")).unwrap();
            if name_of(&place).starts_with("sd") && name_of(&place).len() > 3 {
                fs::write(place.join("partition"), "1\n").unwrap();
            }
            symlink(&place, sys.join("dev/block").join(number)).unwrap();
            for slave in slaves {
                let slave = sys.join(slave);
                symlink(&slave, place.join("slaves").join(name_of(&slave))).unwrap();
            }
        }
        let line = |number: &str, name: &str, sectors: u64, busy: u64| {
            format!(" {number} {name} 1 0 {sectors} 3 2 0 {sectors} 6 0 {busy} 9 0 0 0 0 0 0\n")
        };
        let text = [
            line("8 0", "sda", 1_000, 70),
            line("8 1", "sda1", 400, 30),
            line("8 2", "sda2", 600, 40),
            line("8 16", "sdb", 400, 90),
            line("8 17", "sdb1", 400, 90),
            line("8 32", "sdc", 5_000, 99),
            line("9 0", "md0", 400, 0),
            line("253 0", "dm-0", 400, 0),
            line("253 1", "dm-1", 600, 40),
        ]
        .concat();
        fs::create_dir_all(root.path().join("proc")).unwrap();
        fs::write(root.path().join("proc/diskstats"), text).unwrap();
        root
    }

    fn disk(root: &Path, major: u32, minor: u32) -> (String, Counters) {
        let disk = Disk::of(&root.join("sys"), major, minor).unwrap();
        let mut out = Counters::new();
        disk.put(&root.join("proc"), &mut out).unwrap();
        (disk.name, out)
    }

    #[test]
    fn a_partition_is_of_its_disk_and_other_disks_do_not_count() {
        let root = machine();
        for (major, minor) in [(8, 0), (8, 2), (253, 1)] {
            let (name, out) = disk(root.path(), major, minor);
            assert_eq!((name.as_str(), out["disk_write_bytes"]), ("sda", 1_000 * SECTOR_BYTES));
        }
        assert_eq!(disk(root.path(), 8, 32).1["disk_read_bytes"], 5_000 * SECTOR_BYTES);
    }

    #[test]
    fn what_a_mirror_writes_counts_once() {
        let root = machine();
        for (major, minor) in [(9, 0), (253, 0)] {
            let (name, out) = disk(root.path(), major, minor);
            assert_eq!((name.as_str(), out["disk_write_bytes"]), ("md0", 400 * SECTOR_BYTES));
            // This kernel keeps no times for it: those of its busiest member.
            assert_eq!((out["disk_busy_ms"], out["disk_wait_ms"]), (90, 9));
        }
    }

    #[test]
    fn what_is_no_device_here_is_not_known() {
        let root = machine();
        assert_eq!(Disk::of(&root.path().join("sys"), 0, 42), None);
        let mut out = Counters::new();
        put_all(&root.path().join("proc"), &mut out).unwrap();
        assert_eq!(out["disk_write_bytes"], (1_000 + 400 + 5_000) * SECTOR_BYTES);
    }

    #[test]
    fn a_directory_that_is_not_made_yet_lies_where_its_parent_does() {
        let root = tempfile::tempdir().unwrap();
        let sys = Path::new("/sys");
        assert_eq!(
            Disk::under(sys, &root.path().join("run/data")),
            Disk::under(sys, root.path())
        );
        assert_eq!(Disk::under(sys, Path::new("/proc/self")), None);
    }
}
