//! The files of this host, as the controller's `Files` (python/hydrotest/hosts/files.py) needs them.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use super::frames::{BODY_BYTES_MAX, Outbox, Reply, refusal};

/// Suffix of a file's name until it is complete; before it stands what tells one upload from another.
const PARTIAL: &str = ".partial";
/// Mode of folders that only come to be as parents; the user's umask applies.
const ANY_FOLDER: u32 = 0o777;

/// A part of what a process or an upload is given.
pub enum Input {
    Data(Vec<u8>),
    End,
}

/// Writes an upload as it comes. Without its end, what was there before stays.
pub fn upload(out: &Outbox, id: u64, path: &Path, mode: u32, input: &Receiver<Input>) {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    // Another run may bring the same file at the same time.
    name.push(format!(".{}-{id}{PARTIAL}", std::process::id()));
    let partial = path.with_file_name(name);
    let written = begin(path, &partial, mode).and_then(|mut file| {
        loop {
            match input.recv() {
                Ok(Input::Data(data)) => {
                    file.write_all(&data)?;
                    out.send(id, Reply::Taken { taken: data.len() }, &[]);
                }
                Ok(Input::End) => return fs::rename(&partial, path),
                // It was given up, or the controller is gone.
                Err(_) => return Err(ErrorKind::Interrupted.into()),
            }
        }
    });
    if let Err(error) = &written {
        // It is not there if it could not be made.
        let _ = fs::remove_file(&partial);
        out.send(id, refusal(error), &[]);
    } else {
        out.send(id, Reply::Done { result: Value::Null }, &[]);
    }
}

fn begin(path: &Path, partial: &Path, mode: u32) -> io::Result<File> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
    if path.is_dir() {
        return Err(io::Error::from_raw_os_error(libc::EISDIR));
    }
    // Left by an earlier process of this number.
    absent(fs::remove_file(partial))?;
    OpenOptions::new().write(true).create_new(true).mode(mode).open(partial)
}

/// Writes at the end of a file.
pub fn append(path: &Path, data: &[u8]) -> io::Result<Value> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
    OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)?
        .write_all(data)?;
    Ok(Value::Null)
}

/// Sends a file from `start` on.
pub fn get(out: &Outbox, id: u64, path: &Path, start: u64) -> io::Result<Value> {
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(start))?;
    let mut piece = vec![0; BODY_BYTES_MAX];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(Value::Null),
            length => out.send(id, Reply::Piece, &piece[..length]),
        }
    }
}

/// A file's size; null if there is none.
pub fn size(path: &Path) -> io::Result<Value> {
    match fs::metadata(path) {
        Ok(found) => Ok(if found.is_file() {
            json!(found.len())
        } else {
            Value::Null
        }),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(Value::Null),
        Err(error) => Err(error),
    }
}

/// Paths below a folder that match a pattern, sorted.
pub fn find(folder: &Path, pattern: &str) -> io::Result<Value> {
    let whole = format!("{}/{pattern}", glob::Pattern::escape(&folder.to_string_lossy()));
    let found = glob::glob(&whole).map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))?;
    // What cannot be looked into, or has no name in UTF-8, cannot be asked for either.
    let paths: Vec<PathBuf> = found.flatten().filter(|path| path.to_str().is_some()).collect();
    Ok(json!(paths))
}

/// Makes a folder; `mode` applies to the folder itself, not to parents that it needs.
pub fn make_folder(path: &Path, mode: u32) -> io::Result<Value> {
    if let Some(parent) = path.parent() {
        DirBuilder::new().recursive(true).mode(ANY_FOLDER).create(parent)?;
    }
    match DirBuilder::new().mode(mode).create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists && path.is_dir() => {}
        made => made?,
    }
    Ok(Value::Null)
}

/// Removes a file, or a folder with its content; links are not followed.
pub fn remove(path: &Path) -> io::Result<Value> {
    let removed = fs::symlink_metadata(path).and_then(|found| {
        if found.is_dir() {
            fs::remove_dir_all(path)
        } else {
            fs::remove_file(path)
        }
    });
    absent(removed)?;
    Ok(Value::Null)
}

/// Fine if it is not there.
fn absent(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(()),
        done => done,
    }
}
