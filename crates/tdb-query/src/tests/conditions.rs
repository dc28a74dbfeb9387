use std::collections::HashMap;

use tdb_array::{WriteColumn, WriteOptions};
use tdb_codec::{ArrayType, CellValNum, Datatype, Layout};
use tdb_fragment::Comparison;
use tdb_schema::ArraySchema;

use super::{fixture, fixtures, open};
use crate::expression::{Operand, Place, Predicate, QueryCondition, Tree, field};
use crate::storage::MemoryStorage;
use crate::{Array, Column, Error, OpenOptions, QueryError};

fn parsed(text: &str) -> QueryCondition {
    QueryCondition::parse(text).unwrap()
}

fn wrong(array: &str, text: &str) -> (String, Option<usize>) {
    match fixture(array).read().condition(parsed(text)).collect() {
        Err(Error::Query(QueryError::Condition(error))) => (error.to_string(), error.column()),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn conditions_that_do_not_fit_the_array_are_refused_with_their_place() {
    for (text, column, expected) in [
        ("b = 1 or nothing = 2", 10, "no field \"nothing\" (it has"),
        ("rows < 'x'", 8, "\"rows\" is of type"),
        ("rows < 1.5", 8, "but 1.5 is not"),
        ("rows in (1, 5000000000)", 13, "5000000000 does not fit"),
        ("rows = true", 8, "but true is not"),
    ] {
        let text = text.replace("b = 1", "cols = 1");
        let column = if text.contains("cols") { column + 3 } else { column };
        let (message, found) = wrong("2.30.0/quickstart", &text);
        assert!(message.contains(expected), "{message}");
        assert_eq!(found, Some(column), "{message}");
    }
}

// ---- the naive evaluator: a cell at a time, over the columns of a whole read ----

fn naive(
    condition: &Tree,
    columns: &HashMap<&str, &Column>,
    nullable: &dyn Fn(&str) -> bool,
    cell: usize,
) -> bool {
    fn eval(
        tree: &Tree,
        negated: bool,
        columns: &HashMap<&str, &Column>,
        nullable: &dyn Fn(&str) -> bool,
        cell: usize,
    ) -> bool {
        match tree {
            Tree::And(list) | Tree::Or(list) => {
                let all = matches!(tree, Tree::And(_)) != negated;
                let mut each = list.iter().map(|tree| eval(tree, negated, columns, nullable, cell));
                if all { each.all(|held| held) } else { each.any(|held| held) }
            }
            Tree::Not(inner) => eval(inner, !negated, columns, nullable, cell),
            Tree::Test { name, predicate, .. } => {
                let column = columns[name.as_str()];
                let null = column.is_null(cell);
                match predicate {
                    Predicate::Null { is } => {
                        if nullable(name) {
                            null == (*is != negated)
                        } else {
                            *is == negated
                        }
                    }
                    Predicate::Nan { is } => {
                        !null && real(column.cell(cell).unwrap()).is_nan() == (*is != negated)
                    }
                    Predicate::Like { pattern, is } => {
                        let text = column.cell(cell).unwrap();
                        let filled = if column.cell_val_num == CellValNum::Var { 0 } else { text.len() };
                        let zeros = text.iter().rev().take_while(|byte| **byte == 0).count().min(filled);
                        !null && pattern.matches(&text[..text.len() - zeros]) == (*is != negated)
                    }
                    Predicate::Compare { comparison, operands } => {
                        let comparison = if negated { comparison.negated() } else { *comparison };
                        !null && holds_for(column, cell, comparison, operands)
                    }
                }
            }
        }
    }
    eval(condition, false, columns, nullable, cell)
}

fn holds_for(column: &Column, cell: usize, comparison: Comparison, operands: &[(Operand, Place)]) -> bool {
    use core::cmp::Ordering::{Equal, Greater, Less};
    let value = column.cell(cell).unwrap();
    let ordering = |operand: &Operand| match operand {
        Operand::Bytes(bytes) => {
            // Cells of fixed size have zero bytes behind a shorter value.
            let fixed = column.cell_val_num != CellValNum::Var && bytes.len() < value.len();
            let mut bytes = bytes.clone();
            bytes.resize(if fixed { value.len() } else { bytes.len() }, 0);
            value.cmp(&bytes).into()
        }
        Operand::Int(wanted) if !column.datatype.physical().is_float() => Some(
            crate::coordinate::integer(value, column.datatype.physical().is_signed_integer()).cmp(wanted),
        ),
        Operand::Int(wanted) => real(value).partial_cmp(&(*wanted as f64)),
        Operand::Float(wanted) if value.len() == 4 => real(value).partial_cmp(&f64::from(near(*wanted))),
        Operand::Float(wanted) => real(value).partial_cmp(wanted),
        Operand::Bool(wanted) => value[0].cmp(&u8::from(*wanted)).into(),
        Operand::Decimal(text) => panic!("no random condition has {text}"),
    };
    match comparison {
        Comparison::In | Comparison::NotIn => {
            let same = |(operand, _): &(Operand, Place)| ordering(operand) == Some(Equal);
            operands.iter().any(same) == (comparison == Comparison::In)
        }
        _ => {
            let found = ordering(&operands[0].0);
            match comparison {
                Comparison::Less => found == Some(Less),
                Comparison::LessOrEqual => found == Some(Less) || found == Some(Equal),
                Comparison::Greater => found == Some(Greater),
                Comparison::GreaterOrEqual => found == Some(Greater) || found == Some(Equal),
                Comparison::Equal => found == Some(Equal),
                _ => found != Some(Equal),
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "operands of reals are the nearest of the field's type")]
fn near(value: f64) -> f32 {
    value as f32
}

fn real(bytes: &[u8]) -> f64 {
    match bytes.len() {
        4 => f32::from_le_bytes(bytes.try_into().unwrap()).into(),
        _ => f64::from_le_bytes(bytes.try_into().unwrap()),
    }
}

/// Operands near the values of the array, for every field that can be compared.
fn samples(array: &Array, cells: &crate::Cells) -> Vec<(String, Vec<Operand>)> {
    let mut samples = Vec::new();
    for column in cells.columns() {
        let text = matches!(column.datatype, Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8);
        let attribute = array.schema().attribute(&column.name);
        let opaque =
            matches!(column.datatype.class(), tdb_codec::DatatypeClass::Any | tdb_codec::DatatypeClass::Byte)
                || (column.datatype.is_string() && !text);
        let single = text || column.cell_val_num == CellValNum::ONE;
        if opaque || !single || attribute.is_some_and(|attribute| attribute.enumeration.is_some()) {
            continue;
        }
        let of = |cell: usize| {
            let value = column.cell(cell)?;
            let physical = column.datatype.physical();
            Some(if text {
                Operand::Bytes(value.to_vec())
            } else if physical.is_float() {
                Operand::Float(real(value))
            } else {
                Operand::Int(crate::coordinate::integer(value, physical.is_signed_integer()))
            })
        };
        let step = (cells.len() / 7).max(1);
        let mut operands: Vec<_> = (0..cells.len()).step_by(step).filter_map(of).collect();
        let near = |operand: &Operand| match operand {
            Operand::Float(value) => Some(Operand::Float(-value)),
            Operand::Bytes(text) => text.split_last().map(|(_, rest)| Operand::Bytes(rest.to_vec())),
            _ => None,
        };
        let more: Vec<_> = operands.iter().filter_map(near).collect();
        operands.extend(more);
        operands.extend(is_real(&operands).then_some([0.0, -0.0].map(Operand::Float)).into_iter().flatten());
        if !operands.is_empty() {
            samples.push((column.name.clone(), operands));
        }
    }
    samples
}

/// Whether an operand of a field shows that its values are real numbers.
fn is_real(operands: &[Operand]) -> bool {
    matches!(operands, [Operand::Float(_), ..])
}

/// A condition made of operands from `samples`, chosen by random numbers.
fn pick(
    samples: &[(String, Vec<Operand>)],
    random: &mut impl FnMut(usize) -> usize,
    depth: usize,
) -> QueryCondition {
    let joined = random(4);
    if depth > 0 && joined < 3 {
        let a = pick(samples, random, depth - 1);
        return match joined {
            0 => a.and(pick(samples, random, depth - 1)),
            1 => a.or(pick(samples, random, depth - 1)),
            _ => !a,
        };
    }
    let (name, operands) = &samples[random(samples.len())];
    let one = || field(name.clone());
    let operand = operands[random(operands.len())].clone();
    let other = operands[random(operands.len())].clone();
    if let (Operand::Bytes(text), 0) = (&operand, random(3)) {
        let pattern = like(text, random(4));
        return if random(2) == 0 { one().like(pattern) } else { one().not_like(pattern) };
    }
    match random(11) {
        0 => one().eq(operand),
        1 => one().ne(operand),
        2 => one().lt(operand),
        3 => one().le(operand),
        4 => one().gt(operand),
        5 => one().ge(operand),
        // Longer lists are looked up in another way.
        set @ (6 | 7) => {
            let more = if random(3) == 0 { 9 } else { 0 };
            let more = (0..more).map(|_| operands[random(operands.len())].clone()).collect::<Vec<_>>();
            let all = [operand, other].into_iter().chain(more);
            if set == 6 { one().is_in(all) } else { one().not_in(all) }
        }
        8 => one().is_null(),
        9 if is_real(operands) => {
            if random(2) == 0 {
                one().is_nan()
            } else {
                one().is_not_nan()
            }
        }
        _ => one().is_not_null(),
    }
}

/// A pattern that a text is like: the text, what it begins or ends with, or with one character left
/// open.
fn like(text: &[u8], kind: usize) -> Vec<u8> {
    let middle = text.len() / 2;
    match kind {
        0 => [&text[..middle], b"%"].concat(),
        1 => [b"%", &text[middle..]].concat(),
        2 => [&text[..middle], b"_", text.get(middle + 1..).unwrap_or_default()].concat(),
        _ => text.to_vec(),
    }
}

/// A small generator of numbers, the same every time.
fn numbers(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below.max(1)
    }
}

/// How many conditions each array is asked.
const QUESTIONS: usize = 20;

/// Compares what conditions made of random numbers keep of an array with what a look at each cell
/// keeps; returns how many.
fn compare(array: &Array, name: &str, seed: u64) -> usize {
    let schema = array.schema();
    let dense = schema.array_type == ArrayType::Dense;
    let fields: Vec<String> = schema.fields().map(|field| field.name.to_owned()).collect();
    let all = array.read().fields(fields.clone()).order(Layout::RowMajor).collect().unwrap();
    let samples = samples(array, &all);
    if samples.is_empty() {
        return 0;
    }
    let nullable = |name: &str| schema.field(name).unwrap().nullable;
    let columns: HashMap<&str, &Column> =
        all.columns().iter().map(|column| (column.name.as_str(), column)).collect();
    let mut random = numbers(seed);
    for _ in 0..QUESTIONS {
        let condition = pick(&samples, &mut random, 3);
        let context = format!("{name}: {condition}");
        let read = array.read().fields(fields.clone()).order(Layout::RowMajor).condition(condition.clone());
        let found = read.collect().unwrap_or_else(|error| panic!("{context}: {error}"));
        let keep: Vec<usize> =
            (0..all.len()).filter(|cell| naive(&condition.tree, &columns, &nullable, *cell)).collect();
        if !dense {
            assert_eq!(found.len(), keep.len(), "{context}");
        }
        for (column, whole) in found.columns().iter().zip(all.columns()) {
            let attribute = schema.attribute(&column.name);
            for cell in 0..found.len() {
                let from = if dense { cell } else { keep[cell] };
                match attribute.filter(|_| dense && keep.binary_search(&cell).is_err()) {
                    Some(attribute) if attribute.nullable && attribute.fill_validity == 0 => {
                        assert!(column.is_null(cell), "{context}, cell {cell}");
                    }
                    Some(attribute) => {
                        assert_eq!(
                            column.cell(cell).unwrap(),
                            attribute.fill_value,
                            "{context}, cell {cell}"
                        );
                    }
                    None => {
                        assert_eq!(column.is_null(cell), whole.is_null(from), "{context}, cell {cell}");
                        assert_eq!(column.cell(cell), whole.cell(from), "{context}, cell {cell}");
                    }
                }
            }
        }
    }
    QUESTIONS
}

#[test]
fn a_condition_leaves_what_a_look_at_each_cell_leaves() {
    let mut tried = 0;
    for (seed, (path, key)) in (1..).zip(fixtures()) {
        let (name, array) = (path.display().to_string(), open(&path, key).unwrap());
        let names = |schema: &ArraySchema| schema.fields().map(|own| own.name.to_owned()).collect::<Vec<_>>();
        // Of an attribute that a fragment does not have, libtiledb lets no value satisfy a
        // condition.
        let own = names(array.schema());
        if array.fragments().iter().all(|fragment| names(fragment.schema()) == own) {
            tried += compare(&array, &name, seed);
        }
    }
    assert!(tried > 8_000, "{tried}");
}

#[test]
fn null_cells_do_not_differ_from_a_value_that_an_enumeration_lacks() {
    use tdb_schema::{ArraySchema, Attribute, Dimension, Enumeration};

    let name = "__0123456789abcdef0123456789abcdef_0";
    let colours =
        Enumeration::new("colours", name, Datatype::StringAscii, CellValNum::Var, ["red", "green"]).unwrap();
    let mut colour = Attribute::new("c", Datatype::Uint8, CellValNum::ONE).with_enumeration("colours");
    colour.nullable = true;
    for builder in [ArraySchema::dense(), ArraySchema::sparse(), ArraySchema::sparse().allow_duplicates()] {
        let builder = builder.dimension(Dimension::new("x", 0i32..=3).with_tile(4i32));
        let schema = builder.attribute(colour.clone()).enumeration(&colours).build().unwrap();
        let storage = MemoryStorage::default();
        WriteOptions::new().enumeration(colours.clone()).create_storage(&storage, &schema).unwrap();
        let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
        let sparse = schema.array_type == ArrayType::Sparse;
        let x = [0, 1, 2, 3];
        let write = if sparse { writer.write().column(WriteColumn::fixed("x", &x)) } else { writer.write() };
        write.column(WriteColumn::fixed("c", &[0u8, 1, 0, 1]).nullable(&[1, 1, 0, 0])).commit().unwrap();
        let array = OpenOptions::new().open_storage(storage).unwrap();
        for order in [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered] {
            // Cells that fail the condition are not counted, neither as cells nor as nulls.
            let counts = |condition| {
                let read = array.read().order(order).condition(condition);
                let found = read.aggregate([crate::Aggregate::count(), crate::Aggregate::null_count("c")]);
                found.unwrap().iter().map(|found| found.as_u64().unwrap()).collect::<Vec<_>>()
            };
            assert_eq!(counts(field("c").ne("blue")), [2, 0], "{order:?}");
            assert_eq!(counts(!field("c").eq("blue")), [2, 0], "{order:?}");
            assert_eq!(counts(field("c").not_in(["blue"])), [2, 0], "{order:?}");
            assert_eq!(counts(field("c").eq("blue")), [0, 0], "{order:?}");
        }
    }
}

#[test]
fn a_cell_at_nan_satisfies_only_not_equal_and_is_nan_although_no_rectangle_has_it() {
    use tdb_schema::{ArraySchema, Attribute, Dimension};

    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("x", -100.0f64..=100.0).with_tile(10.0))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .capacity(4)
        .coords_filters(tdb_filters::Pipeline::default())
        .allow_duplicates()
        .build()
        .unwrap();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    // In global order, tiles of four. In some tiles all numbers are equal.
    let mut xs: Vec<f64> = (0..40u32).map(|at| f64::from(if at < 12 { 7 } else { at })).collect();
    let numbers: Vec<i32> = (0..40).collect();
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    let write = writer.write().column(WriteColumn::fixed("x", &xs));
    write.column(WriteColumn::fixed("a", &numbers)).commit().unwrap();
    // Only other libraries write NaN: it is put into the file, where no filter changes values,
    // between the ends of tiles, and in place of all cells of the last ones.
    let key = storage.keys().into_iter().find(|key| key.ends_with("/d0.tdb")).unwrap();
    let mut file = storage.remove(&key).unwrap().to_vec();
    assert_eq!(file.len(), 10 * (8 + 12 + 4 * 8), "each tile is one chunk behind its count and its sizes");
    for at in (0..40).filter(|at| at % 4 == 1 || at % 12 == 6 || *at > 31) {
        let place = (at / 4 + 1) * 20 + at * 8;
        assert_eq!(file[place..place + 8], xs[at].to_le_bytes());
        file[place..place + 8].copy_from_slice(&f64::NAN.to_le_bytes());
        xs[at] = f64::NAN;
    }
    storage.insert(key, file);
    let array = OpenOptions::new().open_storage(storage).unwrap();
    let found = |condition: QueryCondition| {
        let read = array.read().fields(["a"]).condition(condition).collect().unwrap();
        let mut cells = read.columns()[0].values::<i32>().unwrap().to_vec();
        cells.sort_unstable();
        cells
    };
    let wanted = |keep: &dyn Fn(f64) -> bool| {
        numbers.iter().zip(&xs).filter(|(_, x)| keep(**x)).map(|(a, _)| *a).collect::<Vec<_>>()
    };
    let x = || field("x");
    for end in [-1.0, 7.0, 7.5, 15.0, 99.0] {
        assert_eq!(found(x().lt(end)), wanted(&|x| x < end), "< {end}");
        assert_eq!(found(x().le(end)), wanted(&|x| x <= end), "<= {end}");
        assert_eq!(found(x().gt(end)), wanted(&|x| x > end), "> {end}");
        assert_eq!(found(x().ge(end)), wanted(&|x| x >= end), ">= {end}");
        assert_eq!(found(x().eq(end)), wanted(&|x| x == end), "= {end}");
        assert_eq!(found(x().ne(end)), wanted(&|x| x != end), "!= {end}");
        assert_eq!(found(x().lt(end).or(x().is_nan())), wanted(&|x| x < end || x.is_nan()), "< {end} or NaN");
    }
    assert_eq!(found(x().is_nan()), wanted(&f64::is_nan));
    assert_eq!(found(!x().is_nan()), wanted(&|x| !x.is_nan()));
    let refused = array.read().condition(field("a").is_nan()).collect().unwrap_err().to_string();
    assert!(refused.contains("field \"a\" is of type INT32: only real numbers can be NaN"), "{refused}");
}

#[test]
fn a_set_of_reals_is_what_equals_says_of_each_member_and_a_delete_by_it_too() {
    use tdb_schema::{Attribute, Dimension};

    let cells = [0.0, -0.0, f64::NAN, 1.5, -1.5, 3.0];
    let numbers: Vec<i32> = (0..6).collect();
    for (real, has_nan) in [(Datatype::Float32, true), (Datatype::Float64, true), (Datatype::Float64, false)]
    {
        // As an attribute, or as a dimension, which has no NaN here.
        let schema = ArraySchema::sparse().allow_duplicates();
        let schema = match has_nan {
            true => schema.dimension(Dimension::new("y", 0i32..=9)).attribute(Attribute::new(
                "x",
                real,
                CellValNum::ONE,
            )),
            false => schema.dimension(Dimension::new("x", -9.0f64..=9.0)),
        };
        let schema = schema.attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE)).build().unwrap();
        let cells: Vec<f64> = cells.iter().copied().filter(|cell| has_nan || !cell.is_nan()).collect();
        let numbers = &numbers[..cells.len()];
        let narrow: Vec<f32> = cells.iter().copied().map(near).collect();
        let create = || {
            let storage = MemoryStorage::default();
            WriteOptions::new().timestamp(1).create_storage(&storage, &schema).unwrap();
            let writer = WriteOptions::new().timestamp(2).open_storage(storage.clone()).unwrap();
            let x = match real {
                Datatype::Float32 => WriteColumn::fixed("x", &narrow),
                _ => WriteColumn::fixed("x", &cells),
            };
            let write = writer.write().column(x).column(WriteColumn::fixed("a", numbers));
            let write = if has_nan { write.column(WriteColumn::fixed("y", numbers)) } else { write };
            write.commit().unwrap();
            storage
        };
        let found = |storage: &MemoryStorage, condition: Option<QueryCondition>| {
            let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
            let read = array.read().fields(["a"]);
            let read = condition.into_iter().fold(read, crate::Read::condition).collect().unwrap();
            let mut cells = read.columns()[0].values::<i32>().unwrap().to_vec();
            cells.sort_unstable();
            cells
        };
        let others: Vec<f64> = (10..25).map(f64::from).collect();
        for members in [vec![0.0], vec![-0.0], vec![1.5, -0.0], vec![f64::NAN], vec![f64::NAN, 0.0, 3.0]] {
            for more in [0, 15] {
                let members: Vec<f64> = members.iter().chain(&others[..more]).copied().collect();
                let equal = |cell: &i32| members.contains(&cells[usize::try_from(*cell).unwrap()]);
                let (is_in, not_in): (Vec<i32>, Vec<i32>) = numbers.iter().partition(|cell| equal(cell));
                let conditions = [field("x").is_in(members.clone()), field("x").not_in(members.clone())];
                for (condition, expected, left) in
                    [(&conditions[0], &is_in, &not_in), (&conditions[1], &not_in, &is_in)]
                {
                    let storage = create();
                    assert_eq!(found(&storage, Some(condition.clone())), *expected, "{real:?} {condition}");
                    let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
                    let stored = condition.to_stored(&array).unwrap();
                    let writer = WriteOptions::new().timestamp(3).open_storage(storage.clone()).unwrap();
                    writer.delete(&stored).unwrap();
                    assert_eq!(found(&storage, None), *left, "{real:?}, left by a delete where {condition}");
                }
            }
        }
    }
}
