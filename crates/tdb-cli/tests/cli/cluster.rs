//! `tdb cluster` and `tdb sql --cluster`.

use crate::common::tdb;

#[test]
#[cfg(not(feature = "cluster"))]
fn a_build_without_clusters_says_how_to_get_them() {
    let missing = ["the feature cluster", "cargo install tdb-cli --features cluster"];
    for args in [&["cluster", "scheduler"][..], &["cluster", "executor", "localhost:50050"]] {
        crate::common::assert_fails(&tdb(args), &missing);
    }
    #[cfg(feature = "sql")]
    crate::common::assert_fails(&tdb(&["sql", "--cluster", "localhost:1", "SELECT 1"]), &missing);
    assert!(!tdb(&["--version"]).out.contains(" cluster"));
}

#[test]
fn help_is_there_in_every_build_and_wrong_words_are_refused() {
    let help = tdb(&["cluster", "--help"]);
    // Lines are broken at the width of the screen.
    let words = help.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(help.code == 0 && words.contains("There is no authentication"), "{words}");
    for args in [
        &["cluster"][..],
        &["cluster", "scheduler", "--timeout", "5"],
        &["cluster", "executor"],
        &["cluster", "executor", "localhost:1", "--port", "0"],
        &["sql", "--cluster", "localhost:1", "--threads", "2", "SELECT 1"],
    ] {
        assert_eq!(tdb(args).code, 2, "{args:?}");
    }
}

#[cfg(feature = "cluster")]
mod with_clusters {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    use crate::common::{Scratch, assert_fails, fixture, said, sparse, tdb, text};

    /// A process that ends when it is dropped.
    struct Process(Child);

    impl Drop for Process {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    fn start(args: &[&str]) -> Process {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tdb"));
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        Process(command.spawn().unwrap())
    }

    #[test]
    fn a_scheduler_and_an_executor_answer_as_one_process_does() {
        let mut scheduler = start(&["cluster", "scheduler", "--listen", "127.0.0.1:0"]);
        let mut address = String::new();
        BufReader::new(scheduler.0.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = address.trim();
        let scratch = Scratch::new();
        let kept = scratch.path().join("kept");
        let temporary = text(&kept);
        std::fs::create_dir_all(&kept).unwrap();
        let _executor = start(&["cluster", "executor", address, "--threads", "1", "--temporary", temporary]);
        let array = scratch.path().join("trips");
        sparse(&array);
        let path = text(&array);
        for sql in [
            format!("SELECT * FROM '{path}' ORDER BY k"),
            format!("SELECT count(*) FROM '{path}' WHERE k > 3; SELECT 7 AS seven"),
            format!("CREATE EXTERNAL TABLE t STORED AS TILEDB LOCATION '{path}'; SELECT max(k) FROM t"),
        ] {
            assert_eq!(said(&["sql", "--cluster", address, &sql]), said(&["sql", &sql]), "{sql}");
        }
        let ask = |sql: &str| tdb(&["sql", "--cluster", address, sql]);
        assert_fails(&ask(&format!("DELETE FROM '{path}' WHERE k = 3")), &["a cluster only reads"]);
        let secret = fixture("2.30.0/encrypted_sparse");
        assert_fails(&ask(&format!("SELECT * FROM '{}'", text(&secret))), &["no key was given"]);
        let shown = said(&["sql", "--cluster", address, "--explain", &format!("SELECT k FROM '{path}'")]);
        assert!(shown.contains("ClusterExec: scheduler=127.0.0.1:"), "{shown}");
        assert!(tdb(&["--version"]).out.contains(" cluster"));
    }

    #[test]
    fn what_does_not_answer_is_named() {
        let path = fixture("2.30.0/quickstart");
        let sql = format!("SELECT a FROM '{}'", text(&path));
        assert_fails(&tdb(&["sql", "--cluster", "127.0.0.1:1", &sql]), &["no scheduler", "127.0.0.1:1"]);
        assert_eq!(tdb(&["cluster", "executor", "nowhere"]).code, 2);
    }
}
