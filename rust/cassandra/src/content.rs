//! What the operations are: reads and writes of the default table, or statements of the user's own.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use bytes::BytesMut;
use serde::{Deserialize, Serialize};

use crate::account::{Answer, Found, Operation};
use crate::checks::{Check, Model, Reason};
use crate::cql::{self, Act, Parsed};
use crate::frame::{Rows, put_value};
use crate::link::Prepared;
use crate::rows::{RowShape, is_intact, key_bytes};
use crate::schema::Schema;
use crate::shape::Shape;
use crate::unchecked::{Unchecked, What};
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
        /// The name of the one that writes each row before the others are executed, if one does.
        filling: Option<String>,
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
    /// It writes rows, and does not only delete them.
    pub(crate) makes_rows: bool,
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
                    makes_rows: is_write,
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
                    let parsed = cql::parse(&one.cql);
                    let is_delete = |write: &cql::Write| write.changes.iter().all(|change| change.act == Act::Delete);
                    Statement {
                        name: one.name.clone(),
                        cql: one.cql.clone(),
                        share: one.weight / sum,
                        is_write: !matches!(parsed, Parsed::Select(_) | Parsed::OtherRead),
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

/// Makes the values of operations, and checks what comes back.
pub(crate) enum Values {
    Standard {
        shape: RowShape,
        filled: bool,
    },
    Own {
        shapes: Vec<Shape>,
        is_write: Vec<bool>,
        scratch: BytesMut,
        unchecked: Vec<Unchecked>,
    },
}

/// What is known of the tables before the load begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub(crate) schema: Schema,
    /// Each row of the keys has been written before, and acknowledged.
    pub(crate) filled: bool,
}

impl Values {
    /// By the tables, and by what a node said of the prepared statements. `rows_max` is the highest row number.
    pub(crate) fn new(
        content: &Content,
        statements: &[Statement],
        prepared: &[Prepared],
        tables: &Tables,
        rows_max: u64,
    ) -> Result<Self> {
        let (makers, filling) = match content {
            Content::Standard { shape, .. } => {
                return Ok(Self::Standard {
                    shape: *shape,
                    filled: tables.filled,
                });
            }
            Content::Own { makers, filling, .. } => (makers, filling.as_ref()),
        };
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
        let checks = checks(statements, prepared, tables, filling, &|name| {
            makers
                .get(name)
                .map_or_else(|| keys.iter().any(|key| key == name), |maker| *maker == Maker::Row)
        });
        let shape = |((statement, prepared), check): ((&Statement, &Prepared), &Result<Check, Reason>)| {
            let maker = |name: &str| makers.get(name).copied();
            Shape::new(
                &prepared.values,
                &prepared.key,
                &keys,
                &prepared.returned,
                maker,
                check.as_ref().ok(),
                rows_max,
            )
            .with_context(|| format!("statement {}", statement.name))
        };
        let unchecked = |(statement, check): (&Statement, &Result<Check, Reason>)| {
            if statement.is_write {
                Vec::new()
            } else {
                Unchecked::of(&statement.name, check)
            }
        };
        Ok(Self::Own {
            shapes: statements
                .iter()
                .zip(prepared)
                .zip(&checks)
                .map(shape)
                .collect::<Result<_>>()?,
            is_write: statements.iter().map(|statement| statement.is_write).collect(),
            scratch: BytesMut::new(),
            unchecked: statements.iter().zip(&checks).flat_map(unchecked).collect(),
        })
    }

    /// What is not checked of the statements' reads.
    pub(crate) fn unchecked(&self) -> Vec<Unchecked> {
        match self {
            Self::Standard { filled, .. } => unchecked_standard(*filled),
            Self::Own { unchecked, .. } => unchecked.clone(),
        }
    }

    /// Appends the values of an operation; `writer` and `number` tell whose it is, `wall_ns` when it was meant to begin.
    pub(crate) fn put(&mut self, out: &mut BytesMut, operation: Operation, writer: u32, number: u64, wall_ns: u64) {
        match self {
            Self::Standard { shape, .. } => {
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
            Self::Standard { .. } => {
                out.extend_from_slice(&key_bytes(operation.key));
                true
            }
            Self::Own { shapes, .. } => shapes[operation.statement].put_partition_key(out, operation.key),
        }
    }

    /// What rows that came back are worth.
    pub(crate) fn checked(&mut self, operation: Operation, mut rows: Rows<'_>) -> Answer {
        let columns = rows.columns;
        match self {
            Self::Standard { .. } if operation.statement == WRITE => Answer::Written,
            Self::Standard { filled, .. } => {
                // A cell that is null or cut short ends the row early, and then its checksum does not fit.
                let (is_row, key) = (rows.count > 0, key_bytes(operation.key));
                let cells = (0..columns).map_while(|_| rows.cell().ok().flatten());
                let is_intact = is_intact(&key, cells);
                Answer::Read(standard(is_row.then_some(is_intact), *filled))
            }
            // A conditional write answers with a row whose first column says whether it was applied.
            Self::Own { is_write, .. } if is_write[operation.statement] => match rows.cell() {
                Ok(Some([0])) => Answer::NotApplied,
                _ => Answer::Written,
            },
            Self::Own { shapes, scratch, .. } => {
                Answer::Read(shapes[operation.statement].judge(&mut rows, operation.key, scratch))
            }
        }
    }
}

/// What a read of the default table found: whether its row is intact, if there is one.
pub(crate) fn standard(is_intact: Option<bool>, filled: bool) -> Found {
    match is_intact {
        Some(true) => Found::Intact,
        Some(false) => Found::Corrupted,
        None if filled => Found::Missing,
        None => Found::Absent,
    }
}

/// What is not checked of the default table's reads.
pub(crate) fn unchecked_standard(filled: bool) -> Vec<Unchecked> {
    if filled {
        return Vec::new();
    }
    vec![Unchecked::new("read", What::Presence, Reason::NotPopulated, Vec::new())]
}

/// What can be checked of each statement.
fn checks(
    statements: &[Statement],
    prepared: &[Prepared],
    tables: &Tables,
    filling: Option<&String>,
    is_unique: &dyn Fn(&str) -> bool,
) -> Vec<Result<Check, Reason>> {
    let parsed: Vec<Parsed> = statements.iter().map(|statement| cql::parse(&statement.cql)).collect();
    let is_filling = |statement: &Statement| Some(&statement.name) == filling;
    let pairs = || statements.iter().zip(&parsed);
    let model = Model {
        schema: &tables.schema,
        executed: pairs()
            .filter(|(statement, _)| statement.share > 0.0 || is_filling(statement))
            .map(|(_, parsed)| parsed)
            .collect(),
        filled_by: pairs()
            .find(|(statement, _)| tables.filled && is_filling(statement))
            .map(|(_, parsed)| parsed),
        is_unique,
    };
    let check = |(parsed, prepared): (&Parsed, &Prepared)| {
        let returned: Vec<&str> = prepared.returned.iter().map(|column| column.name.as_str()).collect();
        model.check(parsed, &returned)
    };
    parsed.iter().zip(prepared).map(check).collect()
}

#[cfg(test)]
mod tests;
