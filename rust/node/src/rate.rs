//! How fast this machine's cores are at several kinds of work, to compare machines with: no single one stands for all.
//!
//! Each kind is done in short slices, in turn, so that a machine that drifts does so for all of them; what counts is the median.

use std::hint::black_box;
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use hydrotest_core::checksum::crc32c;
use hydrotest_core::control::{AtEnd, listen, read_settings};
use hydrotest_sampler::{ceiling, speed};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::Deserialize;
use serde_json::{Map, json};

/// The settings of `rate`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RateSettings {
    /// Seconds for all kinds of work together.
    seconds: f64,
}

/// A slice is so long: a hundred of a kernel's quotas, which would show in shorter ones.
const SLICE: Duration = Duration::from_millis(200);
const SLICES_MIN: usize = 3;
const CACHE_LINE: usize = 64;
const NEAR_BYTES: usize = 256 << 10;
const MIDDLE_BYTES: usize = 8 << 20;
const FAR_BYTES: usize = 256 << 20;
const COPY_BYTES: usize = 32 << 20;
const BLOCK_BYTES: usize = 16 << 10;
/// More than branch predictors learn by heart: they do 16 KiB.
const BRANCH_BYTES: usize = 4 << 20;

/// A kind of work: does some of it and says how much.
type Work = Box<dyn FnMut() -> f64>;

/// Measures all kinds, and how many cores' worth all processors give at once.
pub fn run() -> Result<(), String> {
    let settings: RateSettings = read_settings()?;
    let control = listen(|_| false, AtEnd::Unanswered);
    let mut kinds = kinds()?;
    let slices = (settings.seconds / (SLICE.as_secs_f64() * kinds.len() as f64)).ceil() as usize;
    let mut seen: Vec<Vec<f64>> = vec![Vec::new(); kinds.len()];
    for _ in 0..slices.max(SLICES_MIN) {
        for ((_, work), own) in kinds.iter_mut().zip(&mut seen) {
            own.push(slice(work));
        }
    }
    let mut rates = Map::new();
    for ((name, _), own) in kinds.iter().zip(&mut seen) {
        own.sort_by(f64::total_cmp);
        let at = |share: f64| own[((own.len() - 1) as f64 * share).round() as usize];
        rates.insert(
            (*name).to_owned(),
            json!({ "per_s": at(0.5), "low": at(0.25), "high": at(0.75), "slices": own.len() }),
        );
    }
    control.answer(json!({
        "rates": rates,
        "processors": std::thread::available_parallelism().map_or(1, usize::from),
        "parallel_cores": ceiling::cpu_cores(),
    }));
    Ok(())
}

/// Units a second over a slice.
fn slice(work: &mut Work) -> f64 {
    let begin = Instant::now();
    let mut done = 0.0;
    while begin.elapsed() < SLICE {
        done += work();
    }
    done / begin.elapsed().as_secs_f64()
}

fn kinds() -> Result<Vec<(&'static str, Work)>, String> {
    Ok(vec![
        ("chain", Box::new(chain) as Work),
        ("wide", Box::new(wide)),
        ("branches", Box::new(branches())),
        ("walk near", Box::new(walk(NEAR_BYTES))),
        ("walk middle", Box::new(walk(MIDDLE_BYTES))),
        ("walk far", Box::new(walk(FAR_BYTES))),
        ("copy", Box::new(copy())),
        ("checksum", Box::new(checksum())),
        ("compress", Box::new(compress())),
        ("wake", Box::new(wake()?)),
    ])
}

/// Operations that each need the one before.
fn chain() -> f64 {
    speed::compute();
    1.0
}

/// Operations that do not need each other: as many at once as the core is wide.
fn wide() -> f64 {
    const STEPS: u64 = 100_000;
    let mut lanes: [u64; 8] = std::array::from_fn(|lane| lane as u64 + 1);
    for step in 0..STEPS {
        for lane in &mut lanes {
            *lane = lane.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(step);
        }
    }
    black_box(lanes);
    1.0
}

/// Branches that cannot be foreseen.
fn branches() -> impl FnMut() -> f64 {
    let mut random = SmallRng::seed_from_u64(1);
    let data: Vec<u8> = (0..BRANCH_BYTES).map(|_| random.random()).collect();
    move || {
        let (mut odd, mut even) = (0u64, 1u64);
        for &byte in black_box(&data) {
            if byte & 1 == 1 {
                odd = black_box(odd.wrapping_add(u64::from(byte)));
            } else {
                even = black_box(even.rotate_left(3));
            }
        }
        black_box((odd, even));
        data.len() as f64
    }
}

/// Follows pointers in an order that no hardware foresees, through so many bytes.
fn walk(bytes: usize) -> impl FnMut() -> f64 {
    const STEPS: usize = 20_000;
    let lines = bytes / CACHE_LINE;
    let words = CACHE_LINE / size_of::<u32>();
    let mut next = vec![0u32; lines * words];
    for (at, to) in cycle(lines as u32).into_iter().enumerate() {
        next[at * words] = to * words as u32;
    }
    let mut here = 0u32;
    move || {
        for _ in 0..STEPS {
            here = next[here as usize];
        }
        black_box(here);
        STEPS as f64
    }
}

/// For each place the next one, in one cycle through all of them (S. Sattolo, 1986).
fn cycle(places: u32) -> Vec<u32> {
    let mut order: Vec<u32> = (0..places).collect();
    let mut random = SmallRng::seed_from_u64(2);
    for at in (1..places as usize).rev() {
        order.swap(at, random.random_range(0..at));
    }
    order
}

/// Bytes copied in memory.
fn copy() -> impl FnMut() -> f64 {
    let from = vec![1u8; COPY_BYTES];
    let mut to = vec![0u8; COPY_BYTES];
    move || {
        to.copy_from_slice(black_box(&from));
        black_box(&to);
        COPY_BYTES as f64
    }
}

/// Bytes under a CRC-32C, as brokers check them.
fn checksum() -> impl FnMut() -> f64 {
    let data = vec![3u8; BLOCK_BYTES];
    move || {
        black_box(crc32c(black_box(&data)));
        BLOCK_BYTES as f64
    }
}

/// Bytes compressed with LZ4: half of them are noise, as in records.
fn compress() -> impl FnMut() -> f64 {
    let mut random = SmallRng::seed_from_u64(3);
    let data: Vec<u8> = (0..BLOCK_BYTES)
        .map(|at| if at / 16 % 2 == 0 { b'a' } else { random.random() })
        .collect();
    move || {
        black_box(lz4_flex::compress(black_box(&data)));
        BLOCK_BYTES as f64
    }
}

/// Another thread woken, and back: two system calls and two wake-ups for each.
fn wake() -> Result<impl FnMut() -> f64, String> {
    const TIMES: usize = 200;
    let words = |error: std::io::Error| error.to_string();
    let (mut read_there, mut write_here) = std::io::pipe().map_err(words)?;
    let (mut read_here, mut write_there) = std::io::pipe().map_err(words)?;
    std::thread::spawn(move || {
        let mut byte = [0u8];
        // It ends when the other end is closed.
        while read_there.read_exact(&mut byte).is_ok() && write_there.write_all(&byte).is_ok() {}
    });
    Ok(move || {
        let mut byte = [0u8];
        for _ in 0..TIMES {
            let went = write_here
                .write_all(&byte)
                .and_then(|()| read_here.read_exact(&mut byte));
            went.expect("the other thread answers");
        }
        TIMES as f64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_does_some_work() {
        for (name, mut work) in kinds().unwrap() {
            assert!(work() > 0.0, "{name}");
        }
    }

    #[test]
    fn a_walk_comes_through_all_of_it() {
        let order = cycle(64);
        let (mut here, mut steps) = (order[0], 1);
        while here != 0 {
            here = order[here as usize];
            steps += 1;
        }
        assert_eq!(steps, 64);
    }
}
