//! What clocks of a zone show, as times without a zone: what a cast that takes the zone away makes.

use datafusion::arrow::array::Int64Array;
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{exec_datafusion_err, internal_err, plan_err};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility};

use super::Instants;
use crate::Result;
use crate::exact::unit;

const NAME: &str = "tiledb_local_clocks";

/// The function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct LocalClocks {
    signature: Signature,
}

impl LocalClocks {
    pub(super) fn new() -> Self {
        Self { signature: Signature::any(1, Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for LocalClocks {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, given: &[DataType]) -> Result<DataType> {
        match given {
            [DataType::Timestamp(step, _)] => Ok(DataType::Timestamp(*step, None)),
            _ => plan_err!("{NAME} needs one time, not {given:?}"),
        }
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let ([time], DataType::Timestamp(step, _)) =
            (arguments.args.as_slice(), arguments.return_field.data_type())
        else {
            return internal_err!("{NAME} was called for something else than a time");
        };
        let times = Instants::of(&time.to_array(arguments.number_rows)?);
        let shown = times.values.iter().map(|instant| -> Result<Option<i64>> {
            let Some(instant) = instant else { return Ok(None) };
            let shown = times.shown(*instant)? / unit(*step);
            let shown = i64::try_from(shown);
            Ok(Some(
                shown.map_err(|_| exec_datafusion_err!("a time is not one that its unit has in its zone"))?,
            ))
        });
        let shown: Int64Array = shown.collect::<Result<_>>()?;
        Ok(ColumnarValue::Array(cast(&shown, arguments.return_field.data_type())?))
    }
}
