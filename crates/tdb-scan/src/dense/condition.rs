//! The fields of a condition in a dense array.

use tdb_predicate::Program;
use tdb_schema::FieldKind;

use super::overlay::Overlay;
use super::sources::FieldSources;
use super::space::Space;
use crate::plan::Plan;
use crate::spec::ColumnSpec;
use crate::statistics::Statistics;
use crate::{Result, Snapshot};

/// A program's fields in a dense array.
pub struct Matcher<'a> {
    pub(super) array: &'a Snapshot,
    pub(super) space: &'a Space,
    /// The condition.
    pub program: &'a Program,
    /// The fields of the condition, in the order of the program.
    pub fields: Vec<MatchField<'a>>,
}

/// A field of a program in a dense array.
pub struct MatchField<'a> {
    pub(crate) kind: FieldKind,
    pub(crate) spec: ColumnSpec,
    /// All fragments that have the field, and those without it that are newer than one of these.
    pub sources: FieldSources<'a>,
    /// The statistics of each source; `None` for sparse fragments.
    pub statistics: Vec<Option<Statistics>>,
    /// Whether cells that no source covers must be distinguished from others.
    pub(super) presence: bool,
}

/// How a program judges cells of a fragment whose schema lacks a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// They satisfy no test ([`Verdict::LACKING`](tdb_predicate::Verdict::LACKING)).
    Fails,
    /// They have the fill value, as in a read.
    Fill,
}

impl<'a> Matcher<'a> {
    /// Finds a program's fields in all fragments.
    pub fn open(
        plan: &'a Plan,
        program: &'a Program,
        space: &'a Space,
        overlays: &'a [Option<Overlay>],
        lacking: Lacking,
    ) -> Result<Self> {
        let array = &plan.array;
        let context = array.context();
        let mut fields = Vec::with_capacity(program.fields.len());
        for field in &program.fields {
            let (kind, spec) = (field.kind, field.spec.clone());
            let mut presence = false;
            let mut sources = FieldSources::default();
            let mut statistics = Vec::new();
            if matches!(kind, FieldKind::Attribute(_)) {
                sources =
                    FieldSources::open(context, array.fragments(), overlays, space.query(), kind, &spec)?;
                presence = lacking == Lacking::Fails
                    && array.fragments().iter().any(|old| spec.own_field(old.schema(), kind).is_none());
                for fragment in sources.fragments() {
                    let fragment = plan.fragment(fragment)?;
                    let own = spec.own_field(fragment.schema(), kind);
                    let own = own.and_then(|own| fragment.schema().field_of(own));
                    // Extremes ignore nulls; if the cells cannot be null for the array, the
                    // extremes are wrong.
                    let own = own.filter(|own| fragment.is_dense() && (spec.nullable || !own.nullable));
                    let loaded = own.map(|own| Statistics::load(context, fragment, &own)).transpose()?;
                    statistics.push(loaded.filter(|loaded| plan.scope.try_reserve_optional(loaded.held())));
                }
            }
            fields.push(MatchField { kind, spec, sources, statistics, presence });
        }
        Ok(Self { array, space, program, fields })
    }
}

impl<'a> MatchField<'a> {
    /// A field of which only cells are asked for, whether they were written or not.
    pub(super) const fn new(kind: FieldKind, spec: ColumnSpec, sources: FieldSources<'a>) -> Self {
        Self { kind, spec, sources, statistics: Vec::new(), presence: false }
    }
}
