//! Reads of several pages: all of them are one operation.

use hydrotest_core::clock::monotonic_ns;

use super::NativeTarget;
use crate::account::{Answer, Found, Operation};
use crate::frame::Rows;

impl NativeTarget {
    /// Takes a page of an answer; the last one ends the operation.
    pub(super) fn take_rows(&mut self, number: u64, operation: Operation, rows: Rows<'_>, now_ns: u64) {
        let (count, next_page) = (rows.count, rows.next_page.map(<[u8]>::to_vec));
        let answer = match self.values.checked(operation, rows) {
            Answer::Read(found) => {
                let slot = &mut self.operations[(number - self.first) as usize];
                let all = match slot.found {
                    // Rows of several pages are several rows.
                    Some(before) if count > 0 && before != Found::Unchecked => Found::SeveralRows,
                    Some(before) => before,
                    None => found,
                };
                slot.found = (count > 0 || slot.found.is_some()).then_some(all);
                slot.next_page = next_page;
                if slot.next_page.is_some() {
                    self.account.found.further_pages += 1;
                    self.paged.push(number);
                    return;
                }
                Answer::Read(all)
            }
            other => other,
        };
        self.end(number, answer, now_ns);
    }

    /// Asks for the next pages of reads.
    pub(super) fn go_on(&mut self, index: usize) {
        for number in std::mem::take(&mut self.paged) {
            if let Some(operation) = self.operation(number) {
                let connection = self.pool.connection_mut(index);
                if connection.is_some_and(|connection| connection.has_room_for(1)) {
                    self.execute(index, number, operation);
                } else {
                    self.end(number, Answer::Failed("NoStreamId".into()), monotonic_ns());
                }
            }
        }
    }
}
