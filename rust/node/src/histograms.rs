//! Sums interval logs for whoever reads a run folder, as often as asked: a line of JSON in, one out. It is the binary of the reader's
//! own installation, or the one on its PATH: what has another version ends at the first question, or does not know the command.

use std::io::{self, BufRead, Write};

use hydrotest_core::interval_logs::{Wanted, sums};
use serde_json::json;

/// Answers each line of stdin until it ends.
pub fn run() -> Result<(), String> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|error| format!("stdin cannot be read: {error}"))?;
        let wanted: Wanted =
            serde_json::from_str(&line).map_err(|error| format!("the question does not fit: {error}"))?;
        let answer = match sums(&wanted) {
            Ok(sums) => json!({"sums": sums}),
            Err(damage) => json!({"damage": damage}),
        };
        writeln!(out, "{answer}")
            .and_then(|()| out.flush())
            .map_err(|error| format!("stdout cannot be written: {error}"))?;
    }
    Ok(())
}
