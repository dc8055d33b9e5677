//! Readers of a host's and its processes' counters. All take the root of their /proc, so tests run on a
//! simulated one. They return raw counters; rates are derived elsewhere.

pub mod ceiling;
pub mod clock;
pub mod disk;
pub mod emulated;
pub mod gauges;
pub mod host;
pub mod http;
pub mod process;
pub mod procfs;
pub mod speed;

use std::collections::BTreeMap;

/// Counter name → value since boot (or the current value, for sizes). Names end in their unit.
pub type Counters = BTreeMap<String, u64>;
