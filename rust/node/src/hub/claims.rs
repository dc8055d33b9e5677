//! Runs' folders on this host: locked while their hub lives, found again after a kill. The lock is the one of
//! python/hydrotest/store/lock.py, and the names are those of run/lifecycle/scratch.py, which must not take such a
//! folder for one that a killed run left.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

const PREFIX: &str = "hydrotest-run-";
/// Prefix of a folder's name until it has a lock.
const BEGUN: &str = ".";
const LOCK: &str = "owner.lock";
/// Where a lab's files are, below a run's folder.
const LAB: &str = "lab";
/// No other user may read the systems' data: with logins, their stores help to guess passwords.
const OWN: u32 = 0o700;
/// Another run may take a folder without a lock for left, and remove it: then it is made again.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(10);

/// Makes a run's folder, whose parents exist or are made. It gets its name when its lock is held.
pub fn claim(path: &Path) -> io::Result<File> {
    let parent = path.parent().ok_or(ErrorKind::InvalidInput)?;
    let name = path.file_name().ok_or(ErrorKind::InvalidInput)?.to_string_lossy();
    fs::create_dir_all(parent)?;
    let begun = parent.join(format!("{BEGUN}{name}"));
    for _ in 0..TRIES {
        match DirBuilder::new().mode(OWN).create(&begun) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(begun.join(LOCK));
        let locked = file.and_then(|file| {
            if lock(&file)? {
                Ok(file)
            } else {
                Err(ErrorKind::WouldBlock.into())
            }
        });
        match locked.and_then(|file| fs::rename(&begun, path).map(|()| file)) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::WouldBlock) => {
                std::thread::sleep(PAUSE);
            }
            claimed => return claimed,
        }
    }
    Err(ErrorKind::NotFound.into())
}

/// Removes the folders that killed runs left below a data root; returns their names. Those of living runs, and
/// those that are not ours, stay.
pub fn sweep(root: &Path) -> io::Result<Value> {
    let mut removed = Vec::new();
    let entries = match fs::read_dir(root) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(json!(removed)),
        entries => entries?,
    };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_ours = name.strip_prefix(BEGUN).unwrap_or(&name).starts_with(PREFIX);
        let path = entry.path();
        // An emulated host's disk may still be mounted below: only `hydrotest down` there can remove that.
        let may_go = is_ours && path.is_dir() && !path.is_symlink() && !path.join(LAB).exists();
        // What cannot be removed, or ends just now, keeps no run from beginning.
        if may_go && remove_left(&path).unwrap_or(false) {
            removed.push(name);
        }
    }
    Ok(json!(removed))
}

/// Removes a folder if no run holds it.
fn remove_left(folder: &Path) -> io::Result<bool> {
    match OpenOptions::new().write(true).open(folder.join(LOCK)) {
        Ok(file) => {
            if !lock(&file)? {
                return Ok(false);
            }
            remove(folder)?;
            Ok(true)
        }
        // One that was killed before it had its lock, or after it removed that, left it empty.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(fs::remove_dir(folder).is_ok()),
        // Another user's.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(false),
        Err(error) => Err(error),
    }
}

/// Removes a run's folder; the caller holds its lock. The mark by which it is found goes last.
pub fn remove(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        } else if entry.file_name() != LOCK {
            fs::remove_file(entry.path())?;
        }
    }
    fs::remove_file(folder.join(LOCK))?;
    fs::remove_dir(folder)
}

/// The absolute path without links of a folder that may not exist yet: systems and mounts are known by those.
pub fn resolved(path: &Path) -> io::Result<PathBuf> {
    let mut missing = Vec::new();
    let mut there = path;
    loop {
        match there.canonicalize() {
            Ok(found) => return Ok(missing.iter().rev().fold(found, |path, part| path.join(part))),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                missing.push(there.file_name().ok_or(ErrorKind::InvalidInput)?.to_owned());
                there = there.parent().ok_or(ErrorKind::InvalidInput)?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Takes a lock of the open file; false if another holder has it. It ends with the file.
fn lock(file: &File) -> io::Result<bool> {
    // SAFETY: a `flock` of zeros is valid; it means the whole file.
    let mut whole: libc::flock = unsafe { std::mem::zeroed() };
    whole.l_type = libc::F_WRLCK as libc::c_short;
    // SAFETY: the descriptor is open for as long as `file` is borrowed, and `whole` outlives the call.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const whole) } == 0 {
        return Ok(true);
    }
    match io::Error::last_os_error() {
        error if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES)) => Ok(false),
        error => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_folder_stays_and_one_that_is_left_goes() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("deep/hydrotest-run-1a");
        let data = path.parent().unwrap();
        let claimed = claim(&path).unwrap();
        fs::create_dir(path.join("kafka")).unwrap();
        fs::write(path.join("kafka/log"), "x").unwrap();
        fs::create_dir(data.join("hydrotest-runs-of-mine")).unwrap();
        fs::create_dir(data.join(".hydrotest-run-2b")).unwrap();
        assert_eq!(sweep(data).unwrap(), json!([".hydrotest-run-2b"]));
        assert!(path.join("kafka/log").exists());
        drop(claimed);
        assert_eq!(sweep(data).unwrap(), json!(["hydrotest-run-1a"]));
        assert!(!path.exists());
        assert!(data.join("hydrotest-runs-of-mine").exists());
        assert_eq!(sweep(&root.path().join("nothing")).unwrap(), json!([]));
    }

    #[test]
    fn links_are_followed_as_far_as_there_are_any() {
        let root = tempfile::tempdir().unwrap();
        let real = root.path().canonicalize().unwrap();
        fs::create_dir(real.join("there")).unwrap();
        std::os::unix::fs::symlink(real.join("there"), real.join("link")).unwrap();
        assert_eq!(resolved(&real.join("link/a/b")).unwrap(), real.join("there/a/b"));
        assert!(resolved(Path::new("relative-and-nowhere")).is_err());
    }
}
