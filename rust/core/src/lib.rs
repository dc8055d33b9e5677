//! The common part of all hydrotest generators: the schedule of intended starts, the recorder of three
//! latencies, the drive loop, the null target, and the messages to the controller. It depends on no client
//! library and no system under test.

pub mod arrival_process;
pub mod background;
pub mod checksum;
pub mod child;
pub mod clock;
pub mod cluster;
pub mod control;
pub mod draw;
pub mod drive;
pub mod histogram_counts;
pub mod interval_logs;
pub mod null;
pub mod recorder;
pub mod reporter;
pub mod runs;
pub mod schedule;
pub mod socket;
pub mod splitmix;
pub mod stamps;
pub mod threads;
pub mod tls;
pub mod trial;
pub mod wire;
