//! What the operations are: reads and writes of the default table, or statements of the user's own.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use bytes::BytesMut;
use serde::{Deserialize, Serialize};

use crate::account::{Answer, Operation};
use crate::frame::{Rows, put_value};
use crate::link::Prepared;
use crate::rows::{RowShape, is_intact, key_bytes};
use crate::shape::Shape;
use crate::values::Maker;

/// What is executed, and how often.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Content {
    /// Rows of cassandra-stress's `standard1`, each with its checksum; `write_share` of the operations are writes.
    Standard { shape: RowShape, write_share: f64 },
    /// Statements on tables of the user's own, and how the columns' values are made where that is not left to us.
    Own {
        statements: Vec<OwnStatement>,
        makers: BTreeMap<String, Maker>,
    },
}

/// One statement of the user's own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnStatement {
    pub name: String,
    pub cql: String,
    pub weight: f64,
}

/// A statement, before any node has prepared it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Statement {
    pub(crate) name: String,
    pub(crate) cql: String,
    /// Its share of the operations, 0 to 1.
    pub(crate) share: f64,
    pub(crate) is_write: bool,
}

/// Places of the default table's statements.
pub(crate) const WRITE: usize = 0;
pub(crate) const READ: usize = 1;

impl Content {
    /// An error in words if nothing can be pressed with it.
    pub(crate) fn check(&self) -> Result<(), String> {
        match self {
            Self::Standard { shape, write_share } => {
                shape.check()?;
                let is_share = (0.0..=1.0).contains(write_share);
                if is_share {
                    Ok(())
                } else {
                    Err(format!("a share of {write_share} writes"))
                }
            }
            Self::Own { statements, .. } => {
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

    /// The keyspace that statements without one are about; those of the default table name theirs.
    pub(crate) fn keyspace<'a>(&self, keyspace: &'a str) -> Option<&'a str> {
        matches!(self, Self::Own { .. }).then_some(keyspace)
    }

    /// All statements, in the order of their places.
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
                let own = |one: &OwnStatement| Statement {
                    name: one.name.clone(),
                    cql: one.cql.clone(),
                    share: one.weight / sum,
                    is_write: !one
                        .cql
                        .trim_start()
                        .get(..6)
                        .is_some_and(|word| word.eq_ignore_ascii_case("SELECT")),
                };
                statements.iter().map(own).collect()
            }
        }
    }
}

/// Makes the values of operations, and checks what comes back.
pub(crate) enum Values {
    Standard(RowShape),
    Own {
        shapes: Vec<Shape>,
        is_write: Vec<bool>,
        scratch: BytesMut,
    },
}

impl Values {
    /// By what a node said of the prepared statements. `rows_max` is the highest row number.
    pub(crate) fn new(
        content: &Content,
        statements: &[Statement],
        prepared: &[Prepared],
        rows_max: u64,
    ) -> Result<Self> {
        let makers = match content {
            Content::Standard { shape, .. } => return Ok(Self::Standard(*shape)),
            Content::Own { makers, .. } => makers,
        };
        let written: Vec<String> = statements
            .iter()
            .zip(prepared)
            .filter(|(statement, _)| statement.is_write)
            .flat_map(|(_, prepared)| prepared.values.iter().map(|column| column.name.clone()))
            .collect();
        // Of all statements: one that binds only a part of the key is not told which columns are the key.
        let keys: Vec<String> = prepared
            .iter()
            .flat_map(|prepared| {
                prepared
                    .key
                    .iter()
                    .map(|&at| prepared.values[usize::from(at)].name.clone())
            })
            .collect();
        let shape = |(statement, prepared): (&Statement, &Prepared)| {
            let maker = |name: &str| makers.get(name).copied();
            Shape::new(
                &prepared.values,
                &prepared.key,
                &keys,
                &prepared.returned,
                maker,
                &written,
                rows_max,
            )
            .with_context(|| format!("statement {}", statement.name))
        };
        Ok(Self::Own {
            shapes: statements.iter().zip(prepared).map(shape).collect::<Result<_>>()?,
            is_write: statements.iter().map(|statement| statement.is_write).collect(),
            scratch: BytesMut::new(),
        })
    }

    /// Appends the values of an operation; `writer` and `number` tell whose it is, `wall_ns` when it was meant to begin.
    pub(crate) fn put(&mut self, out: &mut BytesMut, operation: Operation, writer: u32, number: u64, wall_ns: u64) {
        match self {
            Self::Standard(shape) => {
                put_value(out, &key_bytes(operation.key));
                if operation.statement == WRITE {
                    shape.put(out, operation.key, writer, number, wall_ns);
                }
            }
            Self::Own { shapes, .. } => shapes[operation.statement].put(out, operation.key),
        }
    }

    /// Appends the partition key of an operation as nodes hash it; false where the statement does not bind all of it.
    pub(crate) fn put_partition_key(&mut self, out: &mut BytesMut, operation: Operation) -> bool {
        match self {
            Self::Standard(_) => {
                out.extend_from_slice(&key_bytes(operation.key));
                true
            }
            Self::Own { shapes, .. } => shapes[operation.statement].put_partition_key(out, operation.key),
        }
    }

    /// What rows that came back are worth.
    pub(crate) fn checked(&mut self, operation: Operation, mut rows: Rows<'_>) -> Answer {
        let found = rows.count > 0;
        let columns = rows.columns;
        match self {
            Self::Standard(_) if operation.statement == WRITE => Answer::Written,
            Self::Standard(_) => {
                // A cell that is null or cut short ends the row early, and then its checksum does not fit.
                let cells = (0..columns).map_while(|_| rows.cell().ok().flatten());
                Answer::Read {
                    found,
                    intact: !found || is_intact(&key_bytes(operation.key), cells),
                }
            }
            // A conditional write answers with a row that says whether it was applied.
            Self::Own { is_write, .. } if is_write[operation.statement] => Answer::Written,
            Self::Own { shapes, scratch, .. } => {
                let shape = &mut shapes[operation.statement];
                if !shape.is_checked() || rows.count > 1 {
                    return Answer::Read {
                        found: true,
                        intact: true,
                    };
                }
                let cells = (0..columns).map_while(|_| rows.cell().ok());
                Answer::Read {
                    found,
                    intact: !found || shape.is_intact(cells, operation.key, scratch),
                }
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
        };
        let content = Content::Own {
            statements: vec![
                own("look", " select note FROM t", 3.0),
                own("place", "INSERT INTO t", 1.0),
            ],
            makers: BTreeMap::new(),
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
            makers: BTreeMap::new(),
        };
        assert!(none.check().is_err());
    }

    #[test]
    fn the_default_table_s_statements_name_it() {
        let shape = RowShape {
            columns: 2,
            column_bytes: 30,
        };
        let found = Content::Standard {
            shape,
            write_share: 0.25,
        }
        .statements("hydrotest_x");
        assert_eq!(
            found[WRITE].cql,
            "INSERT INTO hydrotest_x.standard1 (key, \"C0\", \"C1\") VALUES (?, ?, ?)"
        );
        assert_eq!(
            found[READ].cql,
            "SELECT \"C0\", \"C1\" FROM hydrotest_x.standard1 WHERE key = ?"
        );
        assert_eq!((found[WRITE].share, found[READ].share), (0.25, 0.75));
    }
}
