//! The emulated host of this process: a network namespace, names, and control groups on one machine.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::process::getpid;
use rustix::system::sethostname;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Place {
    name: String,
    /// Its network namespace, as a file.
    namespace: PathBuf,
    /// The content of /etc/hosts inside, so that the names of its neighbours resolve.
    hosts: PathBuf,
    /// Control groups that limit its processes to its share of the machine.
    groups: Vec<PathBuf>,
}

/// Makes this process, and all that it starts, part of the host that `file` describes. `unlimited` stays
/// outside its groups: an observer must not use up the share that it observes. Call it before there is a
/// second thread.
pub fn enter(file: &Path, unlimited: bool) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{} cannot be read: {error}", file.display()))?;
    let place: Place = serde_json::from_str(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let refused = |what: &str, error: &dyn std::fmt::Display| format!("host {}: {what}: {error}", place.name);
    for group in place.groups.iter().filter(|_| !unlimited) {
        let pid = getpid().as_raw_nonzero().to_string();
        fs::write(group.join("cgroup.procs"), pid)
            .map_err(|error| refused(&format!("{} takes no process in", group.display()), &error))?;
    }
    // SAFETY: nothing else runs in this process yet, and it holds nothing open that these flags share.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::NEWUTS) }
        .map_err(|error| refused("it gets no names of its own", &error))?;
    // A disk that is unmounted outside must be unmounted here too, or it could not be removed while this
    // process lives; nothing that is mounted here is visible outside.
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)
        .and_then(|()| mount_bind(&place.hosts, "/etc/hosts"))
        .map_err(|error| refused("its neighbours' names cannot be set", &error))?;
    sethostname(place.name.as_bytes()).map_err(|error| refused("it cannot be named", &error))?;
    let namespace = File::open(&place.namespace).map_err(|error| refused("it has no network", &error))?;
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|error| refused("its network cannot be entered", &error))
}
