//! The values that operations write, and the check of the rows that they read: for the default table, or for
//! user-defined statements.

use anyhow::{Context, Result};
use bytes::BytesMut;
use hydrotest_core::draw::Distribution;

use crate::account::{Answer, Found, Operation};
use crate::answer_sample::{AnswerSample, Recipes, Sampling};
use crate::bound_statement::BoundStatement;
use crate::checks::{Check, Model, Nearby, Reason};
use crate::column::Recipe;
use crate::connection::Prepared;
use crate::cql::{self, How, Parsed};
use crate::frame::{ColumnSpec, DataType, Rows, put_value};
use crate::recall::Untold;
use crate::rows::{RowShape, is_intact, key_bytes};
use crate::schema::Schema;
use crate::settings::{Content, Group, Statement};
use crate::unchecked::{Unchecked, What};
use crate::value_generator::ValueGenerator;

/// Indices of the default table's statements.
pub(crate) const WRITE: usize = 0;
pub(crate) const READ: usize = 1;

/// Makes the values of operations, and checks the answers.
pub(crate) enum RowValues {
    Standard {
        shape: RowShape,
        filled: bool,
    },
    Own {
        bound: Vec<BoundStatement>,
        is_write: Vec<bool>,
        scratch: BytesMut,
        unchecked: Vec<Unchecked>,
        /// The statements whose recall cannot be found out.
        untold: Vec<Untold>,
    },
}

/// Facts about the tables, known before the load begins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tables {
    pub(crate) schema: Schema,
    /// Each row of the keys has been written before, and acknowledged.
    pub(crate) filled: bool,
    /// Each materialised view held the same rows as its table.
    pub(crate) views_filled: bool,
}

impl RowValues {
    /// Made from the tables and the prepared statements. `keys` are the rows' numbers. `sampling`: what is kept of the answers
    /// to reads of the nearest vectors.
    pub(crate) fn new(
        content: &Content,
        statements: &[Statement],
        prepared: &[Prepared],
        tables: &Tables,
        keys: &Distribution,
        sampling: Option<Sampling>,
    ) -> Result<Self> {
        let (generators, filling) = match content {
            Content::Standard { shape, .. } => {
                return Ok(Self::Standard {
                    shape: *shape,
                    filled: tables.filled,
                });
            }
            Content::Own {
                generators, filling, ..
            } => (generators, filling.as_ref()),
        };
        // The keys of all statements: for a statement that binds only a part of the key, a node does not
        // report which columns are the key.
        let key_names: Vec<String> = prepared
            .iter()
            .flat_map(|prepared| {
                prepared
                    .key
                    .iter()
                    .map(|&at| prepared.values[usize::from(at)].name.clone())
            })
            .collect();
        // A key with parts is not the row's number, and may be that of several rows.
        let has_parts = |name: &str| {
            let mut all = prepared.iter().flat_map(|prepared| &prepared.values);
            all.any(|column| column.name == name && !matches!(column.kind, DataType::Plain(_)))
        };
        let known = known(statements, prepared, tables, filling, &|name| {
            generators.get(name).map_or_else(
                || key_names.iter().any(|key| key == name) && !has_parts(name),
                |generator| *generator == ValueGenerator::Row,
            )
        });
        let mut untold = Vec::new();
        let mut sample = |statement: &Statement, prepared: &Prepared, known: &Known| {
            let (sampling, nearest) = (sampling?, known.nearest.clone()?);
            let recipe = |column: &ColumnSpec| Recipe {
                name: column.name.clone(),
                kind: column.kind.clone(),
                generator: generators.get(&column.name).cloned(),
                is_key: key_names.contains(&column.name),
                rows_max: keys.range().1,
            };
            let made = nearest.and_then(|nearby| {
                let recipes = recipes(&nearby, prepared, recipe).ok_or(Reason::NotByMark)?;
                AnswerSample::new(&statement.name, nearby, recipes, keys.range(), sampling)
            });
            made.map_err(|reason| {
                untold.push(Untold {
                    statement: statement.name.clone(),
                    reason,
                });
            })
            .ok()
        };
        let bind = |((statement, prepared), known): ((&Statement, &Prepared), &Known)| {
            let generator = |name: &str| generators.get(name).cloned();
            let bound = BoundStatement::new(
                &prepared.values,
                &prepared.key,
                &key_names,
                &prepared.returned,
                generator,
                known.check.as_ref().ok(),
                Group::of(statement.rows, keys),
            )
            .with_context(|| format!("statement {}", statement.name))?;
            let asked = |name: &String| prepared.values.iter().position(|column| is_vector(column, name));
            let bound = bound.asking(known.asks.as_ref().and_then(asked));
            anyhow::Ok(bound.sampled(sample(statement, prepared, known)))
        };
        let unchecked = |(statement, known): (&Statement, &Known)| {
            if statement.is_write {
                Vec::new()
            } else {
                Unchecked::of(&statement.name, &known.check)
            }
        };
        Ok(Self::Own {
            bound: statements
                .iter()
                .zip(prepared)
                .zip(&known)
                .map(bind)
                .collect::<Result<_>>()?,
            is_write: statements.iter().map(|statement| statement.is_write).collect(),
            scratch: BytesMut::new(),
            unchecked: statements.iter().zip(&known).flat_map(unchecked).collect(),
            untold,
        })
    }

    /// What was drawn of the answers to reads of the nearest vectors, and the statements of which nothing was.
    pub(crate) fn take_samples(&mut self) -> (Vec<AnswerSample>, Vec<Untold>) {
        match self {
            Self::Standard { .. } => (Vec::new(), Vec::new()),
            Self::Own { bound, untold, .. } => {
                let samples = bound.iter_mut().filter_map(BoundStatement::take_sample);
                (samples.collect(), std::mem::take(untold))
            }
        }
    }

    /// The parts of the statements' reads that are not checked.
    pub(crate) fn unchecked(&self) -> Vec<Unchecked> {
        match self {
            Self::Standard { filled, .. } => unchecked_standard(*filled),
            Self::Own { unchecked, .. } => unchecked.clone(),
        }
    }

    /// Appends the values of an operation; `writer` and `number` identify it, `wall_ns` when it was meant to begin.
    pub(crate) fn put(&mut self, out: &mut BytesMut, operation: Operation, writer: u32, number: u64, wall_ns: u64) {
        match self {
            Self::Standard { shape, .. } => {
                put_value(out, &key_bytes(operation.key));
                if operation.statement == WRITE {
                    shape.put(out, operation.key, writer, number, wall_ns);
                }
            }
            Self::Own { bound, .. } => bound[operation.statement].put(out, operation.key),
        }
    }

    /// Appends the partition key of an operation as nodes hash it; false where the statement does not bind all of it.
    pub(crate) fn put_partition_key(&mut self, out: &mut BytesMut, operation: Operation) -> bool {
        match self {
            Self::Standard { .. } => {
                out.extend_from_slice(&key_bytes(operation.key));
                true
            }
            Self::Own { bound, .. } => bound[operation.statement].put_partition_key(out, operation.key),
        }
    }

    /// Checks the rows of an answer.
    pub(crate) fn checked(&mut self, operation: Operation, mut rows: Rows<'_>) -> Answer {
        let columns = rows.columns;
        match self {
            Self::Standard { .. } if operation.statement == WRITE => Answer::Written,
            Self::Standard { filled, .. } => {
                // A null or truncated cell ends the row early, and then its checksum does not fit.
                let (is_row, key) = (rows.count > 0, key_bytes(operation.key));
                let cells = (0..columns).map_while(|_| rows.cell().ok().flatten());
                let is_intact = is_intact(&key, cells);
                Answer::Read(standard(is_row.then_some(is_intact), *filled))
            }
            // A conditional write answers with a row whose first column is true if it was applied.
            Self::Own { is_write, .. } if is_write[operation.statement] => match rows.cell() {
                Ok(Some([0])) => Answer::NotApplied,
                _ => Answer::Written,
            },
            Self::Own { bound, scratch, .. } => {
                Answer::Read(bound[operation.statement].judge(&mut rows, operation.key, scratch))
            }
        }
    }
}

/// The result of a read of the default table: whether its row is intact, if there is one.
pub(crate) fn standard(is_intact: Option<bool>, filled: bool) -> Found {
    match is_intact {
        Some(true) => Found::Intact,
        Some(false) => Found::Corrupted,
        None if filled => Found::Missing,
        None => Found::Absent,
    }
}

/// The parts of the default table's reads that are not checked.
pub(crate) fn unchecked_standard(filled: bool) -> Vec<Unchecked> {
    if filled {
        return Vec::new();
    }
    vec![Unchecked::new("read", What::Presence, Reason::NotPopulated, Vec::new())]
}

/// What is known of a statement's answers before any of them comes.
struct Known {
    check: Result<Check, Reason>,
    /// How they are held against an exact search, if it asks for the nearest vectors.
    nearest: Option<Result<Nearby, Reason>>,
    /// The column whose nearest it asks for, to a vector that is a mark.
    asks: Option<String>,
}

/// What is known of each statement.
fn known(
    statements: &[Statement],
    prepared: &[Prepared],
    tables: &Tables,
    filling: Option<&String>,
    is_unique: &dyn Fn(&str) -> bool,
) -> Vec<Known> {
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
        views_filled: tables.views_filled,
        is_unique,
    };
    let of = |(parsed, prepared): (&Parsed, &Prepared)| {
        let returned: Vec<&str> = prepared.returned.iter().map(|column| column.name.as_str()).collect();
        let asked = match parsed {
            Parsed::Select(select) => select.nearest.as_ref().filter(|nearest| nearest.to == How::Mark),
            _ => None,
        };
        Known {
            check: model.check(parsed, &returned),
            nearest: model.nearest(parsed, &returned),
            asks: asked.map(|nearest| nearest.column.clone()),
        }
    };
    parsed.iter().zip(prepared).map(of).collect()
}

/// True for the vector that is bound as a column's.
fn is_vector(column: &ColumnSpec, name: &str) -> bool {
    column.name == name && matches!(column.kind, DataType::Vector(..))
}

/// By what the columns are made that decide which rows are the nearest; None where one of them is not bound.
fn recipes(nearby: &Nearby, prepared: &Prepared, recipe: impl Fn(&ColumnSpec) -> Recipe) -> Option<Recipes> {
    let bound = |name: &String| prepared.values.iter().find(|column| column.name == *name);
    let vector = prepared
        .values
        .iter()
        .find(|column| is_vector(column, &nearby.column))?;
    let equal = nearby.equal.iter().map(|name| bound(name).map(&recipe));
    Some(Recipes {
        vector: recipe(vector),
        key: nearby
            .key
            .iter()
            .map(|(_, at)| recipe(&prepared.returned[*at]))
            .collect(),
        equal: equal.collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests;
