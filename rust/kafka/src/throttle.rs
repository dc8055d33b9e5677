//! How a broker throttles a client above its quota: its answers come late, and contain the delay.

use serde::Serialize;

/// The delays that brokers have reported so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Throttled {
    /// Answers with a delay.
    answers: u64,
    /// The sum of the delays in milliseconds; those of requests in flight together overlap.
    ms: u64,
}

impl Throttled {
    /// Records an answer's `throttle_time_ms`.
    pub(crate) fn note(&mut self, ms: i32) {
        if let Ok(ms @ 1..) = u64::try_from(ms) {
            self.answers += 1;
            self.ms += ms;
        }
    }

    /// Adds the figures of another connection.
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
