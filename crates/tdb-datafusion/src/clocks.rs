//! Times with a zone beside times without one: casts, and `now()`.
//!
//! `now()` is an instant, and has the zone UTC, so that it is compared with columns of any zone.
//! DataFusion's has no zone, as `TIMESTAMP '…'`, which beside a column with a zone is a time there.
//! Instants of different zones are subtracted as those of one.
//!
//! DataFusion's cast to a time without a zone keeps the clocks of UTC, while its casts to dates and
//! to text, `date_trunc` and `strftime` have those of the zone. A rule of the session gives this
//! cast the clocks of the zone, too, as DuckDB and PostgreSQL have it.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::DFSchema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, Operator, TryCast};
use datafusion::optimizer::AnalyzerRule;

use crate::Result;
use crate::dates::local_clocks;
use crate::rewrite::rewrite;

/// Gives times the clocks of their zone where a cast takes the zone away, and a zone to `now()`.
#[derive(Debug)]
pub(crate) struct ZonedTimes;

impl AnalyzerRule for ZonedTimes {
    fn name(&self) -> &str {
        "tiledb_zoned_times"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        rewrite(plan, &|expr, schema| {
            Ok(match expr {
                Expr::Cast(Cast { expr, field }) if takes_zone(&expr, field.data_type(), schema)? => {
                    let expr = Box::new(local_clocks(*expr));
                    Transformed::yes(Expr::Cast(Cast { expr, field }))
                }
                Expr::TryCast(TryCast { expr, field }) if takes_zone(&expr, field.data_type(), schema)? => {
                    let expr = Box::new(local_clocks(*expr));
                    Transformed::yes(Expr::TryCast(TryCast { expr, field }))
                }
                Expr::BinaryExpr(minus) if minus.op == Operator::Minus => difference(minus, schema),
                Expr::ScalarFunction(function) if function.name() == "now" => {
                    let utc = DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
                    let now = Box::new(Expr::ScalarFunction(function));
                    Transformed::yes(Expr::Cast(Cast::new(now, utc)))
                }
                expr => Transformed::no(expr),
            })
        })
    }
}

/// Whether a cast to a type takes the zone of times away.
fn takes_zone(expr: &Expr, to: &DataType, schema: &DFSchema) -> Result<bool> {
    let is_time = matches!(to, DataType::Timestamp(_, None));
    Ok(is_time && matches!(expr.get_type(schema)?, DataType::Timestamp(_, Some(_))))
}

/// A difference, whose second instant is converted to the zone of the first one: DataFusion
/// subtracts only instants of one zone.
fn difference(BinaryExpr { left, op, right }: BinaryExpr, schema: &DFSchema) -> Transformed<Expr> {
    // DataFusion itself says what is wrong with operands that have no type.
    let types = left.get_type(schema).ok().zip(right.get_type(schema).ok());
    match types {
        Some((DataType::Timestamp(_, Some(zone)), DataType::Timestamp(step, Some(other))))
            if zone != other =>
        {
            let right = Cast::new(right, DataType::Timestamp(step, Some(zone)));
            Transformed::yes(Expr::BinaryExpr(BinaryExpr { left, op, right: Box::new(Expr::Cast(right)) }))
        }
        _ => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
    }
}
