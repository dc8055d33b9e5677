//! A node for unit tests: it greets, prepares anything, and answers executions as a test requires. Real nodes are
//! tested by tests/real/test_generators.py.

use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How one execution is answered.
pub(crate) enum Reply {
    /// Void for a write; for a read a meaningless row.
    Good,
    NoRow,
    /// For a read a row, and on a second page so many.
    Paged(u8),
    Refused(i32),
    /// UNPREPARED.
    Forgotten,
    /// The connection is closed instead.
    Cut,
    /// After 300 ms, while others go on.
    Late,
}

const RESPONSE: u8 = 0x84;
const INSERT: &[u8] = b"in";
const SELECT: &[u8] = b"se";
const PAGING_STATE: u8 = 0x08;
const MORE_PAGES: u8 = 0x02;

pub(crate) struct Stub {
    pub(crate) address: SocketAddr,
}

impl Stub {
    /// Answers on a port of its own, until the test process ends. `reply` receives the number of executions before it.
    pub(crate) fn listen(reply: impl Fn(u64) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (reply, executed) = (Arc::new(reply), Arc::new(AtomicU64::new(0)));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (reply, executed) = (reply.clone(), executed.clone());
                std::thread::spawn(move || serve(stream, &*reply, &executed));
            }
        });
        Self { address }
    }
}

/// Until the client, or a reply, closes the connection.
fn serve(mut stream: TcpStream, reply: &dyn Fn(u64) -> Reply, executed: &AtomicU64) -> Option<()> {
    let mut requests = BufReader::with_capacity(256 << 10, stream.try_clone().ok()?);
    let (mut body, mut answers) = (Vec::new(), Vec::new());
    loop {
        if requests.buffer().is_empty() {
            stream.write_all(&answers).ok()?;
            answers.clear();
        }
        let mut header = [0; 9];
        requests.read_exact(&mut header).ok()?;
        body.resize(u32::from_be_bytes(header[5..9].try_into().unwrap()) as usize, 0);
        requests.read_exact(&mut body).ok()?;
        let answer = match header[4] {
            0x01 => frame(&header, 0x02, &[]),
            0x09 => {
                let is_insert = body[4..].starts_with(b"INSERT");
                let (id, marks) = if is_insert { (INSERT, 3) } else { (SELECT, 1) };
                frame(&header, 0x08, &prepared(id, marks))
            }
            0x0A => match reply(executed.fetch_add(1, Ordering::Relaxed)) {
                Reply::Good | Reply::Paged(_) if &body[2..4] == INSERT => frame(&header, 0x08, &[0, 0, 0, 1]),
                Reply::Good => frame(&header, 0x08, &rows(1)),
                Reply::Paged(count) if body[6] & PAGING_STATE != 0 => frame(&header, 0x08, &rows(count)),
                Reply::Paged(_) => frame(&header, 0x08, &first_page()),
                Reply::NoRow => frame(&header, 0x08, &rows(0)),
                Reply::Refused(code) => frame(&header, 0x00, &[&code.to_be_bytes()[..], &[0, 2], b"no"].concat()),
                Reply::Forgotten => frame(
                    &header,
                    0x00,
                    &[&0x2500i32.to_be_bytes()[..], &[0, 0, 0, 2], &body[2..4]].concat(),
                ),
                Reply::Cut => return None,
                Reply::Late => {
                    let (mut later, answer) = (stream.try_clone().ok()?, frame(&header, 0x08, &[0, 0, 0, 1]));
                    std::thread::spawn(move || {
                        std::thread::sleep(Duration::from_millis(300));
                        later.write_all(&answer).ok()
                    });
                    continue;
                }
            },
            other => panic!("the stub does not know opcode {other}"),
        };
        answers.extend_from_slice(&answer);
    }
}

fn frame(request: &[u8; 9], opcode: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_be_bytes();
    [&[RESPONSE, 0, request[2], request[3], opcode], &length[..], body].concat()
}

/// A statement with so many blobs; its result has no described columns.
fn prepared(id: &[u8], marks: u8) -> Vec<u8> {
    // One table for all columns, so many of them, none of the partition key; keyspace and table.
    let head = [
        &[0, 0, 0, 4, 0, 2],
        id,
        &[0, 0, 0, 1, 0, 0, 0, marks, 0, 0, 0, 0, 0, 1, b'k', 0, 1, b't'],
    ]
    .concat();
    let column = [0, 1, b'c', 0, 3];
    let nothing = [0, 0, 0, 4, 0, 0, 0, 0];
    [head, column.repeat(usize::from(marks)), nothing.to_vec()].concat()
}

/// A row, and where the next page begins.
fn first_page() -> Vec<u8> {
    let mut body = rows(1);
    body[7] |= MORE_PAGES;
    body.splice(12..12, [0, 0, 0, 1, b'p']);
    body
}

/// Rows of two cells each, without metadata.
fn rows(count: u8) -> Vec<u8> {
    let mut body = vec![0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 2, 0, 0, 0, count];
    for _ in 0..2 * count {
        body.extend_from_slice(&[0, 0, 0, 30]);
        body.extend_from_slice(&[7; 30]);
    }
    body
}
