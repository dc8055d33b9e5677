//! Takes files out of the page cache, so that what is read next comes from the disk. It takes no rights but those to read them:
//! what a process has mapped into its memory stays.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use hydrotest_core::control::{AtEnd, listen, read_settings};
use rustix::fs::{Advice, fadvise};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    /// All files below it.
    folder: PathBuf,
}

#[derive(Default)]
struct Evicted {
    files: u64,
    bytes: u64,
}

/// Evicts the files of a folder, and answers how many and how large they are.
pub fn run() -> Result<(), String> {
    let settings: Settings = read_settings()?;
    let control = listen(|_| false, AtEnd::Unanswered);
    let mut evicted = Evicted::default();
    evict(&settings.folder, &mut evicted).map_err(|error| {
        format!(
            "{} cannot be taken out of the page cache: {error}",
            settings.folder.display()
        )
    })?;
    control.answer(json!({"files": evicted.files, "bytes": evicted.bytes}));
    Ok(())
}

/// Links are not followed. What is removed meanwhile is in no cache.
fn evict(path: &Path, evicted: &mut Evicted) -> io::Result<()> {
    let kind = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?.file_type(),
    };
    if kind.is_dir() {
        for entry in fs::read_dir(path)? {
            evict(&entry?.path(), evicted)?;
        }
    } else if kind.is_file() {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        // What is not on the disk yet would stay.
        file.sync_data()?;
        fadvise(&file, 0, None, Advice::DontNeed)?;
        evicted.files += 1;
        evicted.bytes += file.metadata()?.len();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_files_below_a_folder_are_evicted() {
        let folder = std::env::temp_dir().join(format!("hydrotest-evict-{}", std::process::id()));
        fs::create_dir_all(folder.join("below")).unwrap();
        fs::write(folder.join("one"), [1; 5000]).unwrap();
        fs::write(folder.join("below/two"), [2; 300]).unwrap();
        std::os::unix::fs::symlink("/", folder.join("link")).unwrap();
        let mut evicted = Evicted::default();
        evict(&folder, &mut evicted).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((evicted.files, evicted.bytes), (2, 5300));
        assert!(evict(&folder, &mut evicted).is_ok(), "it is gone");
    }
}
