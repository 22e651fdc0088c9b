//! A planted fault behind several comparisons: found within seconds by a fuzzer that sees coverage,
//! and never by one that is blind. It proves that the instrumentation works.

use std::hint::black_box;

pub(crate) fn run(input: &[u8]) {
    assert!(!is_reached(input), "the planted fault is reached");
}

/// One letter after another, each behind a branch of its own that the compiler can't merge.
fn is_reached(input: &[u8]) -> bool {
    let is = |place: usize, letter: u8| black_box(input.get(place)) == Some(&letter);
    if is(0, b'p') && is(1, b'a') {
        black_box(2);
        if is(2, b'i') && is(3, b'd') {
            black_box(4);
            return is(4, b'!') && is(5, b'!') && input.len() == 6;
        }
    }
    false
}
