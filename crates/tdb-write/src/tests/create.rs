//! Creating arrays, and writes that are rejected.

use tdb_schema::Enumeration;

use super::*;
use crate::enumeration_file_name;

fn numbers() -> ArraySchema {
    let schema = ArraySchema::dense().dimension(Dimension::new("i", 0i32..=9));
    schema.attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE)).build().unwrap()
}

#[test]
fn a_second_range_of_a_dimension_is_refused() {
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &numbers()).unwrap();
    let writer = WriteOptions::new().open_storage(storage).unwrap();
    let write = writer.write().range("i", 0..=1).range("i", 4..=5).column(WriteColumn::fixed("a", &[1, 2]));
    assert!(matches!(write.commit(), Err(Error::Write(WriteError::RepeatedRange(name))) if name == "i"));
}

#[test]
fn an_interrupted_creation_can_be_done_again() {
    let mut old = numbers();
    old.version = FormatVersion::parse(9).unwrap();
    for schema in [numbers(), old] {
        let whole = MemoryStorage::default();
        WriteOptions::new().create_storage(&whole, &schema).unwrap();
        let key = whole.keys().into_iter().find(|key| key.contains("schema")).unwrap();
        let bytes = whole.read(&key).unwrap();
        for cut in [0, 1, bytes.len() - 1] {
            let storage = MemoryStorage::default();
            for folder in ["__schema", "__schema/__enumerations", "__meta", "__commits"] {
                storage.create_folder(folder).unwrap();
            }
            let mut file = storage.create_file(&key).unwrap();
            file.append(&bytes[..cut]).unwrap();
            file.finish(Durability::Buffered).unwrap();
            WriteOptions::new().create_storage(&storage, &schema).unwrap();
            WriteOptions::new().open_storage(storage.clone()).unwrap();
            let again = WriteOptions::new().create_storage(&storage, &schema);
            assert!(matches!(again, Err(Error::Write(WriteError::Exists))));
        }
    }
}

#[test]
fn a_damaged_schema_of_an_array_with_fragments_is_not_taken_for_a_leftover() {
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &numbers()).unwrap();
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    writer.write().range("i", 0..=0).column(WriteColumn::fixed("a", &[1])).commit().unwrap();
    let key = storage.keys().into_iter().find(|key| key.starts_with("__schema")).unwrap();
    storage.remove_file(&key).unwrap();
    storage.create_file(&key).unwrap().finish(Durability::Buffered).unwrap();
    let again = WriteOptions::new().create_storage(&storage, &numbers());
    assert!(matches!(again, Err(Error::Write(WriteError::Exists))));
    assert!(storage.keys().contains(&key));
}

#[test]
fn enumerations_are_written_beside_the_schema_that_names_them() {
    let file = enumeration_file_name().unwrap();
    let colours =
        Enumeration::new("colours", file, Datatype::StringUtf8, CellValNum::Var, ["red", "green"]).unwrap();
    let attribute = Attribute::new("a", Datatype::Uint8, CellValNum::ONE).with_enumeration("colours");
    let schema = ArraySchema::dense().dimension(Dimension::new("i", 0i32..=9)).attribute(attribute);
    let schema = schema.enumeration(&colours).build().unwrap();
    let storage = MemoryStorage::default();
    let create = |options: WriteOptions| options.create_storage(&storage, &schema);
    let missing = |result| matches!(result, Err(Error::Write(WriteError::EnumerationMissing(_))));
    assert!(missing(create(WriteOptions::new())));
    let mut stray = colours.clone();
    stray.name = "shapes".into();
    assert!(missing(create(WriteOptions::new().enumeration(colours.clone()).enumeration(stray))));
    assert!(storage.keys().is_empty());
    create(WriteOptions::new().enumeration(colours.clone())).unwrap();
    let array = OpenOptions::new().open_storage(storage.clone()).unwrap();
    assert_eq!(array.enumeration("colours").unwrap(), Some(colours));
    assert_sound(&storage, None);
}

#[test]
fn a_label_is_an_array_of_ordered_values() {
    let label =
        tdb_schema::DimensionLabel::new(0, "where", "__labels/l0", Datatype::Float64, CellValNum::ONE);
    let mut schema = numbers();
    schema.labels.push(label);
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &schema).unwrap();
    let writer = WriteOptions::new().open_storage(storage.clone()).unwrap();
    let labels = writer.label("where").unwrap();
    assert!(writer.label("elsewhere").is_err());
    let write = |values: &[f64]| {
        labels.write().range("index", 0..=2).column(WriteColumn::fixed("label", values)).commit()
    };
    for wrong in [[0.5, 0.25, 1.0], [0.5, 0.5, 1.0], [0.5, f64::NAN, 1.0]] {
        assert!(matches!(write(&wrong), Err(Error::Write(WriteError::NotInOrder { cell: 1, .. }))));
    }
    write(&[0.25, 0.5, 1.0]).unwrap();
    writer.write().column(WriteColumn::fixed("a", &[7; 10])).commit().unwrap();
    assert!(storage.keys().iter().any(|key| key.starts_with("__labels/l0/__commits/")));
    assert_sound(&storage, None);
}

#[test]
fn folders_above_the_array_are_made_and_many_files_are_open_at_once() {
    let above = std::env::temp_dir().join(format!("tdb-above-{}", std::process::id()));
    let path = above.join("one/two/array");
    let mut schema = ArraySchema::sparse().dimension(Dimension::new("i", 0i32..=9)).capacity(1);
    for index in 0..400 {
        let attribute = Attribute::new(format!("a{index}"), Datatype::StringUtf8, CellValNum::Var);
        schema = schema.attribute(attribute.with_nulls());
    }
    let schema = schema.build().unwrap();
    let options = || WriteOptions::new().durability(Durability::Buffered);
    options().create(&path, &schema).unwrap();
    let writer = options().open(&path).unwrap();
    let mut write = writer.write().column(WriteColumn::fixed("i", &[5, 3]));
    for attribute in &schema.attributes {
        write = write.column(WriteColumn::var(&attribute.name, b"abc", &[0, 1, 3]).nullable(&[1, 1]));
    }
    write.commit().unwrap();
    let cells = Array::open(&path).unwrap().read().collect().unwrap();
    assert_eq!(cells.field("a399").unwrap().cell(0), Some(&b"bc"[..]));
    std::fs::remove_dir_all(&above).unwrap();
}

#[test]
fn a_file_that_was_locked_does_not_make_a_folder_an_array() {
    let storage = MemoryStorage::default();
    assert!(crate::is_vacant(&storage).unwrap());
    storage.insert(".tdb-.lock", Vec::new());
    assert!(crate::is_vacant(&storage).unwrap());
    storage.insert("notes.txt", Vec::new());
    assert!(!crate::is_vacant(&storage).unwrap());
}
