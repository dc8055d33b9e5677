//! How a broker holds a client back that is above its quota: by answers that come late, and say by how much.

use serde::Serialize;

/// What brokers have reported of it so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Throttled {
    /// Answers that named a delay.
    answers: u64,
    /// The delays named, milliseconds together; those of answers to requests that were out together overlap.
    ms: u64,
}

impl Throttled {
    /// Takes an answer's `throttle_time_ms` in.
    pub(crate) fn note(&mut self, ms: i32) {
        if let Ok(ms @ 1..) = u64::try_from(ms) {
            self.answers += 1;
            self.ms += ms;
        }
    }

    /// Adds what another connection received.
    pub(crate) fn add(&mut self, other: Self) {
        self.answers += other.answers;
        self.ms += other.ms;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_delays_count() {
        let mut throttled = Throttled::default();
        for ms in [0, -1, 30, 12] {
            throttled.note(ms);
        }
        throttled.add(Throttled { answers: 1, ms: 8 });
        assert_eq!(throttled, Throttled { answers: 3, ms: 50 });
    }
}
