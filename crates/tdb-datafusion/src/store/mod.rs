//! Exact `INSERT`: it stores the values that it was given, or fails.
//!
//! DataFusion puts a cast around every value of `INSERT` whose type is not that of its column.
//! These casts cut times to the column's unit, round integers to reals, and reals to integers. A
//! rule of the session puts a conversion of this crate in their place, which fails where it would
//! change a value. Casts that a `SELECT` contains stay as they are: they were asked for.

mod convert;

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::catalog::default_table_source::source_as_provider;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DFSchemaRef, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    Cast, ColumnarValue, DmlStatement, Expr, LogicalPlan, Projection, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, Values, Volatility, WriteOp,
};
use datafusion::optimizer::AnalyzerRule;

use self::convert::Conversion;
use crate::{Result, TdbTable};

/// Makes the conversions of `INSERT` into arrays exact.
#[derive(Debug)]
pub(crate) struct ExactInserts;

impl AnalyzerRule for ExactInserts {
    fn name(&self) -> &str {
        "tiledb_exact_inserts"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let exact = plan.transform_down(|plan| match plan {
            LogicalPlan::Dml(mut insert) if is_insert(&insert) => {
                insert.input = Arc::new(rows(Arc::unwrap_or_clone(insert.input))?);
                Ok(Transformed::yes(LogicalPlan::Dml(insert)))
            }
            plan => Ok(Transformed::no(plan)),
        })?;
        Ok(exact.data)
    }
}

fn is_insert(statement: &DmlStatement) -> bool {
    matches!(statement.op, WriteOp::Insert(_))
        && source_as_provider(&statement.target).is_ok_and(|table| table.is::<TdbTable>())
}

/// The rows of an INSERT: a projection to the columns of the table.
fn rows(input: LogicalPlan) -> Result<LogicalPlan> {
    let LogicalPlan::Projection(Projection { expr, input, .. }) = input else { return Ok(input) };
    let names: Vec<_> =
        expr.iter().map(|column| (column.schema_name().to_string(), source_of(column))).collect();
    let expr = expr.into_iter().map(|column| {
        let name = column.schema_name().to_string();
        column.transform_up(|part| Ok(exact(part, &name))).map(|column| column.data)
    });
    let expr = expr.collect::<Result<Vec<_>>>()?;
    // Rows of VALUES have casts of their own, to the types of the columns, or to one that all rows
    // of a column have.
    let input = Arc::unwrap_or_clone(input).transform_down(|plan| match plan {
        LogicalPlan::Values(Values { schema, values }) => {
            let named: Vec<_> = schema
                .fields()
                .iter()
                .map(|field| {
                    let found = names.iter().find(|(_, source)| source.as_ref() == Some(field.name()));
                    found.map_or_else(|| field.name().clone(), |(name, _)| name.clone())
                })
                .collect();
            let row = |row: Vec<Expr>| {
                if row.len() != named.len() {
                    return internal_err!("a row of VALUES with {} of {} values", row.len(), named.len());
                }
                Ok(row.into_iter().zip(&named).map(|(value, name)| exact(value, name).data).collect())
            };
            let values = values.into_iter().map(row).collect::<Result<_>>()?;
            let schema = nullable(&schema)?;
            Ok(Transformed::yes(LogicalPlan::Values(Values { schema, values })))
        }
        plan => Ok(Transformed::no(plan)),
    })?;
    Ok(LogicalPlan::Projection(Projection::try_new(expr, Arc::new(input.data))?))
}

/// The columns, each of which may be null: what writes the rows names a column that may not, and
/// DataFusion would not.
fn nullable(schema: &DFSchema) -> Result<DFSchemaRef> {
    let fields = schema
        .iter()
        .map(|(table, field)| (table.cloned(), Arc::new(Field::clone(field).with_nullable(true))));
    Ok(Arc::new(DFSchema::new_with_metadata(fields.collect(), schema.metadata().clone())?))
}

/// The name of the column that a column of a projection is made of.
fn source_of(column: &Expr) -> Option<String> {
    match column {
        Expr::Alias(alias) => source_of(&alias.expr),
        Expr::Cast(cast) => source_of(&cast.expr),
        Expr::Column(column) => Some(column.name.clone()),
        _ => None,
    }
}

/// Replaces a cast by a conversion that changes no value.
fn exact(expr: Expr, column: &str) -> Transformed<Expr> {
    match expr {
        Expr::Cast(Cast { expr, field }) => {
            let to = Store::new(column, field.data_type());
            Transformed::yes(Expr::ScalarFunction(ScalarFunction::new_udf(
                Arc::new(ScalarUDF::from(to)),
                vec![*expr],
            )))
        }
        expr => Transformed::no(expr),
    }
}

/// The conversion to the type of a column.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Store {
    column: String,
    to: DataType,
    signature: Signature,
}

impl Store {
    fn new(column: &str, to: &DataType) -> Self {
        let signature = Signature::any(1, Volatility::Immutable);
        Self { column: column.to_owned(), to: to.clone(), signature }
    }
}

impl ScalarUDFImpl for Store {
    fn name(&self) -> &str {
        "tiledb_store"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.to.clone())
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let nullable = arguments.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Field::new(self.name(), self.to.clone(), nullable).into())
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = arguments.args.as_slice() else {
            return internal_err!("{} has one argument", self.name());
        };
        let conversion = Conversion { column: &self.column, to: &self.to };
        match value {
            ColumnarValue::Array(values) => Ok(ColumnarValue::Array(conversion.of(values)?)),
            ColumnarValue::Scalar(value) => {
                let converted = conversion.of(&value.to_array()?)?;
                Ok(ColumnarValue::Scalar(datafusion::common::ScalarValue::try_from_array(&converted, 0)?))
            }
        }
    }
}
