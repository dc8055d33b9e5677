//! What a host's resources give when nothing else runs: measured, not read off a data sheet.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::speed::compute;

const CPU_TIME: Duration = Duration::from_millis(400);
const CPU_ROUNDS: usize = 3;
const LINK_TIME: Duration = Duration::from_millis(1_000);
const BLOCK_BYTES: usize = 1 << 20;

/// How many cores' worth of work the host does at once: all logical cores busy, in units of one
/// core busy alone. Hyper-threads and noisy neighbours make it less than the count. Median of
/// interleaved rounds.
pub fn cpu_cores() -> f64 {
    let count = thread::available_parallelism().map_or(1, usize::from);
    let mut ratios: Vec<f64> = (0..CPU_ROUNDS).map(|_| rounds(count) / rounds(1)).collect();
    ratios.sort_by(f64::total_cmp);
    ratios[CPU_ROUNDS / 2].min(count as f64)
}

/// Computations a second of `threads` threads together.
fn rounds(threads: usize) -> f64 {
    let begin = Instant::now();
    let workers: Vec<_> = (0..threads)
        .map(|_| {
            thread::spawn(move || {
                let mut done = 0u64;
                while begin.elapsed() < CPU_TIME {
                    compute();
                    done += 1;
                }
                done
            })
        })
        .collect();
    let done: u64 = workers.into_iter().map(|worker| worker.join().unwrap_or(0)).sum();
    done as f64 / begin.elapsed().as_secs_f64()
}

/// Sequential write (with its fdatasync) and direct read, bytes a second, through a file of
/// `bytes` in `directory`, which is removed again. Read is `None` where direct I/O is not offered.
pub fn disk(directory: &Path, bytes: usize) -> Result<(f64, Option<f64>), String> {
    let path = directory.join(format!("hydrotest-ceiling-{}", std::process::id()));
    let result = disk_at(&path, bytes).map_err(|error| format!("{}: {error}", path.display()));
    let removed = fs::remove_file(&path);
    match (result, removed) {
        (Ok(found), Ok(())) => Ok(found),
        (Ok(_), Err(error)) => Err(format!("{} cannot be removed: {error}", path.display())),
        (Err(error), _) => Err(error),
    }
}

fn disk_at(path: &Path, bytes: usize) -> std::io::Result<(f64, Option<f64>)> {
    let blocks = bytes.div_ceil(BLOCK_BYTES);
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let block: Vec<u8> = (0..BLOCK_BYTES).map(|i| ((i * 131) >> 3) as u8).collect();
    let begin = Instant::now();
    for _ in 0..blocks {
        file.write_all(&block)?;
    }
    file.sync_data()?;
    let write = (blocks * BLOCK_BYTES) as f64 / begin.elapsed().as_secs_f64();
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let Ok(mut file) = OpenOptions::new().read(true).custom_flags(direct).open(path) else {
        return Ok((write, None));
    };
    let mut buffer = aligned_block();
    let offset = buffer.as_ptr().align_offset(4096);
    let begin = Instant::now();
    let mut read = 0;
    loop {
        match file.read(&mut buffer[offset..offset + BLOCK_BYTES]) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(_) => return Ok((write, None)),
        }
    }
    Ok((write, Some(read as f64 / begin.elapsed().as_secs_f64())))
}

fn aligned_block() -> Vec<u8> {
    vec![0; BLOCK_BYTES + 4096]
}

/// Bytes a second of one TCP connection over loopback: the most that a local client can move.
pub fn loopback() -> Result<f64, String> {
    measure_loopback().map_err(|error| format!("loopback: {error}"))
}

fn measure_loopback() -> std::io::Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    static STOP: AtomicBool = AtomicBool::new(false);
    STOP.store(false, Ordering::Relaxed);
    let sender = thread::spawn(move || -> std::io::Result<()> {
        let mut stream = TcpStream::connect(address)?;
        let block = vec![1u8; 256 << 10];
        while !STOP.load(Ordering::Relaxed) {
            stream.write_all(&block)?;
        }
        Ok(())
    });
    let (mut stream, _) = listener.accept()?;
    let mut buffer = vec![0u8; 256 << 10];
    let begin = Instant::now();
    let mut bytes = 0u64;
    while begin.elapsed() < LINK_TIME {
        bytes += stream.read(&mut buffer)? as u64;
    }
    let rate = bytes as f64 / begin.elapsed().as_secs_f64();
    STOP.store(true, Ordering::Relaxed);
    drop(stream);
    // The sender ends with a broken pipe or with the flag; either is as it should be.
    let _ = sender.join();
    Ok(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_measured_and_left_clean() {
        let directory = tempfile::tempdir().unwrap();
        let (write, _) = disk(directory.path(), 4 << 20).unwrap();
        assert!(write > 0.0);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_missing_directory_is_an_error_with_its_name() {
        assert!(
            disk(Path::new("/nonexistent-hydrotest"), 1)
                .unwrap_err()
                .contains("/nonexistent-hydrotest")
        );
    }
}
