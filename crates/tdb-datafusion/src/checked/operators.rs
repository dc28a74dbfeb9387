//! Operators of integers that fail where the result does not fit.

use datafusion::arrow::array::{ArrayRef, Datum};
use datafusion::arrow::compute::kernels::numeric::{add, mul, neg, sub};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::arrow::error::ArrowError;
use datafusion::common::{DataFusionError, ScalarValue, exec_datafusion_err, internal_err};
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDFImpl, Signature,
    Volatility,
};
use datafusion::physical_expr_common::datum::apply;

use crate::Result;

/// An arithmetic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Negate,
}

impl Operation {
    pub(super) const ALL: [Self; 4] = [Self::Add, Self::Subtract, Self::Multiply, Self::Negate];

    pub(super) const fn of(operator: Operator) -> Option<Self> {
        match operator {
            Operator::Plus => Some(Self::Add),
            Operator::Minus => Some(Self::Subtract),
            Operator::Multiply => Some(Self::Multiply),
            _ => None,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Add => "tiledb_add",
            Self::Subtract => "tiledb_subtract",
            Self::Multiply => "tiledb_multiply",
            Self::Negate => "tiledb_negate",
        }
    }

    fn compute(self, left: &dyn Datum, right: &dyn Datum) -> core::result::Result<ArrayRef, ArrowError> {
        match self {
            Self::Add => add(left, right),
            Self::Subtract => sub(left, right),
            Self::Multiply => mul(left, right),
            Self::Negate => neg(left.get().0),
        }
    }
}

/// An operator of integers as a function.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Checked {
    operation: Operation,
    signature: Signature,
}

impl Checked {
    pub(super) fn new(operation: Operation) -> Self {
        let arguments = if operation == Operation::Negate { 1 } else { 2 };
        Self { operation, signature: Signature::any(arguments, Volatility::Immutable) }
    }

    /// The operator that the function is for.
    fn operator(&self, arguments: &[Expr]) -> Option<Expr> {
        let op = match self.operation {
            Operation::Add => Operator::Plus,
            Operation::Subtract => Operator::Minus,
            Operation::Multiply => Operator::Multiply,
            Operation::Negate => return Some(Expr::Negative(Box::new(arguments.first()?.clone()))),
        };
        let [left, right] = arguments else { return None };
        Some(Expr::BinaryExpr(BinaryExpr::new(Box::new(left.clone()), op, Box::new(right.clone()))))
    }
}

/// The error of an operation whose result has a type.
fn failed(error: ArrowError, data_type: &DataType) -> DataFusionError {
    match error {
        ArrowError::ArithmeticOverflow(what) => exec_datafusion_err!(
            "overflow: {what}, and the result does not fit into {data_type}. Cast one side to a type that it fits, as DECIMAL(38, 0) or DOUBLE"
        ),
        other => other.into(),
    }
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        self.operation.name()
    }

    /// Columns are called as those of the operator are.
    fn schema_name(&self, arguments: &[Expr]) -> Result<String> {
        match self.operator(arguments) {
            Some(operator) => Ok(operator.schema_name().to_string()),
            None => internal_err!("{} has {} arguments", self.name(), arguments.len()),
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arguments: &[DataType]) -> Result<DataType> {
        match arguments.first() {
            Some(data_type) => Ok(data_type.clone()),
            None => internal_err!("{} has no arguments", self.name()),
        }
    }

    fn return_field_from_args(&self, arguments: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let types: Vec<_> = arguments.arg_fields.iter().map(|field| field.data_type().clone()).collect();
        let nullable = arguments.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Field::new(self.name(), self.return_type(&types)?, nullable).into())
    }

    fn invoke_with_args(&self, arguments: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [left, .., right] = arguments.args.as_slice() else {
            let [only] = arguments.args.as_slice() else {
                return internal_err!("{} has no arguments", self.name());
            };
            return self.compute(only, &ColumnarValue::Scalar(ScalarValue::Null));
        };
        self.compute(left, right)
    }
}

impl Checked {
    fn compute(&self, left: &ColumnarValue, right: &ColumnarValue) -> Result<ColumnarValue> {
        let data_type = left.data_type();
        apply(left, right, |left, right| self.operation.compute(left, right)).map_err(|error| match error {
            DataFusionError::ArrowError(error, _) => failed(*error, &data_type),
            other => other,
        })
    }
}
