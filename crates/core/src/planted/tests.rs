use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// Who may turn the feature on, beside the crate that has it.
const MAY_PLANT: [&str; 2] = ["crates/simulator", "tests"];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every file of the workspace's packages whose name ends so, with its path in the workspace.
fn files(ending: &str) -> Vec<(PathBuf, String)> {
    let root = workspace();
    let mut folders: Vec<PathBuf> = ["crates", "functions", "tests"]
        .map(|it| root.join(it))
        .into();
    let mut found = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().ends_with(ending) {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(&root).unwrap().to_owned(), text));
            }
        }
    }
    found.push((
        "Cargo.toml".into(),
        fs::read_to_string(root.join("Cargo.toml")).unwrap(),
    ));
    found.retain(|(path, _)| path.to_string_lossy().ends_with(ending));
    found
}

#[test]
fn nothing_is_wrong_until_it_is_planted() {
    assert!(Defect::ALL.iter().all(|defect| !is(*defect)));
}

#[cfg(all(feature = "plants", debug_assertions))]
#[test]
fn a_thread_has_the_defect_that_was_planted_and_no_other_thread_has() {
    for planted in Defect::ALL {
        plant(Some(*planted));
        let has: Vec<Defect> = Defect::ALL.iter().copied().filter(|it| is(*it)).collect();
        assert_eq!(has, [*planted]);
        let elsewhere = std::thread::spawn(|| Defect::ALL.iter().any(|it| is(*it)));
        assert!(!elsewhere.join().unwrap());
    }
    plant(None);
    assert!(Defect::ALL.iter().all(|defect| !is(*defect)));
}

#[cfg(all(feature = "plants", debug_assertions))]
#[test]
fn a_place_that_a_thread_came_to_is_known_until_it_is_asked_for() {
    take_reached();
    assert!(!is(Defect::StopIgnored));
    let reached = take_reached();
    for defect in Defect::ALL {
        assert_eq!(reached.has(*defect), *defect == Defect::StopIgnored);
    }
    assert_eq!(take_reached(), Reached::default());
}

#[test]
fn a_defect_has_one_name_and_is_found_by_it() {
    let names: BTreeSet<&str> = Defect::ALL.iter().map(|it| it.name()).collect();
    assert_eq!(names.len(), Defect::ALL.len());
    for defect in Defect::ALL {
        assert_eq!(Defect::named(defect.name()), Some(*defect));
        let plain = |letter: char| letter.is_ascii_lowercase() || letter == '-';
        assert!(defect.name().chars().all(plain), "{}", defect.name());
        for text in [defect.what(), defect.breaks()] {
            assert!(!text.is_empty() && !text.ends_with('.'), "{text}");
        }
    }
    assert_eq!(Defect::named("none-such"), None);
}

#[test]
fn a_defect_that_is_listed_is_put_in_somewhere() {
    let own = Path::new("crates/core/src/planted");
    let code: String = files(".rs")
        .into_iter()
        .filter(|(path, _)| !path.starts_with(own))
        .map(|(_, text)| text)
        .collect();
    for defect in Defect::ALL {
        let put_in = format!("Defect::{defect:?})");
        assert!(code.contains(&put_in), "`{}` is nowhere", defect.name());
    }
}

#[test]
fn only_the_simulator_and_tests_can_plant() {
    for (path, text) in files("Cargo.toml") {
        let folder = path.parent().unwrap().to_string_lossy().into_owned();
        let may = folder == "crates/core" || MAY_PLANT.contains(&folder.as_str());
        assert!(
            may || !text.contains("plants"),
            "{folder} turns `plants` on"
        );
    }
}

#[test]
fn no_release_has_debug_assertions() {
    for (path, text) in files("Cargo.toml") {
        let turns_on = |line: &str| line.contains("debug-assertions") && !line.ends_with("= false");
        let path = path.display();
        assert!(!text.lines().any(turns_on), "{path} changes a profile");
    }
    assert!(!fs::exists(workspace().join(".cargo/config.toml")).unwrap());
}
