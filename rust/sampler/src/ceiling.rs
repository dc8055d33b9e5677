//! The ceilings of a host's resources when nothing else runs: measured, not taken from a data sheet.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::ClockId;

use crate::clock::read_ns;
use crate::speed::compute;

const CPU_TIME: Duration = Duration::from_millis(400);
const CPU_ROUNDS: usize = 3;
const DISK_ROUNDS: usize = 3;
/// Ten periods of the usual 100 ms.
const QUOTA_TIME: Duration = Duration::from_millis(1_000);
const LINK_TIME: Duration = Duration::from_millis(1_000);
const LINK_SLICE: Duration = Duration::from_millis(100);
const WAKES: u32 = 1_000;
const WAKE_AFTER: Duration = Duration::from_micros(250);
const BLOCK_BYTES: usize = 1 << 20;
/// Small pieces, so that a slow link does not exceed its time by much.
const SEND_BYTES: usize = 64 << 10;

/// The host's parallel computing capacity, in cores: all logical cores busy, relative to one core busy alone.
/// Hyper-threads and noisy neighbours make it less than the count. Median of interleaved rounds.
pub fn cpu_cores() -> f64 {
    let count = thread::available_parallelism().map_or(1, usize::from);
    let mut ratios: Vec<f64> = (0..CPU_ROUNDS).map(|_| rounds(count) / rounds(1)).collect();
    median(&mut ratios).min(count as f64)
}

/// The CPU time that the host gets, in cores: threads that want more than that, their time over the wall's.
/// It is measured over complete periods of a quota, once the time saved before them is spent.
pub fn cpu_delivered() -> f64 {
    cpu_over(QUOTA_TIME / 5);
    cpu_over(QUOTA_TIME)
}

fn cpu_over(time: Duration) -> f64 {
    // `available_parallelism` rounds quotas down: 1.5 cores would be measured by one thread.
    let count = rustix::thread::sched_getaffinity(None).map_or(1, |cores| cores.count() as usize);
    let begin = Instant::now();
    let spent: f64 = thread::scope(|scope| {
        let workers: Vec<_> = (0..count)
            .map(|_| {
                scope.spawn(|| {
                    while begin.elapsed() < time {
                        compute();
                    }
                    read_ns(ClockId::ThreadCPUTime) as f64 / 1e9
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap_or(0.0)).sum()
    });
    spent / begin.elapsed().as_secs_f64()
}

/// CPU time, in microseconds, of one sleep of a quarter of a millisecond for the sleeping thread. A client
/// pays it for each wake-up, before it has done anything. On a virtual processor most of it is the
/// hypervisor's.
pub fn wake_cpu_us() -> f64 {
    thread::spawn(|| {
        let begin = read_ns(ClockId::ThreadCPUTime);
        for _ in 0..WAKES {
            thread::sleep(WAKE_AFTER);
        }
        (read_ns(ClockId::ThreadCPUTime) - begin) as f64 / 1e3 / f64::from(WAKES)
    })
    .join()
    .unwrap_or(0.0)
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

/// Sequential write (with its fdatasync) and direct read, bytes a second, through a file of `bytes` in
/// `directory`, which is removed again. Read is `None` where direct I/O is not offered.
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
    let blocks = bytes.div_ceil(BLOCK_BYTES * DISK_ROUNDS);
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    let block: Vec<u8> = (0..BLOCK_BYTES).map(|i| ((i * 131) >> 3) as u8).collect();
    let write = usual(|| {
        for _ in 0..blocks {
            file.write_all(&block)?;
        }
        file.sync_data()?;
        Ok(blocks * BLOCK_BYTES)
    })?;
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let Ok(mut file) = OpenOptions::new().read(true).custom_flags(direct).open(path) else {
        return Ok((write, None));
    };
    let mut buffer = aligned_block();
    let offset = buffer.as_ptr().align_offset(4096);
    let read = usual(|| {
        let mut read = 0;
        for _ in 0..blocks {
            read += file.read(&mut buffer[offset..offset + BLOCK_BYTES])?;
        }
        Ok(read)
    });
    // A file system that opens for direct reads and then refuses them does not offer direct I/O.
    Ok((write, read.ok()))
}

/// Bytes a second of the median of some rounds. A flush that waits for others' pages slows a round down; a
/// bounded disk that was idle has saved up credit, and is faster for a round.
fn usual(mut round: impl FnMut() -> std::io::Result<usize>) -> std::io::Result<f64> {
    let mut rates = [0.0; DISK_ROUNDS];
    for rate in &mut rates {
        let begin = Instant::now();
        let bytes = round()?;
        *rate = bytes as f64 / begin.elapsed().as_secs_f64();
    }
    Ok(median(&mut rates))
}

/// Of at least one figure; sorts them.
fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
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
    // The sender ends with a broken pipe or with the flag; both are expected.
    let _ = sender.join();
    Ok(rate)
}

/// Listens at an address of this host.
pub fn listen_at(address: &str) -> Result<TcpListener, String> {
    TcpListener::bind(address).map_err(|error| format!("cannot listen at {address}: {error}"))
}

/// Sends to another host's sink for a while.
pub fn send_to(address: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("nothing can be sent to {address}: {error}");
    let mut stream = TcpStream::connect(address).map_err(failed)?;
    let block = vec![0u8; BLOCK_BYTES];
    let begin = Instant::now();
    while begin.elapsed() < LINK_TIME {
        stream.write_all(&block[..SEND_BYTES]).map_err(failed)?;
    }
    stream.shutdown(std::net::Shutdown::Write).map_err(failed)?;
    // The other end closes when it has everything.
    stream.read_to_end(&mut Vec::new()).map_err(failed)?;
    Ok(())
}

/// Bytes a second of one connection: the median of slices of its time. A segment whose retransmission is lost
/// too stops a connection for 200 ms and more. That is due to the connection, not to the link. A transfer
/// shorter than a slice is one slice.
pub fn receive(listener: &TcpListener) -> Result<f64, String> {
    let failed = |error: std::io::Error| format!("nothing can be received: {error}");
    let (mut stream, _) = listener.accept().map_err(failed)?;
    let mut block = vec![0u8; BLOCK_BYTES];
    if stream.read(&mut block).map_err(failed)? == 0 {
        return Err("the other host sent nothing".into());
    }
    let mut slices = Vec::new();
    let (mut begin, mut bytes) = (Instant::now(), 0usize);
    loop {
        let read = stream.read(&mut block).map_err(failed)?;
        bytes += read;
        let time = begin.elapsed();
        if time >= LINK_SLICE || (read == 0 && slices.is_empty()) {
            slices.push(bytes as f64 / time.as_secs_f64());
            (begin, bytes) = (Instant::now(), 0);
        }
        if read == 0 {
            return Ok(median(&mut slices));
        }
    }
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
