use tdb_codec::{ArrayType, CellValNum, Datatype};

use super::{fixtures, open};
use crate::budget::MemoryBudget;
use crate::expression::Aggregate;
use crate::{Array, Column, Error, Grouped, QueryError, Read};

fn value(column: &Column, cell: usize) -> Option<Vec<u8>> {
    (!column.is_null(cell)).then(|| column.cell(cell).unwrap().to_vec())
}

type Values = Vec<Option<Vec<u8>>>;

/// The keys of each group and its values, in the order of the keys.
fn rows(groups: &Grouped) -> Vec<(Values, Values)> {
    let keys = |group| groups.keys().columns().iter().map(|column| value(column, group)).collect();
    let values = |group| groups.values().iter().map(|values| value(&values.column, group)).collect();
    let mut rows: Vec<_> = (0..groups.len()).map(|group| (keys(group), values(group))).collect();
    rows.sort();
    rows
}

/// All aggregates of all fields but the extremes of strings.
fn aggregates(array: &Array) -> Vec<Aggregate> {
    let mut all = vec![Aggregate::count()];
    for field in array.schema().fields() {
        all.push(Aggregate::null_count(field.name));
        let is_text = matches!(field.datatype, Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8);
        if field.cell_val_num == CellValNum::ONE && !is_text {
            let own = [Aggregate::sum, Aggregate::mean, Aggregate::min, Aggregate::max];
            all.extend(own.map(|aggregate| aggregate(field.name)));
        }
    }
    all
}

/// The least memory in which a query finds its groups, as its errors say.
fn least(groups: impl Fn(MemoryBudget) -> crate::Result<Grouped>) -> MemoryBudget {
    let mut budget = MemoryBudget::from_bytes(1 << 12);
    for _ in 0..20 {
        match groups(budget) {
            Err(Error::Query(QueryError::BudgetTooSmall { min, .. })) => budget = min,
            other => {
                other.unwrap();
                return budget;
            }
        }
    }
    panic!("each error names more memory than the one before: {budget:?}")
}

#[test]
fn groups_of_all_fixtures_are_the_same_whether_they_are_taken_for_few_or_for_many() {
    let mut compared = 0;
    for (path, key) in fixtures() {
        let Ok(array) = open(&path, key) else { continue };
        if array.schema().array_type == ArrayType::Dense || array.read().collect().is_err() {
            continue;
        }
        let names: Vec<&str> = array.schema().fields().map(|field| field.name).collect();
        let all = aggregates(&array);
        for first in 0..names.len().min(2) {
            for count in [1 + first % 2, names.len().min(9)] {
                let keys: Vec<&str> = names.iter().cycle().skip(first).take(count).copied().collect();
                let ask = |read: Read, few| {
                    let groups = read.group_by(keys.iter().copied()).few(few);
                    groups.aggregate(all.iter().cloned())
                };
                let expected = rows(&ask(array.read(), usize::MAX).unwrap());
                let limited = (first == 0).then(|| {
                    let read = array.read();
                    let budget = least(|budget| ask(read.clone().memory(budget), 3));
                    (3, read.memory(budget))
                });
                for (few, read) in [(0, array.read()), (3, array.read())].into_iter().chain(limited) {
                    let found = rows(&ask(read, few).unwrap());
                    assert_eq!(found, expected, "{}, by {keys:?}, {few} are few", path.display());
                }
                compared += expected.len();
            }
        }
    }
    assert!(compared > 10_000, "{compared}");
}
