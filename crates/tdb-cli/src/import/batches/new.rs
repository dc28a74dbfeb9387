//! A Parquet or Arrow file that becomes a new array.

use std::io::Write;
use std::sync::Arc;

use tdb_array::error::WriteError;
use tdb_array::schema::ArrayType;
use tdb_array::storage::WriteStorage;
use tdb_convert::{Error, NewArray, Rows, Source, Spans, dimensions, make_room, open_domain};

use super::super::duplicates::Rule;
use super::super::grow;
use super::super::report::Report;
use super::super::rows;
use super::{BatchFile, columns};
use crate::failure::{Failure, Result, one_line};
use crate::ranges::parse_names;

/// An array that is to be made.
struct PlannedArray {
    array: NewArray,
    /// The dimension that numbers the rows of a sparse array.
    numbered: Option<String>,
}

impl BatchFile<'_> {
    /// Makes an array of the file. `replaces` says whether there is something that is removed.
    pub(super) fn create(
        &self,
        storage: Arc<dyn WriteStorage>,
        replaces: bool,
        out: &mut dyn Write,
        err: &mut dyn Write,
    ) -> Result {
        let of_array = |error| Failure::of_array(&self.args.array, error);
        let PlannedArray { array: new, numbered } = self.new_array()?;
        #[cfg(feature = "sql")]
        let new = self.enumerated(new)?;
        let left_out = self.left_out(new.schema(), numbered.is_some(), None, true)?;
        let left = left_out.len();
        if self.args.dry_run {
            writeln!(out, "{:#}", tdb_text::schema::to_json(new.schema(), new.enumerations()))?;
            return Ok(());
        }
        let mapping = new.mapping().map_err(|error| self.failed(error))?;
        #[cfg(feature = "sql")]
        let mapping = if self.args.dictionaries().is_some() { mapping.plain_values() } else { mapping };
        let open = || -> Result<Source> {
            let source = self.open()?;
            Ok(match &numbered {
                Some(name) => source.numbered(name, 0),
                None => source,
            })
        };
        if replaces {
            // Errors in the file are found before anything is removed.
            let mut source = open()?;
            while let Some(batch) = source.next() {
                let batch = batch.map_err(|error| self.failed(error))?;
                tdb_convert::fit(&mapping, &batch, source.name()).map_err(|error| self.failed(error))?;
            }
        }
        let options = self.args.change.options()?;
        let options = new.create(if self.args.force { options.replace() } else { options });
        let made = match options.begin_storage(storage.clone(), new.schema()) {
            Err(tdb_array::Error::Write(WriteError::Exists)) if self.args.comes_late(&storage, err) => {
                return self.append(&storage, out);
            }
            begun => begun.map_err(of_array)?,
        };
        let cells = self.write(made.writer(), &mapping, &mut open()?.without(left_out), new.subarray())?;
        let metadata = columns::metadata(&self.schema, made.writer().schema());
        made.writer().write_metadata(&metadata).map_err(of_array)?;
        for note in columns::decimal_notes(&self.schema, made.writer().schema()) {
            let _ = writeln!(err, "note: {}", one_line(&note));
        }
        made.finish().map_err(of_array)?;
        Report { is_new: true, cells, left_out: left, ..Report::default() }.print(self.args, out)
    }

    /// The array that the options say, or the one that the file is from.
    fn new_array(&self) -> Result<PlannedArray> {
        let failed = |error| self.failed(error);
        let plain = |array: NewArray| PlannedArray { array, numbered: None };
        if self.args.dims.is_some() || self.args.dense {
            self.refuse_reserved()?;
        }
        if let Some(dims) = self.args.dims.as_deref().map(parse_names) {
            let mut chosen = dimensions(&self.schema, &dims).map_err(|error| self.bad_dims(error))?;
            let limited =
                grow::limit(&mut chosen, &self.args.domain).map_err(|error| self.args.usage(error))?;
            // A domain that nobody gave is as wide as the file needs it.
            let mut sought = chosen.clone();
            for (_, dimension) in sought.iter_mut().enumerate().filter(|(at, _)| !limited.contains(at)) {
                open_domain(dimension);
            }
            let spans = self.spans(&sought, None)?;
            make_room(&mut chosen, &spans);
            for dimension in &chosen {
                let cast = |wider: &str| format!("cast the column to {wider}");
                grow::refuse_whole_type(dimension, cast).map_err(|error| self.args.usage(error))?;
            }
            let duplicates = self.args.allow_duplicates || self.args.duplicates == Some(Rule::Allow);
            return NewArray::sparse(&self.schema, &chosen, duplicates, Some(&spans))
                .map(plain)
                .map_err(failed);
        }
        let columns = self.columns();
        if self.args.dense {
            grow::limit(&mut [], &self.args.domain).map_err(|error| self.args.usage(error))?;
            let rows = Rows(self.count()?);
            return NewArray::of_rows(&self.schema, &rows::name(&columns), rows).map(plain).map_err(failed);
        }
        if let Some(stored) = self.stored()? {
            return Ok(plain(stored));
        }
        self.refuse_reserved()?;
        let count = self.count()?;
        let (mut dimension, span) = rows::dimension(&columns, count);
        grow::limit(core::slice::from_mut(&mut dimension), &self.args.domain)
            .map_err(|error| self.args.usage(error))?;
        let (numbered, spans) = (Some(dimension.name.clone()), Spans::new(count, vec![Some(span)]));
        // Two imports at the same time may number rows alike; neither may hide those of the other.
        let array = NewArray::sparse(&self.schema, &[dimension], true, Some(&spans)).map_err(failed)?;
        Ok(PlannedArray { array, numbered })
    }

    /// Refuses names that the format keeps for itself. pandas gives one to an index that has none.
    fn refuse_reserved(&self) -> Result {
        match self.schema.fields().iter().find(|field| field.name().starts_with("__")) {
            Some(field) => {
                let name = field.name();
                Err(self.args.usage(format!(
                    "column {name:?}: names that begin with \"__\" are reserved: --drop {name} leaves the column out (to keep an index of \
                     pandas, name it before it is written: df.rename_axis('name'))"
                )))
            }
            None => Ok(()),
        }
    }

    /// The array with enumerations of the dictionaries of a result, except those of columns that
    /// get another type.
    #[cfg(feature = "sql")]
    fn enumerated(&self, mut new: NewArray) -> Result<NewArray> {
        let Some(dictionaries) = self.args.dictionaries() else { return Ok(new) };
        let fields = dictionaries.schema_ref().fields().iter().enumerate();
        let is_cast = |name: &str| self.casts.iter().any(|cast| cast.name() == name);
        let kept = fields.filter(|(_, field)| !is_cast(field.name())).map(|(column, _)| column);
        let kept = dictionaries.project(&kept.collect::<Vec<_>>());
        let kept = kept.map_err(|error| self.failed(tdb_arrow::Error::from(error).into()))?;
        if kept.num_columns() == 0 {
            return Ok(new);
        }
        new.enumerate(&kept).map_err(|error| self.failed(error))?;
        Ok(new)
    }

    /// The array whose schema the file has; `None` if it has none, or lacks the coordinates.
    fn stored(&self) -> Result<Option<NewArray>> {
        let mut new = match NewArray::stored(&self.schema) {
            Ok(new) => new,
            Err(Error::Arrow(error))
                if matches!(
                    *error,
                    tdb_arrow::Error::NoDimensions | tdb_arrow::Error::UnknownColumn { .. }
                ) =>
            {
                return Ok(None);
            }
            Err(error) => return Err(self.failed(error)),
        };
        if new.schema().array_type == ArrayType::Dense && new.subarray().is_none() && self.count()? > 0 {
            let names: Vec<&str> =
                new.schema().domain.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
            if names.iter().any(|name| self.schema.field_with_name(name).is_err()) {
                return Ok(None);
            }
            return Err(self.args.usage(format!(
                "the cells are from a dense array, and are no box of it: --dims {} makes a sparse array of them",
                names.join(",")
            )));
        }
        let options =
            [("--domain", !self.args.domain.is_empty()), ("--allow-duplicates", self.args.allow_duplicates)];
        if let Some((option, _)) = options.into_iter().find(|(_, given)| *given) {
            let why = "the file has the schema of an array, which is used without --dims and --dense";
            return Err(self.args.usage(format!("{option}: {why}")));
        }
        if new.lacks_enumerations()
            && let Some(first) = self.open()?.next()
        {
            first.and_then(|first| new.complete(&first)).map_err(|error| self.failed(error))?;
        }
        Ok(Some(new))
    }
}
