//! Every target over its committed corpus, so that its properties hold in each plain test run.

#![expect(
    clippy::unwrap_used,
    reason = "a test that can't read its corpus has failed"
)]

use std::path::Path;

use fuzz::{PLANTED, TARGETS, Target};

/// Runs a target over each file of its folder; the name of the one that fails comes first.
fn replay(target: &Target) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(target.name);
    let files = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{folder:?}: {error}"));
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    for file in &files {
        let input = std::fs::read(file).unwrap();
        let outcome = std::panic::catch_unwind(|| (target.run)(&input));
        assert!(
            outcome.is_ok(),
            "{} fails on {}",
            target.name,
            file.display()
        );
    }
    files.len()
}

macro_rules! each_target_holds_over_its_corpus {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            let target = fuzz::target(stringify!($name)).expect("it is a target");
            assert!(replay(target) >= 3, "{} has hardly a corpus", target.name);
        })*

        #[test]
        fn each_target_is_tested_here_and_each_folder_is_of_a_target() {
            let tested = [$(stringify!($name)),*];
            let all: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(all, tested);
            let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
            for folder in std::fs::read_dir(corpus).unwrap() {
                let name = folder.unwrap().file_name().into_string().unwrap();
                assert!(tested.contains(&name.as_str()), "{name} is of no target");
            }
        }
    };
}

each_target_holds_over_its_corpus! {
    booking_webhook canonical_json dunning_policy_json dunning_webhook email function_url
    inbound_sms intake link_token local_time money phone signature sms_text task_payloads
    venue_json
}

#[test]
fn the_planted_fault_is_there_and_lies_deep() {
    let fails = |input: &[u8]| std::panic::catch_unwind(|| (PLANTED.run)(input)).is_err();
    assert!(fails(b"paid!!"));
    let near: [&[u8]; 4] = [b"", b"paid!", b"paid!!!", b"said!!"];
    assert!(near.into_iter().all(|input| !fails(input)));
}
