//! Runs one target under libFuzzer: its name is the last argument, behind `-ignore_remaining_args=1`.
#![no_main]

use std::sync::OnceLock;

use fuzz::{Target, target};
use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<&Target> = OnceLock::new();

fuzz_target!(
    init: {
        let name = std::env::args().next_back().unwrap_or_default();
        let chosen = target(&name).unwrap_or_else(|| panic!("there is no target `{name}`"));
        TARGET.get_or_init(|| chosen);
    },
    |input: &[u8]| {
        if let Some(target) = TARGET.get() {
            (target.run)(input);
        }
    }
);
