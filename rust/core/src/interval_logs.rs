//! Interval logs read again: the sum of all histograms of each of some stretches of time. A day of a generator is 86,400
//! histograms, of which each table of a summary needs a few sums.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::thread;

use hdrhistogram::serialization::interval_log::{IntervalLogHistogram, IntervalLogIterator, LogEntry, Tag};
use serde::{Deserialize, Serialize};

use crate::histogram_counts::{Decoder, encoded};

const MAGIC: &[u8] = b"#[Histogram log format";
/// Bytes of lines that threads share at a time.
const BLOCK: usize = 8 << 20;
/// A thread is started for no fewer bytes.
const SHARE_MIN: usize = 256 << 10;

/// What is to be summed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The logs of all generators of a workload.
    pub files: Vec<PathBuf>,
    /// The kind of operation; null: the intervals of all together.
    pub op: Option<String>,
    /// From and until when intervals start, seconds since the epoch; ascending, none within another.
    pub stretches: Vec<(f64, f64)>,
}

/// A log that cannot be read.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Damage {
    pub file: PathBuf,
    pub error: String,
}

/// Counts of each stretch, by the index of a histogram with the bounds of `recorder`.
type Sums = Vec<Option<Vec<u64>>>;

/// The sum of each stretch, as a line of a log has its histogram; null where there is none.
pub fn sums(wanted: &Wanted) -> Result<Vec<Option<String>>, Damage> {
    let mut sums: Sums = vec![None; wanted.stretches.len()];
    for file in &wanted.files {
        let one = of_file(file, wanted).map_err(|error| Damage {
            file: file.clone(),
            error,
        })?;
        add_all(&mut sums, one);
    }
    Ok(sums.into_iter().map(|sum| sum.map(|counts| encoded(&counts))).collect())
}

fn of_file(path: &Path, wanted: &Wanted) -> Result<Sums, String> {
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(|error| error.to_string())?);
    let mut sums: Sums = vec![None; wanted.stretches.len()];
    let mut block = Vec::with_capacity(BLOCK);
    let mut is_first = true;
    loop {
        block.clear();
        while block.len() < BLOCK
            && reader
                .read_until(b'\n', &mut block)
                .map_err(|error| error.to_string())?
                > 0
        {}
        if std::mem::take(&mut is_first) && !block.starts_with(MAGIC) {
            return Err("it is no histogram log".into());
        }
        if block.is_empty() {
            return Ok(sums);
        }
        if block.last() != Some(&b'\n') {
            block.push(b'\n');
        }
        for part in of_block(&block, wanted) {
            add_all(&mut sums, part?);
        }
    }
}

/// Several threads, each with a share of the lines.
fn of_block(block: &[u8], wanted: &Wanted) -> Vec<Result<Sums, String>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let shares = shares(block, cores.min(block.len() / SHARE_MIN).max(1));
    thread::scope(|scope| {
        let others: Vec<_> = shares[1..]
            .iter()
            .map(|&share| scope.spawn(move || of_lines(share, wanted)))
            .collect();
        let mut found = vec![of_lines(shares[0], wanted)];
        found.extend(
            others
                .into_iter()
                .map(|thread| thread.join().expect("a fault ends the process")),
        );
        found
    })
}

/// Cut at ends of lines.
fn shares(block: &[u8], count: usize) -> Vec<&[u8]> {
    let mut rest = block;
    let mut shares = Vec::with_capacity(count);
    for left in (1..=count).rev() {
        let about = rest.len() / left;
        let end = rest[about..]
            .iter()
            .position(|&byte| byte == b'\n')
            .map_or(rest.len(), |at| about + at + 1);
        let (share, behind) = rest.split_at(if left == 1 { rest.len() } else { end });
        shares.push(share);
        rest = behind;
    }
    shares
}

fn of_lines(lines: &[u8], wanted: &Wanted) -> Result<Sums, String> {
    let mut sums: Sums = vec![None; wanted.stretches.len()];
    let mut decoder = Decoder::default();
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let Some(entry) = IntervalLogIterator::new(line).next() else {
            continue; // a comment, or the legend
        };
        match entry.map_err(|_| "a line is no interval")? {
            LogEntry::BaseTime(_) => return Err("its times are relative, which hydrotest's are not".into()),
            LogEntry::StartTime(_) => {}
            LogEntry::Interval(interval) => {
                if interval.tag().as_ref().map(Tag::as_str) != wanted.op.as_deref() {
                    continue;
                }
                if let Some(at) = stretch_of(&interval, &wanted.stretches) {
                    decoder.add(interval.encoded_histogram(), sums[at].get_or_insert_default())?;
                }
            }
        }
    }
    Ok(sums)
}

fn stretch_of(interval: &IntervalLogHistogram<'_>, stretches: &[(f64, f64)]) -> Option<usize> {
    let start_s = interval.start_timestamp().as_secs_f64();
    let at = stretches.partition_point(|&(_, end_s)| end_s <= start_s);
    stretches
        .get(at)
        .is_some_and(|&(begin_s, _)| begin_s <= start_s)
        .then_some(at)
}

fn add_all(sums: &mut Sums, others: Sums) {
    for (sum, other) in sums.iter_mut().zip(others) {
        match (sum, other) {
            (Some(counts), Some(more)) => {
                counts.resize(counts.len().max(more.len()), 0);
                counts.iter_mut().zip(more).for_each(|(count, more)| *count += more);
            }
            (sum, Some(more)) => *sum = Some(more),
            (_, None) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;

    use super::*;
    use crate::histogram_counts::encoded_histogram;
    use crate::recorder::{DIGITS, HIGHEST_US};

    fn log(seconds: u64) -> String {
        let mut text = String::from(
            "#[Histogram log format version 1.3]\n\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n",
        );
        for second in 0..seconds {
            for (tag, values) in [("", 3), ("Tag=read,", 2)] {
                let mut histogram = Histogram::<u64>::new_with_bounds(1, HIGHEST_US, DIGITS).unwrap();
                histogram.record_n(1_000 + second, values).unwrap();
                text += &format!(
                    "{tag}{:.3},1.000,0.001,{}\n",
                    1_700_000_000.5 + second as f64,
                    encoded_histogram(&histogram)
                );
            }
        }
        text
    }

    fn counts(wanted: &Wanted) -> Vec<Option<u64>> {
        let decoded = |text: String| -> Histogram<u64> {
            Deserializer::new()
                .deserialize(&mut Cursor::new(STANDARD.decode(text).unwrap()))
                .unwrap()
        };
        sums(wanted)
            .unwrap()
            .into_iter()
            .map(|sum| sum.map(|text| decoded(text).len()))
            .collect()
    }

    #[test]
    fn intervals_add_up_by_stretches() {
        let folder = std::env::temp_dir().join(format!("hydrotest-logs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("ingest.response.hlog");
        // So many that several threads have a share.
        std::fs::write(&file, log(5_000)).unwrap();
        let of = |op: Option<&str>, stretches: &[(f64, f64)]| Wanted {
            files: vec![file.clone(), file.clone()],
            op: op.map(str::to_owned),
            stretches: stretches
                .iter()
                .map(|&(a, b)| (1_700_000_000.0 + a, 1_700_000_000.0 + b))
                .collect(),
        };
        let found = counts(&of(None, &[(0.0, 10.0), (10.0, 4_000.0), (6_000.0, 7_000.0)]));
        assert_eq!(found, [Some(10 * 3 * 2), Some(3_990 * 3 * 2), None]);
        assert_eq!(counts(&of(Some("read"), &[(100.0, 101.0)])), [Some(4)]);
        std::fs::write(&file, b"#[Histogram log format version 1.3]\n1.0,1.000,0.1,HISTFAAA!\n").unwrap();
        assert_eq!(sums(&of(None, &[(-1_700_000_000.0, 0.0)])).unwrap_err().file, file);
        std::fs::write(&file, b"").unwrap();
        assert_eq!(sums(&of(None, &[])).unwrap_err().error, "it is no histogram log");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
