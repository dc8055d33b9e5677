//! Interval logs read again: the sum of all histograms of each of some stretches of time. A day of a generator is 86,400
//! histograms, of which each table of a summary needs a few sums.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::thread;

use hdrhistogram::serialization::interval_log::{IntervalLogHistogram, IntervalLogIterator, LogEntry, Tag};
use serde::{Deserialize, Serialize};

use crate::histogram_counts::{Decoder, encoded};

const MAGIC: &[u8] = b"#[Histogram log format";
const TAG: &[u8] = b"Tag=";
/// Bytes that are read at once.
const BUFFER: usize = 1 << 20;
/// A thread is started for no fewer bytes.
const SHARE_MIN: u64 = 256 << 10;

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

/// Several threads, each with a share of the file.
fn of_file(path: &Path, wanted: &Wanted) -> Result<Sums, String> {
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    let mut magic = Vec::new();
    file.by_ref()
        .take(MAGIC.len() as u64)
        .read_to_end(&mut magic)
        .map_err(|error| error.to_string())?;
    if magic != MAGIC {
        return Err("it is no histogram log".into());
    }
    let size = file.metadata().map_err(|error| error.to_string())?.len();
    let cores = thread::available_parallelism().map_or(1, usize::from) as u64;
    let count = cores.min(size / SHARE_MIN).max(1);
    let shares: Vec<(u64, u64)> = (0..count)
        .map(|at| (size * at / count, size * (at + 1) / count))
        .collect();
    let mut sums: Sums = vec![None; wanted.stretches.len()];
    let found: Vec<Result<Sums, String>> = thread::scope(|scope| {
        let others: Vec<_> = shares[1..]
            .iter()
            .map(|&(begin, end)| scope.spawn(move || of_share(path, begin, end, wanted)))
            .collect();
        let first = of_share(path, 0, shares[0].1, wanted);
        std::iter::once(first)
            .chain(
                others
                    .into_iter()
                    .map(|thread| thread.join().expect("a fault ends the process")),
            )
            .collect()
    });
    for part in found {
        add_all(&mut sums, part?);
    }
    Ok(sums)
}

/// The lines that begin within these bytes of a file.
fn of_share(path: &Path, begin: u64, end: u64, wanted: &Wanted) -> Result<Sums, String> {
    let error_of = |error: std::io::Error| error.to_string();
    let mut reader = BufReader::with_capacity(BUFFER, File::open(path).map_err(error_of)?);
    let mut line = Vec::new();
    let mut at = begin;
    if begin > 0 {
        // What is left of the line before, of which only the end may be here.
        reader.seek(SeekFrom::Start(begin - 1)).map_err(error_of)?;
        at = begin - 1 + reader.read_until(b'\n', &mut line).map_err(error_of)? as u64;
    }
    let mut sums: Sums = vec![None; wanted.stretches.len()];
    let mut decoder = Decoder::default();
    let tag = wanted.op.as_ref().map(|op| [TAG, op.as_bytes(), b","].concat());
    while at < end {
        line.clear();
        match reader.read_until(b'\n', &mut line).map_err(error_of)? {
            0 => break,
            length => at += length as u64,
        }
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        // Of other kinds of operation not even the times are read; what is wrong there is found where they are asked for.
        let is_wanted = match &tag {
            Some(tag) => line.starts_with(tag) || !(line.starts_with(TAG) || line[0].is_ascii_digit()),
            None => !line.starts_with(TAG),
        };
        if is_wanted && !line.trim_ascii().is_empty() {
            add_line(&line, wanted, &mut decoder, &mut sums)?;
        }
    }
    Ok(sums)
}

fn add_line(line: &[u8], wanted: &Wanted, decoder: &mut Decoder, sums: &mut Sums) -> Result<(), String> {
    let Some(entry) = IntervalLogIterator::new(line).next() else {
        return Ok(()); // a comment, or the legend
    };
    match entry.map_err(|_| "a line is no interval")? {
        LogEntry::BaseTime(_) => Err("its times are relative, which hydrotest's are not".into()),
        LogEntry::StartTime(_) => Ok(()),
        LogEntry::Interval(interval) => {
            if interval.tag().as_ref().map(Tag::as_str) == wanted.op.as_deref()
                && let Some(at) = stretch_of(&interval, &wanted.stretches)
            {
                decoder.add(interval.encoded_histogram(), sums[at].get_or_insert_default())?;
            }
            Ok(())
        }
    }
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
    fn each_line_is_in_one_share_wherever_a_file_is_cut() {
        let file = std::env::temp_dir().join(format!("hydrotest-shares-{}.hlog", std::process::id()));
        let text = log(8);
        std::fs::write(&file, &text).unwrap();
        let wanted = Wanted {
            files: Vec::new(),
            op: None,
            stretches: vec![(0.0, f64::MAX)],
        };
        let whole = of_share(&file, 0, text.len() as u64, &wanted).unwrap();
        for cut in 0..=text.len() as u64 {
            let mut both = of_share(&file, 0, cut, &wanted).unwrap();
            add_all(&mut both, of_share(&file, cut, text.len() as u64, &wanted).unwrap());
            assert_eq!(both, whole, "{cut}");
        }
        std::fs::remove_file(&file).unwrap();
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
