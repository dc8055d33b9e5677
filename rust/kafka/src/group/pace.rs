//! Holds what all members read together within what the owner of a cluster allows.

use hydrotest_core::clock::monotonic_ns;

use crate::settings::Most;

/// What members may read at once, after a time in which they read less.
const BURST_NS: u64 = 100_000_000;
/// A shorter wait is not worth an order to each member.
const LEAST_NS: u64 = 1_000_000;

/// The virtual time up to which what was read is allowed (the generic cell rate algorithm, ITU-T I.371).
pub(super) struct Pace {
    most: Most,
    allowed_ns: u64,
    /// Until when members were asked to read nothing.
    held_until_ns: u64,
    /// Sum of the times for which they were.
    held_ns: u64,
}

impl Pace {
    pub(super) fn new(most: Most) -> Self {
        Self {
            most,
            allowed_ns: monotonic_ns(),
            held_until_ns: 0,
            held_ns: 0,
        }
    }

    /// Takes in what was read until now. Returns until when nobody is to read, where that is more than is allowed.
    pub(super) fn add(&mut self, now_ns: u64, records: u64, bytes: u64) -> Option<u64> {
        let seconds = (records as f64 / self.most.records_per_s).max(bytes as f64 / self.most.bytes_per_s);
        self.allowed_ns = self.allowed_ns.max(now_ns.saturating_sub(BURST_NS)) + (seconds * 1e9) as u64;
        if self.allowed_ns < now_ns.max(self.held_until_ns) + LEAST_NS {
            return None;
        }
        self.held_ns += self.allowed_ns - now_ns.max(self.held_until_ns);
        self.held_until_ns = self.allowed_ns;
        Some(self.allowed_ns)
    }

    /// For how long members were kept from reading.
    pub(super) fn held_s(&self) -> f64 {
        self.held_ns as f64 / 1e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn pace(records_per_s: f64, bytes_per_s: f64) -> Pace {
        let most = Most {
            records_per_s,
            bytes_per_s,
        };
        Pace {
            allowed_ns: 0,
            ..Pace::new(most)
        }
    }

    #[test]
    fn what_is_read_as_it_comes_is_not_held() {
        let mut pace = pace(1000.0, 1e9);
        for ms in 1..2_000 {
            assert_eq!(pace.add(ms * MS, 1, 100), None);
        }
        assert!(pace.held_s() == 0.0);
    }

    #[test]
    fn a_backlog_is_read_at_what_is_allowed() {
        for (most, bytes) in [((1000.0, 1e9), 1), ((1e9, 100_000.0), 100)] {
            let mut pace = pace(most.0, most.1);
            let (mut now, mut records) = (1_000 * MS, 0);
            while now < 11_000 * MS {
                records += 50;
                now = pace.add(now, 50, 50 * bytes).unwrap_or(now);
            }
            assert!((10_000..=10_200).contains(&records), "{records}");
            assert!((9.5..10.5).contains(&pace.held_s()), "{}", pace.held_s());
        }
    }

    #[test]
    fn several_members_are_not_held_twice_for_the_same_time() {
        let mut pace = pace(1000.0, 1e9);
        assert_eq!(pace.add(1_000 * MS, 300, 0), Some(1_200 * MS));
        assert_eq!(pace.add(1_000 * MS, 100, 0), Some(1_300 * MS));
        assert!((pace.held_s() - 0.3).abs() < 1e-9);
    }
}
