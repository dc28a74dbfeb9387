//! Fetches what a query is going to read in batches, before it is decoded, if the storage wants to
//! know beforehand what will be read.

use std::collections::HashSet;

use tdb_fragment::Section;
use tdb_predicate::Program;
use tdb_schema::FieldKind;

use crate::Result;
use crate::fragment::Fragment;
use crate::plan::Plan;
use crate::reads::{Purpose, read_plan, requested};
use crate::sparse::deletes::stored_program;
use crate::storage::{PrefetchedStorage, ReadSet};

/// Fetches what a query is going to read, if the storage wants to know it: sections of metadata,
/// then the tiles that are read no matter which cells are found.
pub(crate) fn prefetch(plan: &Plan) -> Result<()> {
    let Some(prefetched) = plan.array.context().prefetched.as_deref() else { return Ok(()) };
    plan.stage(|| {
        prefetched.drop_ranges();
        Ok(())
    })?;
    prefetch_sections(plan, prefetched)?;
    let listed = plan.stage(|| {
        let listed = Listed::of(plan)?;
        prefetched.drop_ranges();
        Ok(listed)
    })?;
    plan.stage(|| listed.fetch(plan, prefetched)).map(drop)
}

/// What a query reads, no matter which cells are found.
struct Listed {
    /// What finds its cells.
    search: ReadSet,
    /// That, and the tiles that have cells of the result, if these are known.
    all: Option<ReadSet>,
}

impl Listed {
    fn of(plan: &Plan) -> Result<Self> {
        let (mut found, mut search) = (ReadSet::default(), ReadSet::default());
        for field in read_plan(plan, true, None)?.fields {
            let list = match field.plan.purpose {
                Purpose::Result | Purpose::Delete => &mut found,
                Purpose::Condition | Purpose::Search => &mut search,
            };
            list.ranges.extend(field.ranges.into_iter().flatten());
        }
        // With a condition, the cells that it leaves are not known yet; without one, most tiles
        // that are looked at have cells in the result.
        let is_known = plan.condition.is_none() || search.ranges.is_empty();
        let all = is_known.then(|| {
            found.ranges.splice(0..0, search.ranges.iter().cloned());
            found
        });
        Ok(Self { search, all })
    }

    fn fetch(&self, plan: &Plan, prefetched: &PrefetchedStorage) -> Result<()> {
        if let Some(all) = &self.all
            && plan.fetch_if_it_fits(prefetched, all)?
        {
            return Ok(());
        }
        plan.fetch_if_it_fits(prefetched, &self.search).map(drop)
    }
}

/// Fetches the sections of fragment metadata that a query looks at.
///
/// # Errors
/// They have not arrived yet. Whoever reads them reports other errors.
pub fn prefetch_sections(plan: &Plan, prefetched: &PrefetchedStorage) -> Result<()> {
    let context = plan.array.context();
    // The fields of deletes belong to it; whoever applies the deletes reports an error in them.
    let deletes = (!plan.array.deletes().is_empty()).then(|| stored_program(&plan.array));
    let deletes = deletes.and_then(Result::ok);
    // Fragments whose footers came from consolidated metadata are looked at first.
    for _ in 0..2 {
        let (mut read_set, mut all) = (ReadSet::default(), true);
        for fragment in plan.array.fragments().iter().filter(|fragment| plan.meets(fragment)) {
            all &=
                fragment.need_sections(sections(plan, deletes.as_ref(), fragment).into_iter(), &mut read_set);
        }
        prefetched.prefetch(&read_set);
        context.arrived()?;
        if all {
            break;
        }
        for fragment in plan.array.fragments().iter().filter(|fragment| plan.meets(fragment)) {
            // Metadata that cannot be read now is read again when it is needed, and the error is
            // reported then.
            let _ = fragment.look_at_metadata(context);
        }
    }
    Ok(())
}

/// The sections of a fragment that a query may look at.
fn sections(plan: &Plan, deletes: Option<&Program>, fragment: &Fragment) -> HashSet<Section> {
    let schema = fragment.schema();
    let slots = &fragment.footer().slots;
    let mut sections = HashSet::new();
    let mut tiles = |own: FieldKind| {
        let (Some(field), slot) = (schema.field_of(own), slots.field(own)) else { return };
        sections.insert(Section::TileOffsets(slot));
        if field.is_var() {
            sections.extend([Section::VarOffsets(slot), Section::VarSizes(slot)]);
        }
        if field.nullable {
            sections.insert(Section::ValidityOffsets(slot));
        }
    };
    let fields = requested(plan).filter_map(|(kind, spec)| spec.own_field(schema, kind));
    fields.for_each(&mut tiles);
    plan.scanned.iter().copied().for_each(&mut tiles);
    if !fragment.is_dense() {
        (0..schema.domain.dimensions.len()).map(FieldKind::Dimension).for_each(&mut tiles);
    }
    let conditioned = plan.condition.iter().chain(deletes).flat_map(|program| &program.fields);
    let conditioned: Vec<FieldKind> =
        conditioned.filter_map(|field| field.spec.own_field(schema, field.kind)).collect();
    conditioned.iter().copied().for_each(&mut tiles);
    for own in conditioned.iter().chain(&plan.scanned) {
        let slot = slots.field(*own);
        sections.extend([
            Section::Mins(slot),
            Section::Maxes(slot),
            Section::Sums(slot),
            Section::NullCounts(slot),
        ]);
        sections.insert(Section::FragmentStatistics);
    }
    let times = [slots.timestamps(), slots.delete_timestamps()];
    sections.extend(times.into_iter().flatten().map(Section::TileOffsets));
    if !fragment.is_dense() {
        sections.insert(Section::RTree);
        sections.extend(fragment.footer().has_delete_metadata.then_some(Section::ProcessedConditions));
    }
    sections
}
