//! The sizes and filters of an array, by column.

use std::io;

use tdb_array::Array;
use tdb_array::schema::ArraySchema;
use tdb_array::stored::Footer;
use tdb_schema::{Field, FieldKind};
use tdb_text::pipeline::pipeline_text;

use crate::info::text::name;
use crate::sheet::Sheet;
use crate::table::Heading;

/// The bytes of a column in all fragments.
#[derive(Default)]
struct Sizes {
    /// Values of one size, or offsets of values of different sizes.
    fixed: u64,
    var: u64,
    validity: u64,
}

impl Sizes {
    fn add(&mut self, footer: &Footer, kind: FieldKind) {
        // Old versions have one file for the coordinates of all dimensions: it is the first one's.
        let shares =
            |first: FieldKind| first != kind && footer.slots.field(first) == footer.slots.field(kind);
        if matches!(kind, FieldKind::Dimension(_)) && shares(FieldKind::Dimension(0)) {
            return;
        }
        self.fixed = self.fixed.saturating_add(footer.file_size(kind));
        self.var = self.var.saturating_add(footer.file_var_size(kind));
        self.validity = self.validity.saturating_add(footer.file_validity_size(kind));
    }

    const fn total(&self) -> u64 {
        self.fixed.saturating_add(self.var).saturating_add(self.validity)
    }
}

/// Prints a row for each column. Fragments that were written before a column have nothing of it.
pub(super) fn print(array: &Array, out: &mut Sheet<'_>) -> io::Result<()> {
    let headings = [
        Heading::left("column"),
        Heading::right("bytes"),
        Heading::right("%"),
        Heading::left("type"),
        Heading::left("filters"),
        Heading::left("kind"),
        Heading::right("values"),
        Heading::right("offsets"),
        Heading::right("validity"),
    ];
    let schema = array.schema();
    let all = array.fragments().iter().fold(0u64, |sum, one| sum.saturating_add(one.footer().data_bytes()));
    let mut others = all;
    let mut rows = Vec::new();
    for field in schema.fields() {
        let sizes = sizes(array, &field);
        others = others.saturating_sub(sizes.total());
        let is_var = field.cell_val_num.is_var();
        let (values, offsets) = if is_var { (sizes.var, sizes.fixed) } else { (sizes.fixed, 0) };
        rows.push(vec![
            name(field.name),
            sizes.total().to_string(),
            percent(sizes.total(), all),
            field.datatype.to_string(),
            filters(schema, field.kind),
            if matches!(field.kind, FieldKind::Dimension(_)) { "dimension" } else { "attribute" }.to_owned(),
            values.to_string(),
            offsets.to_string(),
            sizes.validity.to_string(),
        ]);
    }
    if others > 0 {
        let bytes = others.to_string();
        let mut row =
            vec!["(others)".to_owned(), "-".to_owned(), "-".to_owned(), bytes, percent(others, all)];
        row.resize(headings.len(), "-".to_owned());
        rows.push(row);
    }
    out.table(&headings, &rows)
}

fn sizes(array: &Array, field: &Field<'_>) -> Sizes {
    let mut sizes = Sizes::default();
    for fragment in array.fragments() {
        // A fragment may have other fields than the array.
        if let Some(own) = fragment.schema().field(field.name)
            && matches!(own.kind, FieldKind::Dimension(_)) == matches!(field.kind, FieldKind::Dimension(_))
        {
            sizes.add(fragment.footer(), own.kind);
        }
    }
    sizes
}

fn percent(part: u64, all: u64) -> String {
    let tenths = u128::from(part).saturating_mul(1000).checked_div(all.into()).unwrap_or(0);
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn filters(schema: &ArraySchema, kind: FieldKind) -> String {
    match kind {
        FieldKind::Attribute(index) => {
            schema.attributes.get(index).map_or(String::new(), |own| pipeline_text(&own.filters))
        }
        FieldKind::Dimension(index) => {
            let own = schema.domain.dimensions.get(index).map(|own| &own.filters);
            let own = own.filter(|own| !own.filters.is_empty());
            pipeline_text(own.unwrap_or(&schema.coords_filters))
        }
    }
}
