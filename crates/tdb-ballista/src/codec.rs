//! The codec of plans: arrays as bytes of this crate, everything else by Ballista's codecs.

use std::sync::Arc;

use ballista_core::serde::{BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{TableReference, not_impl_err, plan_err};
use datafusion::datasource::file_format::FileFormatFactory;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, Extension, HigherOrderUDF, LogicalPlan, ScalarUDF, WindowUDF};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr_common::physical_expr::proto_decode::PhysicalExprDecodeCtx;
use datafusion::physical_expr_common::physical_expr::proto_encode::PhysicalExprEncodeCtx;
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::logical_plan::LogicalExtensionCodec;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use tdb_datafusion::datafusion;
use tdb_datafusion::{PlanFunctions, Result, TdbExec, TdbTable, TdbTableFactory};

use crate::message::{is_scan, is_table, read_table, write_table};
use crate::scan::RemoteScanExec;

/// Marks a function of a plan that is not DataFusion's, though it may have its name.
const OWN: &[u8] = b"tdbfunction";

/// The function of this crate that has a name.
fn own<F>(name: &str, find: fn(&str) -> Option<F>) -> Result<F> {
    match find(name) {
        Some(function) => Ok(function),
        None => plan_err!("this build has no function {name}, which the query was planned with"),
    }
}

/// The codec of logical and of physical plans with arrays.
///
/// Every part of a plan that is not an array is encoded by an inner codec: Ballista's own, or those
/// given to [`Self::around`]. Arrays that are read from bytes are opened with the storages, the key
/// and the options of the factory.
///
/// ```
/// use std::sync::Arc;
///
/// use datafusion_proto::logical_plan::LogicalExtensionCodec;
/// use tdb_ballista::Codec;
/// use tdb_datafusion::{TdbTable, TdbTableFactory};
///
/// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
/// let codec = Codec::new(TdbTableFactory::new());
/// let mut bytes = Vec::new();
/// codec.try_encode_table_provider(&"t".into(), Arc::new(TdbTable::open(path)?), &mut bytes)?;
/// assert!(bytes.starts_with(b"tdbtable"));
/// # Ok::<(), tdb_datafusion::datafusion::error::DataFusionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Codec {
    factory: TdbTableFactory,
    logical: Arc<dyn LogicalExtensionCodec>,
    physical: Arc<dyn PhysicalExtensionCodec>,
}

impl Codec {
    /// A codec around those of Ballista.
    #[must_use]
    pub fn new(factory: TdbTableFactory) -> Self {
        let logical = Arc::new(BallistaLogicalExtensionCodec::default());
        Self::around(factory, logical, Arc::new(BallistaPhysicalExtensionCodec::default()))
    }

    /// A codec around others.
    #[must_use]
    pub fn around(
        factory: TdbTableFactory,
        logical: Arc<dyn LogicalExtensionCodec>,
        physical: Arc<dyn PhysicalExtensionCodec>,
    ) -> Self {
        Self { factory, logical, physical }
    }
}

impl LogicalExtensionCodec for Codec {
    fn try_decode(&self, bytes: &[u8], inputs: &[LogicalPlan], context: &TaskContext) -> Result<Extension> {
        self.logical.try_decode(bytes, inputs, context)
    }

    fn try_encode(&self, node: &Extension, bytes: &mut Vec<u8>) -> Result<()> {
        self.logical.try_encode(node, bytes)
    }

    /// Opens the array, which reads its metadata.
    fn try_decode_table_provider(
        &self,
        bytes: &[u8],
        name: &TableReference,
        schema: SchemaRef,
        context: &TaskContext,
    ) -> Result<Arc<dyn TableProvider>> {
        if !is_table(bytes) {
            return self.logical.try_decode_table_provider(bytes, name, schema, context);
        }
        let table = self.factory.open_described(&read_table(bytes)?)?;
        // The names of columns are told apart from what the array has now: a damaged plan must not
        // read other columns.
        if table.schema() != schema {
            return plan_err!("the columns of {name} are not those that the query was planned with");
        }
        Ok(Arc::new(table))
    }

    fn try_encode_table_provider(
        &self,
        name: &TableReference,
        node: Arc<dyn TableProvider>,
        bytes: &mut Vec<u8>,
    ) -> Result<()> {
        if let Some(table) = node.downcast_ref::<TdbTable>() {
            return write_table(&table.describe()?, bytes);
        }
        match self.logical.try_encode_table_provider(name, node, bytes) {
            Ok(()) => Ok(()),
            Err(_) => not_impl_err!(
                "a cluster reads arrays only, but {name} is a table in the memory of one process: run the query without \
                 the cluster"
            ),
        }
    }

    fn try_decode_file_format(
        &self,
        bytes: &[u8],
        context: &TaskContext,
    ) -> Result<Arc<dyn FileFormatFactory>> {
        self.logical.try_decode_file_format(bytes, context)
    }

    fn try_encode_file_format(&self, bytes: &mut Vec<u8>, node: Arc<dyn FileFormatFactory>) -> Result<()> {
        self.logical.try_encode_file_format(bytes, node)
    }

    fn try_decode_udf(&self, name: &str, bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
        if bytes == OWN { own(name, PlanFunctions::scalar) } else { self.logical.try_decode_udf(name, bytes) }
    }

    fn try_encode_udf(&self, node: &ScalarUDF, bytes: &mut Vec<u8>) -> Result<()> {
        if PlanFunctions::has_scalar(node) {
            bytes.extend_from_slice(OWN);
            return Ok(());
        }
        self.logical.try_encode_udf(node, bytes)
    }

    fn try_decode_higher_order_function(&self, name: &str, bytes: &[u8]) -> Result<Arc<HigherOrderUDF>> {
        self.logical.try_decode_higher_order_function(name, bytes)
    }

    fn try_encode_higher_order_function(&self, node: &HigherOrderUDF, bytes: &mut Vec<u8>) -> Result<()> {
        self.logical.try_encode_higher_order_function(node, bytes)
    }

    fn try_decode_udaf(&self, name: &str, bytes: &[u8]) -> Result<Arc<AggregateUDF>> {
        if bytes == OWN {
            own(name, PlanFunctions::aggregate)
        } else {
            self.logical.try_decode_udaf(name, bytes)
        }
    }

    fn try_encode_udaf(&self, node: &AggregateUDF, bytes: &mut Vec<u8>) -> Result<()> {
        if PlanFunctions::has_aggregate(node) {
            bytes.extend_from_slice(OWN);
            return Ok(());
        }
        self.logical.try_encode_udaf(node, bytes)
    }

    fn try_decode_udwf(&self, name: &str, bytes: &[u8]) -> Result<Arc<WindowUDF>> {
        self.logical.try_decode_udwf(name, bytes)
    }

    fn try_encode_udwf(&self, node: &WindowUDF, bytes: &mut Vec<u8>) -> Result<()> {
        self.logical.try_encode_udwf(node, bytes)
    }
}

impl PhysicalExtensionCodec for Codec {
    /// Opens the parts of an array, which reads their metadata.
    fn try_decode(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        context: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !is_scan(bytes) {
            return self.physical.try_decode(bytes, inputs, context, converter);
        }
        Ok(Arc::new(RemoteScanExec::read(bytes, inputs, &self.factory)?))
    }

    fn try_encode(
        &self,
        node: Arc<dyn ExecutionPlan>,
        bytes: &mut Vec<u8>,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<()> {
        if let Some(scan) = node.downcast_ref::<RemoteScanExec>() {
            return scan.write(bytes);
        }
        if node.is::<TdbExec>() {
            // Each executor would read all of it.
            return plan_err!("the session that planned this scan does not cut scans into tasks");
        }
        self.physical.try_encode(node, bytes, converter)
    }

    fn try_decode_udf(&self, name: &str, bytes: &[u8]) -> Result<Arc<ScalarUDF>> {
        if bytes == OWN {
            own(name, PlanFunctions::scalar)
        } else {
            self.physical.try_decode_udf(name, bytes)
        }
    }

    fn try_encode_udf(&self, node: &ScalarUDF, bytes: &mut Vec<u8>) -> Result<()> {
        if PlanFunctions::has_scalar(node) {
            bytes.extend_from_slice(OWN);
            return Ok(());
        }
        self.physical.try_encode_udf(node, bytes)
    }

    fn try_decode_higher_order_function(&self, name: &str, bytes: &[u8]) -> Result<Arc<HigherOrderUDF>> {
        self.physical.try_decode_higher_order_function(name, bytes)
    }

    fn try_encode_higher_order_function(&self, node: &HigherOrderUDF, bytes: &mut Vec<u8>) -> Result<()> {
        self.physical.try_encode_higher_order_function(node, bytes)
    }

    fn try_decode_expr(
        &self,
        bytes: &[u8],
        inputs: &[Arc<dyn PhysicalExpr>],
        context: &PhysicalExprDecodeCtx<'_>,
    ) -> Result<Arc<dyn PhysicalExpr>> {
        self.physical.try_decode_expr(bytes, inputs, context)
    }

    fn try_encode_expr(
        &self,
        node: &Arc<dyn PhysicalExpr>,
        bytes: &mut Vec<u8>,
        context: &PhysicalExprEncodeCtx<'_>,
    ) -> Result<()> {
        self.physical.try_encode_expr(node, bytes, context)
    }

    fn try_decode_udaf(&self, name: &str, bytes: &[u8]) -> Result<Arc<AggregateUDF>> {
        if bytes == OWN {
            own(name, PlanFunctions::aggregate)
        } else {
            self.physical.try_decode_udaf(name, bytes)
        }
    }

    fn try_encode_udaf(&self, node: &AggregateUDF, bytes: &mut Vec<u8>) -> Result<()> {
        if PlanFunctions::has_aggregate(node) {
            bytes.extend_from_slice(OWN);
            return Ok(());
        }
        self.physical.try_encode_udaf(node, bytes)
    }

    fn try_decode_udwf(&self, name: &str, bytes: &[u8]) -> Result<Arc<WindowUDF>> {
        self.physical.try_decode_udwf(name, bytes)
    }

    fn try_encode_udwf(&self, node: &WindowUDF, bytes: &mut Vec<u8>) -> Result<()> {
        self.physical.try_encode_udwf(node, bytes)
    }
}

#[cfg(test)]
mod tests;
