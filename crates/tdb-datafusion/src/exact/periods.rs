//! Text that names a month, an hour or another period, compared with times: `'2013-06'`.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::logical_expr::{Expr, Operator, lit};
use tdb_codec::Datatype;
use tdb_codec::calendar::span;

use super::position::values_of;
use super::times::instant_of_text;
use crate::Result;
use crate::statistics::scalar;

/// The comparison of a time with the text of a period: equal is what is inside. `None` if the other
/// side is no time, or the text is an instant.
pub(super) fn compare(time: &Expr, of: &DataType, op: Operator, value: &ScalarValue) -> Result<Option<Expr>> {
    let of = values_of(of);
    let Some(text) = value.try_as_str().flatten() else { return Ok(None) };
    let zone = match of {
        DataType::Timestamp(_, zone) => zone.clone(),
        DataType::Date32 | DataType::Date64 => None,
        _ => return Ok(None),
    };
    if instant_of_text(text, zone.clone()).is_some() {
        return Ok(None);
    }
    // What DataFusion reads as a time is one.
    if value.cast_to(of).is_ok() {
        return Ok(None);
    }
    let period = match zone {
        None => period(text, of),
        // Clocks of a zone may leave out an hour.
        Some(_) => None,
    };
    let Some((first, last)) = period else {
        return plan_err!(
            "{text:?} is compared with a time, but is none: write TIMESTAMP '2013-06-01' or TIMESTAMP '2013-06-01 12:30:00'"
        );
    };
    let (first, last) = (lit(first), lit(last));
    let time = || time.clone();
    Ok(Some(match op {
        Operator::Lt => time().lt(first),
        Operator::GtEq => time().gt_eq(first),
        Operator::Gt => time().gt(last),
        Operator::LtEq => time().lt_eq(last),
        Operator::Eq => time().gt_eq(first).and(time().lt_eq(last)),
        Operator::NotEq => time().lt(first).or(time().gt(last)),
        _ => return Ok(None),
    }))
}

/// The first and the last value of a type in a period.
fn period(text: &str, of: &DataType) -> Option<(ScalarValue, ScalarValue)> {
    let datatype = match of {
        DataType::Date32 => Datatype::DatetimeDay,
        DataType::Date64 | DataType::Timestamp(TimeUnit::Millisecond, _) => Datatype::DatetimeMs,
        DataType::Timestamp(TimeUnit::Second, _) => Datatype::DatetimeSec,
        DataType::Timestamp(TimeUnit::Microsecond, _) => Datatype::DatetimeUs,
        DataType::Timestamp(TimeUnit::Nanosecond, _) => Datatype::DatetimeNs,
        _ => return None,
    };
    let (first, last) = span(datatype, text.trim()).ok()?;
    scalar(first.into(), of).zip(scalar(last.into(), of))
}
