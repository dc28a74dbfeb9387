//! `tdb sql --table`: the arrays of groups and of experiments of single cells as tables.

use tdb_array::WriteOptions;

use crate::common::{Scratch, refused, said, tdb, text};
use crate::soma_cells::{Cells, experiment, group, table};

#[test]
fn obs_var_and_x_of_an_experiment_are_tables() {
    let scratch = Scratch::new();
    let path = scratch.path().join("cells.soma");
    experiment(&path, &Cells::default());
    let named = format!("e={}", text(&path));
    let one = |sql: &str| said(&["sql", "--table", &named, sql]);

    // The mean of a gene by type of cell: cells 0 and 3 have gene 2.
    let means = "SELECT o.kind, v.name, avg(x.soma_data) AS mean, count(*) AS cells FROM e.rna.X.data x \
                 JOIN e.obs o ON o.soma_joinid = x.soma_dim_0 JOIN e.rna.var v ON v.soma_joinid = x.soma_dim_1 \
                 WHERE v.name = 'gene2' GROUP BY o.kind, v.name ORDER BY o.kind";
    assert_eq!(one(means), "kind,name,mean,cells\nB,gene2,5.0,1\nT,gene2,7.0,1\n");
    // Names in any case, with `ms` or without, in quotes or not.
    for name in
        ["e.RNA.X.data", "e.rna.x.DATA", "e.ms.RNA.X.data", "E.\"RNA.X.data\"", "\"e\".rna.\"X\".data"]
    {
        assert_eq!(one(&format!("SELECT count(*) AS n FROM {name}")), "n\n5\n", "{name}");
    }
    assert_eq!(one("SELECT e.obs.name FROM e.obs WHERE soma_joinid = 1"), "name\ncell1\n");
    assert!(
        one("SHOW TABLES")
            .contains("e.RNA.X.data,array\ne.RNA.obsm.X_pca,array\ne.RNA.var,array\ne.obs,array\n")
    );
    assert!(one("DESCRIBE e.rna.var").contains("soma_joinid,Int64,NO\n"));
    assert!(
        one("EXPLAIN SELECT * FROM e.rna.X.data WHERE soma_dim_0 = 2").contains("ranges=[soma_dim_0 in 2]")
    );
    let file = scratch.path().join("var.csv");
    let copied = tdb(&["sql", "--table", &named, &format!("COPY e.rna.var TO '{}'", text(&file))]);
    assert_eq!((copied.code, copied.err.as_str()), (0, "3 rows written\n"));
    // The members of a group that is no experiment have all of its names.
    let named = format!("m={}", text(&path.join("ms")));
    assert_eq!(said(&["sql", "--table", &named, "SELECT count(*) AS n FROM m.rna.X.data"]), "n\n5\n");
    // Each statement opens its arrays again.
    let named = format!("e={}", text(&path));
    let two = "INSERT INTO e.obs VALUES (3, 'new', 'B'); SELECT name FROM e.obs WHERE soma_joinid = 3";
    assert_eq!(tdb(&["sql", "--table", &named, two]).out, "name\nnew\n");
}

#[test]
fn an_array_may_have_a_name_and_a_time_is_for_all() {
    let scratch = Scratch::new();
    let path = scratch.path().join("cells.soma");
    experiment(&path, &Cells::default());
    let (obs, all) = (format!("o={}", text(&path.join("obs"))), format!("e={}", text(&path)));
    let sql = "SELECT count(*) AS n FROM o JOIN e.obs p ON o.name = p.name";
    assert_eq!(said(&["sql", "--table", &obs, "--table", &all, sql]), "n\n4\n");
    refused(&["sql", "--table", &all, "--at", "1", "SELECT * FROM e.obs"], 2, "has no array obs");
}

#[test]
fn names_that_mean_nothing_are_refused_with_those_that_there_are() {
    let scratch = Scratch::new();
    let path = scratch.path().join("cells.soma");
    experiment(&path, &Cells::default());
    let named = format!("e={}", text(&path));
    let known = "the group e has no array rna.X.dat; it has RNA.X.data, RNA.obsm.X_pca, RNA.var, obs";
    refused(&["sql", "--table", &named, "SELECT * FROM e.rna.X.dat"], 2, known);
    refused(&["sql", "--table", &named, "--table", &named, "SELECT 1"], 2, "--table e: e is a name already");
    let upper = format!("E={}", text(&path));
    let clash = "--table E: e is a name already, and names are found in any case";
    refused(&["sql", "--table", &named, "--table", &upper, "SELECT 1"], 2, clash);
    refused(
        &["sql", "--table", &format!("Public={}", text(&path)), "SELECT 1"],
        2,
        "public is a name already",
    );
    refused(&["sql", "--table", "e", "SELECT 1"], 2, "a name and a place are needed");
    refused(&["sql", "--table", "e=/no/such", "SELECT 1"], 1, "/no/such: No such file");
    let nothing = format!("e={}", text(scratch.path()));
    refused(&["sql", "--table", &nothing, "SELECT 1"], 2, "this is neither an array nor a group");
    refused(&["sql", "SELECT * FROM e.obs"], 2, "e.obs: no group is called e here: tdb sql --table e=PLACE");
    refused(&["sql", &format!("SELECT * FROM '{}'", text(&path))], 2, "is a group");
}

#[test]
fn arrays_whose_names_are_the_same_are_named_apart_or_refused() {
    let scratch = Scratch::new();
    let path = scratch.path().join("cells.soma");
    experiment(&path, &Cells::default());
    // Beside ms/RNA/var there is RNA/var, and beside ms/RNA/X/data an array RNA.X.data in ms.
    table(&path.join("RNA/var"), &(vec![7], 8), "other");
    group(&path.join("RNA"), "SOMACollection", &["var"]);
    table(&path.join("ms/RNA.X.data"), &(vec![1, 2], 8), "dots");
    for (at, member) in [("", "RNA"), ("ms", "RNA.X.data")] {
        let mut above = WriteOptions::new().open_group(path.join(at)).unwrap();
        above.add_path(member, true, Some(member)).unwrap();
        above.commit().unwrap();
    }
    let named = format!("e={}", text(&path));
    let rows = |name: &str| said(&["sql", "--table", &named, &format!("SELECT count(*) AS n FROM {name}")]);
    assert_eq!((rows("e.RNA.var"), rows("e.ms.RNA.var")), ("n\n1\n".to_owned(), "n\n3\n".to_owned()));
    refused(&["sql", "--table", &named, "SELECT * FROM e.RNA.X.data"], 2, "X.data is two arrays, ");
    // Others are found.
    assert_eq!(rows("e.obs"), "n\n4\n");
}
