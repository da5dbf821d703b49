//! Tables that cannot be learned from: one paragraph that says what, where and what to do.

use crate::common::Folder;

/// Fits a table that must be refused.
fn refused(name: &str, content: impl AsRef<[u8]>, more: &[&str], says: &[&str]) {
    let folder = Folder::new();
    folder.put(name, content);
    folder.fails(&[&["fit", name, "--features=5", "--max-iterations=2"], more].concat(), says);
    assert_eq!(folder.names(), [name], "something was written");
}

#[test]
fn files_that_are_no_tables() {
    let y = &["--targets=y"][..];
    refused("t.csv", "", y, &["t.csv is empty"]);
    refused("t.csv", "\n\n", y, &["t.csv is empty"]);
    refused("t.csv", "x,y\n", y, &["t.csv has column names but no rows"]);
    refused("t.csv", "x,y\n1,2\n1,2,3\n", y, &["t.csv, line 3", "3 cells where 2 columns"]);
    refused("t.csv", "x,y\n1,2\n1\n", y, &["t.csv, line 3", "1 cells where 2 columns"]);
    refused("t.csv", "x,x,y\n1,2,3\n", y, &["columns 1 and 2 are both named 'x'"]);
    refused("t.csv", ",,y\n1,2,3\n", y, &["2 of the 3 columns have no name"]);
    refused("t.csv", [0x7f, b'E', b'L', b'F', 0, 0, 1, 2], y, &["t.csv, line 1", "not plain text"]);
    refused("t.csv", b"x,y\n\xff\xfe,2\n", &["--targets=y", "--encoding=utf-8"], &["t.csv, line 2", "UTF-8"]);
    refused("t.feather", "FEA1", y, &["t.feather is a Feather file of version 1", "to_feather"]);
    refused("t.parquet", "PAR1 is all there is", y, &["t.parquet", "Parquet"]);
    refused("t.arff", "@relation r\n@attribute x numeric\n@data\n1,2\n", y, &["t.arff"]);
    refused("t.csv", "x,y\n\"1,2\n", y, &["t.csv, line 2", "double quote"]);
}

#[test]
fn the_wrong_delimiter_shows_in_the_names() {
    // A table with semicolons under a name that promises tabs.
    let table = "x;y\n1;2\n3;4\n";
    refused("t.tsv", table, &["--targets=y"], &["t.tsv, line 1", "choose ';' as the delimiter"]);
    refused("t.csv", table, &["--targets=y", "--delimiter=,"], &["t.csv, line 1", "choose ';' as the delimiter"]);
    let folder = Folder::new();
    folder.put("t.tsv", table);
    folder.done(&["fit", "t.tsv", "--targets=y", "--delimiter=;", "--features=5"]);
    folder.fails(&["predict", "t.model.json", "t.tsv"], &["choose ';' as the delimiter"]);
    folder.done(&["predict", "t.model.json", "t.tsv", "--delimiter=;"]);
}

#[test]
fn cells_that_are_no_numbers() {
    let rows: String = (0..30).map(|n| format!("{n},{}\n", n * 2)).collect();
    refused("t.csv", format!("x,y\n{rows}abc,1\n"), &["--targets=y"], &["t.csv, line 32", "'x'", "'abc'"]);
    refused("t.csv", format!("x,y\n{rows}1,abc\n"), &["--targets=y"], &["t.csv, line 32", "'y'", "'abc'"]);
    refused(
        "t.csv",
        "x,y\n1,low\n2,high\n",
        &["--targets=y"],
        &["t.csv, line 2", "'y'", "'low'", "classes such as yes and no"],
    );
    refused("t.csv", "x,y\n1,low\n2,high\n", &["--targets=last:1"], &["data row 1", "'y'", "'low'"]);
    // A target gets the same message as an input.
    let comma = "write decimals with a point and no thousands separator";
    refused("t.csv", "x;y\n0,5;1.5\n0,7;2\n", &["--targets=y"], &["line 2", "'x'", "comma inside the number", comma]);
    refused(
        "t.csv",
        "x;y\n1.5;0,1701\n2;0,2\n",
        &["--targets=y"],
        &["line 2", "'y'", "comma inside the number", comma],
    );
    refused("t.csv", "x,y\n1%,1\n2.5 %,2\n", &["--targets=y"], &["'x'", "2 of the 2", "'1%'", "remove the sign"]);
    refused("t.csv", "x,y\n1,1\n2,2.5%\n", &["--targets=y"], &["line 3", "'y'", "'2.5%'", "remove the percent sign"]);
    refused("t.csv", "x,y\n1,2\ninf,3\n", &["--targets=y"], &["line 3", "not a finite number"]);
    refused("t.csv", "x,w,y\n1,1,2\n2,-1,3\n", &["--targets=y", "--weight=w"], &["data row 2", "'w'", "-1"]);
    refused("t.csv", "x,w,y\n1,1,2\n2,,3\n", &["--targets=y", "--weight=w"], &["data row 2", "'w'", "missing"]);
}

#[test]
fn dates_are_numbers_with_a_note() {
    let folder = Folder::new();
    let rows: String = (0..12).map(|n| format!("{n},2024-0{}-11,{}\n", 1 + n % 4, n * n)).collect();
    folder.put("t.csv", format!("x,day,y\n{rows}"));
    let ran = folder.done(&["fit", "t.csv", "--targets=y", "--max-iterations=2"]);
    assert!(ran.err.contains("column 'day': dates, taken as days since 2024-01-11\n"), "{}", ran.err);
    assert!(ran.err.contains("column 'day' looks like a time;"), "{}", ran.err);
}

#[test]
fn inputs_without_a_value_are_left_out_and_named() {
    let folder = Folder::new();
    let rows: String = (0..12).map(|n| format!("{n},,NA,.,{}\n", n * n)).collect();
    folder.put("t.csv", format!("x,a,b,c,y\n{rows}"));
    let ran = folder.done(&["fit", "t.csv", "--targets=y", "--check=off"]);
    let expected = "3 columns have no value in any row and were left out: 'a', 'b', 'c'\n";
    assert!(ran.err.contains(expected), "{}", ran.err);
    folder.put("new.csv", "x,a\n1,\n");
    folder.done(&["predict", "t.model.json", "new.csv"]);
}

#[test]
fn a_time_that_is_no_input_has_one_note() {
    let folder = Folder::new();
    let rows: String = (0..12).map(|n| format!("{},5,{}\n", (n * 7) % 5, n * n)).collect();
    folder.put("t.csv", format!("x,t,y\n{rows}"));
    let ran = folder.done(&["fit", "t.csv", "--targets=y", "--time=t", "--check=off"]);
    assert!(ran.err.contains("column 't' orders the rows in time and is not an input\n"), "{}", ran.err);
    assert!(!ran.err.contains("was left out"), "{}", ran.err);
    // What pandas writes for a difference of times.
    let rows: String = (0..12).map(|n| format!("{},0 days 00:00:{n:02},{}\n", (n * 7) % 5, n * n)).collect();
    let says = ["'t' orders the rows in time and is not an input\n", "'0 days 00:00:00' is not a time"];
    refused("t.csv", format!("x,t,y\n{rows}"), &["--targets=y", "--time=t"], &says);
}

#[test]
fn columns_without_content() {
    refused("t.csv", "x,e,y\n1,,2\n2,NA,3\n", &["--targets=y", "--time=e"], &["'e' has no value in any row"]);
    refused("t.csv", "x,y\n1,\n2,\n", &["--targets=y"], &["no row has a value for the target"]);
    refused("t.csv", "x,y,z\n1,1,\n2,3,\n", &["--targets=y,z"], &["z", "no observed value"]);
    refused("t.csv", "x,y\n1,2\n1,3\n", &["--targets=y"], &["no input column is left"]);
    refused("t.csv", "x,y\n1,2\n,3\n3,4\n", &["--targets=y", "--missing=error"], &["data row 2", "'x'", "missing"]);
}

#[test]
fn roles_that_do_not_fit_the_table() {
    let table = "glucose,age,y\n1,2,3\n2,3,5\n";
    refused("t.csv", table, &["--targets=glucos"], &["'glucos'", "did you mean 'glucose'?"]);
    refused("t.csv", table, &["--targets=y", "--ignore=aeg"], &["'aeg'", "did you mean 'age'?"]);
    refused("t.csv", table, &["--targets=y", "--weight=wieght"], &["'wieght'"]);
    refused("t.csv", table, &["--targets=y", "--text=agee"], &["'agee'", "did you mean 'age'?"]);
    refused("t.csv", table, &["--targets=last:3"], &["last:3", "the table has 3"]);
    refused("t.csv", table, &["--targets=y", "--ignore=age,glucose"], &["no input column"]);
}

/// What is wrong without any look at the table is a wrong command line.
#[test]
fn roles_that_contradict_themselves() {
    let folder = Folder::new();
    folder.put("t.csv", "glucose,age,y\n1,2,3\n2,3,5\n");
    for (roles, says) in [
        (["--targets=y,age", "--ignore=age"], "'age' is named as a target and as ignored"),
        (["--targets=y", "--weight=y"], "'y' is named as a target and as the weight"),
        (["--targets=y", "--repeats=y"], "'y' is named as a target and as the weight"),
        (["--targets=last:two", "--quiet"], "'last:two'"),
    ] {
        let ran = folder.run(&["fit", "t.csv", roles[0], roles[1]]);
        assert!(ran.code == 2 && ran.err.starts_with("error: ") && ran.err.contains(says), "{}", ran.err);
    }
    assert_eq!(folder.names(), ["t.csv"]);
}

#[test]
fn rows_without_targets_are_dropped_with_a_note() {
    let folder = Folder::new();
    let rows: String = (0..12).map(|n| format!("{n},{},{}\n", n * n, if n == 3 { "" } else { "1.5" })).collect();
    folder.put("t.csv", format!("x,y,z\n{rows}99,,\n98,NA,?\n").replace("1.5", "2"));
    let ran = folder.done(&["fit", "t.csv", "--targets=y,z", "--features=5", "--max-iterations=2"]);
    assert!(ran.err.contains("2 rows without any target value left out"), "{}", ran.err);
    let model = rffblr::Model::load(folder.path("t.model.json")).unwrap();
    assert_eq!(model.training_rows(), 12);
}

#[test]
fn paths_that_cannot_be_read() {
    let folder = Folder::new();
    let once = |ran: crate::common::Ran| assert_eq!(ran.err.matches("os error").count(), 1, "{}", ran.err);
    once(folder.fails(&["fit", "absent.csv", "--targets=y"], &["cannot read absent.csv"]));
    once(folder.fails(&["inspect", "absent.json"], &["absent.json"]));
    std::fs::create_dir(folder.path("folder.csv")).unwrap();
    once(folder.fails(&["inspect", "folder.csv"], &["folder.csv"]));
    for name in ["folder.csv", ".", "./folder.csv/"] {
        folder.fails(&["fit", name, "--targets=y"], &["names no CSV, TSV or Parquet file"]);
        folder.fails(&["evaluate", name, "--targets=y"], &["is a folder, not a table"]);
    }
    assert_eq!(folder.names(), ["folder.csv"]);
}

/// A line without end, through a pipe: the reader stops at its bound instead of filling the memory.
#[cfg(unix)]
#[test]
fn a_line_without_end_is_refused_within_bounded_memory() {
    let folder = Folder::new();
    // 2 GB of one line against 600 MB of address space for data.
    let line = format!(
        "ulimit -d 600000; yes 1234567 | tr '\\n' , | head -c 2000000000 | {} fit - --targets=y -om.json",
        env!("CARGO_BIN_EXE_rffblr")
    );
    let output = std::process::Command::new("sh").args(["-c", &line]).current_dir(folder.path("")).output().unwrap();
    let ran = crate::common::Ran::from(output);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("standard input, line 1") && ran.err.contains("MiB"), "{}", ran.err);
    assert!(folder.names().is_empty());
}
