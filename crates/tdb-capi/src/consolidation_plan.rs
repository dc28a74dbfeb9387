//! Plans of consolidations: which fragments of an array should become one.

use tdb_array::maintain::consolidation_groups;

use crate::array::ArrayObject;
use crate::context::Ctx;
use crate::ffi::{Failure, Freed, In, Object, Out, OutHandle, OutText};

/// A plan behind a pointer: the names of the fragments of each node.
pub(crate) struct PlanObject(Vec<Vec<String>>);

impl Object for PlanObject {
    const NAME: &'static str = "consolidation plan";
}

impl PlanObject {
    fn node(&self, node: u64) -> Result<&[String], Failure> {
        let found = usize::try_from(node).ok().and_then(|node| self.0.get(node));
        found
            .map(Vec::as_slice)
            .ok_or_else(|| Failure::of("ConsolidationPlan", "Trying to access a node that doesn't exist."))
    }

    fn dump(&self) -> String {
        let node = |names: &Vec<String>| {
            let uris: Vec<String> = names
                .iter()
                .map(|name| format!("        {{\n           \"uri\" : \"{name}\"\n        }}"))
                .collect();
            format!("    {{\n      \"uris\" : [\n{}\n      ]\n    }}", uris.join(",\n"))
        };
        let nodes: Vec<String> = self.0.iter().map(node).collect();
        let end = if nodes.is_empty() { "" } else { "\n" };
        format!("{{\n  \"nodes\": [\n{}{end}  ]\n}}\n", nodes.join(",\n"))
    }
}

exported! {
    fn tiledb_consolidation_plan_create_with_mbr(ctx: Ctx, array: In<ArrayObject>, bytes: u64, plan: OutHandle<PlanObject>) -> Code for ctx {
        const WHAT: &str = "Cannot create consolidation plan";
        let nodes = array.get()?.with_open(WHAT, |open| {
            let array = open.reading(WHAT)?;
            let fragments = array.fragments();
            let name = |number: &usize| fragments.get(*number).map(|fragment| fragment.name().to_owned());
            let groups = consolidation_groups(array, bytes)?;
            Ok(groups.iter().map(|group| group.iter().filter_map(name).collect()).collect())
        })?;
        plan.put(PlanObject(nodes))
    }

    fn tiledb_consolidation_plan_free(plan: Freed<PlanObject>) {
        plan.free();
    }

    fn tiledb_consolidation_plan_get_num_nodes(ctx: Ctx, plan: In<PlanObject>, count: Out<u64>) -> Code for ctx {
        count.set(crate::number(plan.get()?.0.len()))
    }

    fn tiledb_consolidation_plan_get_num_fragments(ctx: Ctx, plan: In<PlanObject>, node: u64, count: Out<u64>) -> Code for ctx {
        count.set(crate::number(plan.get()?.node(node)?.len()))
    }

    fn tiledb_consolidation_plan_get_fragment_uri(ctx: Ctx, plan: In<PlanObject>, node: u64, fragment: u64, uri: OutText) -> Code for ctx {
        let names = plan.get()?.node(node)?;
        let name = usize::try_from(fragment).ok().and_then(|fragment| names.get(fragment));
        let missing = || Failure::of("ConsolidationPlan", "Trying to access a fragment that doesn't exist.");
        uri.keep(plan, name.ok_or_else(missing)?)
    }

    fn tiledb_consolidation_plan_dump_json_str(ctx: Ctx, plan: In<PlanObject>, text: OutText) -> Code for ctx {
        text.give(&plan.get()?.dump())
    }

    fn tiledb_consolidation_plan_free_json_str(text: OutText) -> Code for nobody {
        text.take_back();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_printed_as_libtiledb_prints_it() {
        let plan = |nodes: &[&[&str]]| {
            let names = |node: &&[&str]| node.iter().map(|name| (*name).to_owned()).collect();
            PlanObject(nodes.iter().map(names).collect()).dump()
        };
        assert_eq!(plan(&[]), "{\n  \"nodes\": [\n  ]\n}\n");
        let uri = |name: &str| format!("        {{\n           \"uri\" : \"{name}\"\n        }}");
        let node = |uris: &str| format!("    {{\n      \"uris\" : [\n{uris}\n      ]\n    }}");
        let nodes = format!("{},\n{}", node(&format!("{},\n{}", uri("a"), uri("b"))), node(&uri("c")));
        assert_eq!(plan(&[&["a", "b"], &["c"]]), format!("{{\n  \"nodes\": [\n{nodes}\n  ]\n}}\n"));
    }
}
