//! When bytes came in, as the kernel saw it: a reader that sleeps meanwhile still learns it.
//!
//! The stamp is that of the last segment that a read gives: who wants to know it of each answer reads them one by one.
//! Segments that the kernel merged while they waited have the last one's, so that bytes may be said to have come later than
//! they did, by no more than the time between two reads.

use std::io;
use std::net::TcpStream;
use std::os::fd::AsRawFd;

/// Room for one control message with a time.
const CONTROL_WORDS: usize = 8;

/// Lets the kernel stamp what comes in. An error where it cannot.
pub fn ask_for(stream: &TcpStream) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open, and the call reads one integer of the size that it is given.
    let done = unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Reads what has come, and when (nanoseconds of the kernel's wall clock), where it is stamped.
pub fn read(stream: &TcpStream, buffer: &mut [u8]) -> io::Result<(usize, Option<u64>)> {
    let mut control = [0u64; CONTROL_WORDS];
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: all zeros are a valid header.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.as_mut_ptr().cast();
    header.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the header points to one buffer and to aligned room for control messages, which outlive the call.
    let read = unsafe { libc::recvmsg(stream.as_raw_fd(), &raw mut header, 0) };
    if read < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((read as usize, stamp(&header)))
}

fn stamp(header: &libc::msghdr) -> Option<u64> {
    // SAFETY: the kernel has filled the header and what it points to.
    let mut message = unsafe { libc::CMSG_FIRSTHDR(header) };
    while !message.is_null() {
        // SAFETY: it is one of the header's messages; one of this type holds a timespec, perhaps unaligned.
        unsafe {
            if (*message).cmsg_level == libc::SOL_SOCKET && (*message).cmsg_type == libc::SCM_TIMESTAMPNS {
                let time: libc::timespec = libc::CMSG_DATA(message).cast::<libc::timespec>().read_unaligned();
                return Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::TcpListener;
    use std::time::Duration;

    use super::*;
    use crate::clock::{came_ns, monotonic_ns};

    /// A stream that is stamped, and its other end.
    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        there.set_nodelay(true).unwrap();
        let (here, _) = listener.accept().unwrap();
        ask_for(&here).unwrap();
        (here, there)
    }

    #[test]
    fn a_reader_that_slept_learns_when_bytes_came() {
        let (here, mut there) = pair();
        let mut buffer = [0; 64];
        // The kernel begins to stamp a moment after it was asked for the first time.
        while {
            there.write_all(b"x").unwrap();
            read(&here, &mut buffer).unwrap().1.is_none()
        } {}
        for _ in 0..20 {
            let before = monotonic_ns();
            there.write_all(b"answer").unwrap();
            let sent = monotonic_ns();
            std::thread::sleep(Duration::from_millis(4));
            let (bytes, stamp) = read(&here, &mut buffer).unwrap();
            let came = came_ns(stamp.unwrap(), 0);
            assert_eq!(bytes, 6);
            // On loopback it came while it was being sent: what the two clocks' readings differ by is allowed for.
            assert!(
                came + 100_000 >= before && came <= sent + 100_000,
                "{before} {came} {sent}"
            );
        }
    }

    #[test]
    fn a_closed_peer_gives_no_bytes() {
        let (here, there) = pair();
        drop(there);
        assert_eq!(read(&here, &mut [0; 8]).unwrap().0, 0);
    }
}
