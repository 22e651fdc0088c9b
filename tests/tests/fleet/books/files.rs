//! The files of a journal are whole or not there.

use std::fs;
use std::path::PathBuf;

use ops::books::{FileError, Files};

use crate::books::support::july;

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    // It may be there from another run.
    drop(fs::remove_dir_all(&folder));
    folder
}

#[test]
fn a_journal_is_written_once_and_replaced_only_on_demand() {
    let folder = folder("books-once");
    let files = Files::new(&folder, &july(), false).unwrap();
    files.write("a,b", "{}").unwrap();
    assert_eq!(fs::read_to_string(&files.csv).unwrap(), "a,b");
    let again = Files::new(&folder, &july(), false).unwrap_err();
    assert!(matches!(again, FileError::Exists(_)), "{again}");
    // Whoever was faster in between is not overwritten either.
    let late = files.write("c,d", "[]").unwrap_err();
    assert!(matches!(late, FileError::Exists(_)), "{late}");
    assert_eq!(fs::read_to_string(&files.csv).unwrap(), "a,b");
    let forced = Files::new(&folder, &july(), true).unwrap();
    forced.write("c,d", "[]").unwrap();
    assert_eq!(fs::read_to_string(&files.csv).unwrap(), "c,d");
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let expected = [
        "journal-2026-07-01-2026-07-31.csv",
        "journal-2026-07-01-2026-07-31.json",
    ];
    assert_eq!(names, expected, "no draft is left");
}

#[test]
fn a_folder_that_can_not_be_made_is_named() {
    let file = folder("books-file");
    fs::write(&file, "").unwrap_or_else(|_| panic!("the folder of this test is there"));
    let error = Files::new(&file.join("inside"), &july(), false).unwrap_err();
    assert!(error.to_string().contains("inside"), "{error}");
    fs::remove_file(&file).unwrap();
}
