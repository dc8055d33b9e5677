//! TCP ports of this host: kept for services, and who has one.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};
use serde_json::{Value, json};

/// State LISTEN in /proc/net/tcp.
const LISTEN: &str = "0A";

/// Takes a port that no process has, on any address. A bound socket that does not listen keeps it: neither an
/// outgoing connection nor another hub gets it meanwhile. Only a service with `SO_REUSEADDR` can bind it, which
/// Java, Rust and most others ask for.
pub fn reserve(port: u16) -> Option<OwnedFd> {
    let holder = socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, None).ok()?;
    // Without SO_REUSEADDR, so that it fails where any process has the port.
    bind(&holder, &SocketAddr::from((Ipv4Addr::UNSPECIFIED, port))).ok()?;
    sockopt::set_socket_reuseaddr(&holder, true).ok()?;
    Some(holder)
}

/// The process that listens on a port of an address, or of all addresses, as `name (pid)`.
pub fn holder(address: &str, port: u16) -> io::Result<Value> {
    let inodes = listening(address, port)?;
    if inodes.is_empty() {
        return Ok(Value::Null);
    }
    for process in fs::read_dir("/proc")?.flatten() {
        // Those that ended meanwhile, and those of others, cannot be looked into.
        let Ok(descriptors) = fs::read_dir(process.path().join("fd")) else {
            continue;
        };
        let has_it = descriptors
            .flatten()
            .filter_map(|one| fs::read_link(one.path()).ok())
            .any(|link| {
                inodes
                    .iter()
                    .any(|inode| link == Path::new(&format!("socket:[{inode}]")))
            });
        if has_it {
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            return Ok(json!(format!(
                "{} (pid {})",
                name.trim(),
                process.file_name().to_string_lossy()
            )));
        }
    }
    Ok(json!("a process of another user"))
}

/// Inodes of the sockets that listen on a port of an address, or of all addresses.
fn listening(address: &str, port: u16) -> io::Result<Vec<String>> {
    let address: Ipv4Addr = address
        .parse()
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    // As the kernel prints it: four bytes in the machine's order, behind a prefix where the socket takes IPv6, too.
    let wanted = format!("{:08X}", u32::from_ne_bytes(address.octets()));
    let mut inodes = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let Ok(text) = fs::read_to_string(table) else {
            continue; // without IPv6 the second is not there
        };
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, local, _, state, _, _, _, _, _, inode, ..] = fields[..] else {
                continue;
            };
            let Some((at, number)) = local.rsplit_once(':') else {
                continue;
            };
            let is_there = at.ends_with(&wanted) || at.bytes().all(|digit| digit == b'0');
            if state == LISTEN && u16::from_str_radix(number, 16) == Ok(port) && is_there {
                inodes.push(inode.to_owned());
            }
        }
    }
    Ok(inodes)
}
