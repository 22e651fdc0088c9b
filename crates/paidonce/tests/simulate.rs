//! `paidonce simulate` as somebody at a terminal sees it.

#![expect(clippy::unwrap_used, reason = "a test without the command has failed")]

use std::process::{Command, Output};

fn simulate(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_paidonce"));
    command.arg("simulate").args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn a_campaign_says_what_it_did_and_what_went_wrong_in_it() {
    let output = simulate(&["--seeds", "30"]);
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("| lives in which a promise was broken | 0 |"),
        "{said}"
    );
    assert!(said.contains("| `crash-after` |"), "{said}");
}

#[test]
fn a_planted_defect_is_found_and_its_story_told() {
    let output = simulate(&[
        "--plant",
        "unmarked-forfeited",
        "--system",
        "booking",
        "--seeds",
        "500",
    ]);
    let said = said(&output);
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("`unmarked-forfeited` was found by seed"),
        "{said}"
    );
    let again = said
        .lines()
        .find_map(|line| line.strip_prefix("Again, whole: paidonce simulate "));
    let arguments: Vec<&str> = again.unwrap().split(' ').collect();
    let whole = simulate(&arguments);
    assert!(
        whole.status.success(),
        "the command of the story finds it, too"
    );
    assert!(self::said(&whole).contains("TransactWriteItems"));
}

#[test]
fn the_same_life_has_the_same_trace() {
    let trace = || simulate(&["--seed", "7", "--trace"]).stdout;
    assert_eq!(trace(), trace());
}

#[test]
fn what_is_not_known_is_refused_with_the_place_to_look() {
    for arguments in [["--plant", "nonsense"], ["--only", "nonsense"]] {
        let output = simulate(&arguments);
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("--list"), "{said}");
    }
    let listed = said(&simulate(&["--list"]));
    assert!(listed.contains("unmarked-forfeited") && listed.contains("crash-after"));
}
