//! The settings of the CQL generator: the client, the statements, the keys and the load.

use std::collections::BTreeMap;

use hydrotest_core::cluster::ClusterSettings;
use hydrotest_core::draw::Distribution;
use hydrotest_core::wire::LoadSettings;
use serde::{Deserialize, Serialize};

use crate::cql::{self, Act, Parsed};
use crate::rows::RowShape;
use crate::value_generator::ValueGenerator;

/// The client that talks to the nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Client {
    /// The protocol itself, from one thread without hand-overs.
    Native,
    /// The `scylla` driver, as an application would.
    Driver,
}

/// The level at which the condition of a write is agreed upon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum Serial {
    /// Among all data centres.
    Serial,
    /// Within one.
    LocalSerial,
}

impl Serial {
    /// Its number in the protocol.
    pub(crate) fn level(self) -> u16 {
        match self {
            Self::Serial => 8,
            Self::LocalSerial => 9,
        }
    }
}

/// Several rows that one operation writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    pub rows: u64,
    pub kind: BatchKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BatchKind {
    /// All of it, or nothing, after a while.
    Logged,
    Unlogged,
    /// Of changes of counters.
    Counter,
}

impl Batch {
    fn cql(self, one: &str) -> String {
        let kind = match self.kind {
            BatchKind::Logged => "",
            BatchKind::Unlogged => "UNLOGGED ",
            BatchKind::Counter => "COUNTER ",
        };
        let one = one.trim().trim_end_matches(';');
        format!(
            "BEGIN {kind}BATCH {}APPLY BATCH",
            format!("{one}; ").repeat(self.rows as usize)
        )
    }
}

/// The settings of the CQL generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CqlSettings {
    pub client: Client,
    pub cluster: ClusterSettings,
    pub keyspace: String,
    pub content: Content,
    /// Each row of the keys has been written before, and acknowledged: a row that a read does not find is
    /// missing.
    pub filled: bool,
    /// Each materialised view held the same rows as its table afterwards.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub views_filled: bool,
    pub consistency: String,
    /// Of conditional writes; None: the node's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial_consistency: Option<Serial>,
    /// Rows of a page of a read; all pages of a read are one operation. None: all rows at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page_rows: Option<i32>,
    pub keys: Distribution,
    pub seed: u64,
    /// End after this many operations, if that comes first (populating a table).
    pub operations: Option<u64>,
    /// Connections to each node, per thread.
    pub connections: usize,
    pub request_timeout_ms: u64,
    /// The longest interval between checks of the schedule: operations that fall due in it begin together.
    /// From 1 ms on, answers are also taken only that often. That costs least CPU, and adds up to as much to
    /// response times.
    pub tick_us: u64,
    /// Wake for each answer, though the kernel says when they came.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub each_answer: bool,
    /// Answers of each statement that asks for the nearest vectors, of which the recall is found out at the end; None: it is
    /// not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recall_queries: Option<usize>,
    /// The thread with share `i` writes as `writer + i`.
    pub writer: u32,
    pub load: LoadSettings,
}

impl CqlSettings {
    pub(crate) fn statements(&self) -> Vec<Statement> {
        self.content.statements(&self.keyspace)
    }
}

/// The operations, and their shares.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Content {
    /// Rows of cassandra-stress's `standard1`, each with its checksum; `write_share` of the operations are writes.
    Standard { shape: RowShape, write_share: f64 },
    /// User-defined statements and tables, with generators for columns that do not use the default.
    Own {
        statements: Vec<OwnStatement>,
        generators: BTreeMap<String, ValueGenerator>,
        /// The name of the statement that writes each row before the others are executed, if there is one.
        filling: Option<String>,
    },
}

/// One user-defined statement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnStatement {
    pub name: String,
    pub cql: String,
    pub weight: f64,
    /// Executes it for so many rows at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<Batch>,
}

/// A statement, before any node has prepared it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statement {
    pub(crate) name: String,
    pub(crate) cql: String,
    /// Its share of the operations, 0 to 1.
    pub(crate) share: f64,
    pub(crate) is_write: bool,
    /// True if it writes rows, and does not only delete them.
    pub(crate) makes_rows: bool,
    /// True if it writes only where a condition holds.
    pub(crate) is_conditional: bool,
    /// Rows that an operation writes.
    pub(crate) rows: u64,
}

/// The row whose vector is asked for by an operation of this row: one behind the last, so that no row has it.
pub(crate) fn asked_row(row: u64, last: u64) -> u64 {
    last.wrapping_add(1).wrapping_add(row)
}

/// The rows that belong to one operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) rows: u64,
    /// Of all rows.
    pub(crate) range: (u64, u64),
    /// Operations come in the order of their numbers, and so do their rows: none is written again before all others.
    pub(crate) in_turn: bool,
}

impl Group {
    /// Of the keys' rows.
    pub(crate) fn of(rows: u64, keys: &Distribution) -> Self {
        Self {
            rows,
            range: keys.range(),
            in_turn: matches!(keys, Distribution::Sequential { .. }),
        }
    }

    /// The rows of the operation with this number: its own, and those around it from one multiple of their count to the
    /// next. Within the range of all rows, so that the first and the last of them may be there several times.
    pub(crate) fn rows_of(self, number: u64) -> impl Iterator<Item = u64> {
        let (min, max) = self.range;
        let group = if self.in_turn {
            let (first, last) = (min / self.rows, max / self.rows);
            first + (number - min) % (last - first + 1)
        } else {
            number / self.rows
        };
        let first = group * self.rows;
        (first..first + self.rows).map(move |row| row.clamp(min, max))
    }
}

impl Content {
    /// An error in words if no load can be generated from it.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Self::Standard { shape, write_share } => {
                shape.check()?;
                let is_share = (0.0..=1.0).contains(write_share);
                if is_share {
                    Ok(())
                } else {
                    Err(format!("the share of writes is {write_share}, and must be from 0 to 1"))
                }
            }
            Self::Own { statements, .. } => {
                if statements
                    .iter()
                    .any(|one| one.batch.is_some_and(|batch| batch.rows == 0))
                {
                    return Err("a batch without rows writes nothing".into());
                }
                let is_weight = |weight: f64| weight.is_finite() && weight >= 0.0;
                let sum: f64 = statements.iter().map(|statement| statement.weight).sum();
                if statements.iter().all(|one| is_weight(one.weight)) && sum > 0.0 {
                    Ok(())
                } else {
                    Err("no statement has a weight above 0".into())
                }
            }
        }
    }

    /// The keyspace of statements that name none; those of the default table name theirs.
    pub(crate) fn keyspace<'a>(&self, keyspace: &'a str) -> Option<&'a str> {
        matches!(self, Self::Own { .. }).then_some(keyspace)
    }

    /// All statements, by index.
    pub(crate) fn statements(&self, keyspace: &str) -> Vec<Statement> {
        match self {
            Self::Standard { shape, write_share } => {
                let names: Vec<String> = (0..shape.columns).map(|column| format!("\"C{column}\"")).collect();
                let (columns, marks) = (names.join(", "), vec!["?"; shape.columns + 1].join(", "));
                let statement = |name: &str, cql: String, share: f64, is_write: bool| Statement {
                    name: name.into(),
                    cql,
                    share,
                    is_write,
                    makes_rows: is_write,
                    is_conditional: false,
                    rows: 1,
                };
                let insert = format!("INSERT INTO {keyspace}.standard1 (key, {columns}) VALUES ({marks})");
                let select = format!("SELECT {columns} FROM {keyspace}.standard1 WHERE key = ?");
                vec![
                    statement("write", insert, *write_share, true),
                    statement("read", select, 1.0 - write_share, false),
                ]
            }
            Self::Own { statements, .. } => {
                let sum: f64 = statements.iter().map(|statement| statement.weight).sum();
                let own = |one: &OwnStatement| {
                    let cql = one.batch.map_or_else(|| one.cql.clone(), |batch| batch.cql(&one.cql));
                    let parsed = cql::parse(&cql);
                    let is_delete = |write: &cql::Write| write.changes.iter().all(|change| change.act == Act::Delete);
                    Statement {
                        name: one.name.clone(),
                        share: one.weight / sum,
                        is_write: !matches!(parsed, Parsed::Select(_) | Parsed::OtherRead),
                        is_conditional: cql::is_conditional(&cql),
                        rows: one.batch.map_or(1, |batch| batch.rows),
                        cql,
                        makes_rows: match &parsed {
                            Parsed::Write(write) => !is_delete(write),
                            Parsed::Other => true,
                            _ => false,
                        },
                    }
                };
                statements.iter().map(own).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_their_shares() {
        let own = |name: &str, cql: &str, weight: f64| OwnStatement {
            name: name.into(),
            cql: cql.into(),
            weight,
            batch: None,
        };
        let content = Content::Own {
            statements: vec![
                own("look", " select note FROM t", 3.0),
                own("place", "INSERT INTO t", 1.0),
            ],
            generators: BTreeMap::new(),
            filling: None,
        };
        content.check().unwrap();
        let found = content.statements("hydrotest_x");
        assert_eq!(
            found.iter().map(|one| (one.share, one.is_write)).collect::<Vec<_>>(),
            [(0.75, false), (0.25, true)]
        );
        assert_eq!(content.keyspace("hydrotest_x"), Some("hydrotest_x"));
        let none = Content::Own {
            statements: vec![own("look", "SELECT", 0.0)],
            generators: BTreeMap::new(),
            filling: None,
        };
        assert!(none.check().is_err());
    }

    #[test]
    fn what_writes_rows_is_told_from_what_only_deletes_them() {
        let of = |cql: &str| {
            let statements = vec![OwnStatement {
                name: "one".into(),
                cql: cql.into(),
                weight: 1.0,
                batch: None,
            }];
            let (generators, filling) = (BTreeMap::new(), None);
            let content = Content::Own {
                statements,
                generators,
                filling,
            };
            let found = content.statements("hydrotest_x");
            (found[0].is_write, found[0].makes_rows)
        };
        assert_eq!(of("-- who\nSELECT v FROM t WHERE k = ?"), (false, false));
        assert_eq!(of("SELECT something unheard of"), (false, false));
        assert_eq!(of("UPDATE t SET v = ? WHERE k = ?"), (true, true));
        assert_eq!(of("DELETE FROM t WHERE k = ?"), (true, false));
        assert_eq!(of("INSERT INTO t JSON ?"), (true, true));
    }

    #[test]
    fn a_batch_writes_a_row_for_each_of_its_statements() {
        let one = OwnStatement {
            name: "put".into(),
            cql: "INSERT INTO t (k, v) VALUES (?, ?) IF NOT EXISTS;".into(),
            weight: 1.0,
            batch: Some(Batch {
                rows: 2,
                kind: BatchKind::Unlogged,
            }),
        };
        let content = Content::Own {
            statements: vec![one],
            generators: BTreeMap::new(),
            filling: None,
        };
        let found = content.statements("hydrotest_x").remove(0);
        assert_eq!(
            found.cql,
            "BEGIN UNLOGGED BATCH INSERT INTO t (k, v) VALUES (?, ?) IF NOT EXISTS; INSERT INTO t (k, v) VALUES (?, ?) IF NOT EXISTS; APPLY BATCH"
        );
        assert!(found.is_conditional && found.is_write && found.makes_rows);
        assert!(matches!(cql::parse(&found.cql), Parsed::Write(write) if write.changes.len() == 2));
        let group = Group::of(4, &Distribution::Uniform { min: 1, max: 6 });
        let rows = |number| group.rows_of(number).collect::<Vec<_>>();
        assert_eq!(
            (rows(1), rows(3), rows(6)),
            (vec![1, 1, 2, 3], vec![1, 1, 2, 3], vec![4, 5, 6, 6])
        );
        let group = Group::of(4, &Distribution::Sequential { min: 1, max: 9 });
        let rows = |number| group.rows_of(number).collect::<Vec<_>>();
        assert_eq!(
            [rows(1), rows(2), rows(3), rows(4)],
            [vec![1, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9, 9, 9], vec![1, 1, 2, 3]]
        );
        assert!(!cql::is_conditional("SELECT \"if\" FROM t WHERE k = 'if'"));
    }
}
