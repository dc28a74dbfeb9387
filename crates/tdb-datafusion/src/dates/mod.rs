//! Functions of dates and times that DuckDB has and DataFusion lacks: `date_diff` (also `datediff`)
//! and `strftime`; and what a cast becomes that takes the zone of times away.

mod date_diff;
mod local_clocks;
mod strftime;

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Date64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType,
};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::logical_expr::{ColumnarValue, Expr, ScalarUDF};
use datafusion::prelude::SessionContext;

use self::date_diff::DateDiff;
use self::local_clocks::LocalClocks;
use self::strftime::Strftime;
use crate::Result;
use crate::exact::{DAY, local, unit};

/// The functions.
fn all() -> &'static [Arc<ScalarUDF>; 3] {
    static ALL: LazyLock<[Arc<ScalarUDF>; 3]> = LazyLock::new(|| {
        [
            Arc::new(DateDiff::new().into()),
            Arc::new(Strftime::new().into()),
            Arc::new(LocalClocks::new().into()),
        ]
    });
    &ALL
}

/// The times without a zone that clocks of the zone of these times show.
pub(crate) fn local_clocks(time: Expr) -> Expr {
    ScalarUDF::from(LocalClocks::new()).call(vec![time])
}

/// Registers them with a session.
pub(crate) fn register(session: &SessionContext) {
    all().iter().for_each(|function| session.register_udf(function.as_ref().clone()));
}

/// The function of this name.
pub(crate) fn named(name: &str) -> Option<&'static Arc<ScalarUDF>> {
    all().iter().find(|function| function.name() == name)
}

/// Whether a function is one of these.
pub(crate) fn has(function: &ScalarUDF) -> bool {
    let inner = function.inner();
    inner.is::<DateDiff>() || inner.is::<Strftime>() || inner.is::<LocalClocks>()
}

/// The nanoseconds since 1970 of a column of dates or times.
struct Instants {
    values: Vec<Option<i128>>,
    zone: Option<Arc<str>>,
}

impl Instants {
    fn of(values: &ArrayRef) -> Self {
        use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
        fn each<N: Into<i128>>(values: impl Iterator<Item = Option<N>>, step: i128) -> Vec<Option<i128>> {
            values.map(|count| Some(count?.into() * step)).collect()
        }
        let found = match values.data_type() {
            DataType::Date32 => each(values.as_primitive::<Date32Type>().iter(), DAY),
            DataType::Date64 => each(values.as_primitive::<Date64Type>().iter(), unit(Millisecond)),
            DataType::Timestamp(Second, _) => {
                each(values.as_primitive::<TimestampSecondType>().iter(), unit(Second))
            }
            DataType::Timestamp(Millisecond, _) => {
                each(values.as_primitive::<TimestampMillisecondType>().iter(), unit(Millisecond))
            }
            DataType::Timestamp(Microsecond, _) => {
                each(values.as_primitive::<TimestampMicrosecondType>().iter(), unit(Microsecond))
            }
            DataType::Timestamp(Nanosecond, _) => {
                each(values.as_primitive::<TimestampNanosecondType>().iter(), unit(Nanosecond))
            }
            // Only nulls have no type.
            _ => vec![None; values.len()],
        };
        Self { values: found, zone: zone_of(values.data_type()) }
    }

    /// The time that clocks of the zone show at an instant; without a zone, the instant itself.
    fn shown(&self, instant: i128) -> Result<i128> {
        self.zone.as_ref().map_or(Ok(instant), |zone| local(instant, zone))
    }
}

/// The zone of a type.
fn zone_of(data_type: &DataType) -> Option<Arc<str>> {
    match data_type {
        DataType::Timestamp(_, zone) => zone.clone(),
        _ => None,
    }
}

/// Refuses what is neither a date nor a time. What has no type is null.
fn check_time(function: &str, given: &DataType) -> Result<()> {
    if matches!(given, DataType::Date32 | DataType::Date64 | DataType::Timestamp(..) | DataType::Null) {
        return Ok(());
    }
    let is_text = matches!(given, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
    let instead =
        if is_text { ": write DATE '…' or TIMESTAMP '…', or CAST(… AS TIMESTAMP)" } else { "" };
    plan_err!("{function} needs a date or a time, not {given}{instead}")
}

/// A text of a call that is the same for every row; `None` if it is null.
fn constant(function: &str, what: &str, value: &ColumnarValue) -> Result<Option<String>> {
    let ColumnarValue::Scalar(value) = value else {
        return plan_err!("the {what} of {function} must be a constant");
    };
    Ok(match value {
        ScalarValue::Utf8(text) | ScalarValue::LargeUtf8(text) | ScalarValue::Utf8View(text) => text.clone(),
        _ => None,
    })
}
