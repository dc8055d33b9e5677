//! The speed reference: a small fixed computation, timed in thread CPU time. It shows how fast the
//! machine is at this moment, whatever else runs on it.

use rustix::time::ClockId;

use crate::clock::read_ns;

/// Steps of the fixed computation; about a third of a millisecond on a 2.5 GHz core.
const STEPS: u64 = 200_000;

/// Does the fixed computation once; a dependent chain, so that it measures the core and not its width.
pub fn compute() -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    for step in 0..STEPS {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state = state.wrapping_add(step);
    }
    std::hint::black_box(state)
}

/// Thread CPU time of one computation, in nanoseconds: less is faster.
pub fn timed_ns() -> u64 {
    let read = || read_ns(ClockId::ThreadCPUTime);
    let before = read();
    compute();
    read() - before
}
