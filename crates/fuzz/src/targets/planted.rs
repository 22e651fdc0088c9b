//! A planted fault behind several comparisons: found within seconds by a fuzzer that sees coverage,
//! and never by one that is blind. It proves that the instrumentation works.

pub(crate) fn run(input: &[u8]) {
    assert!(!is_reached(input), "the planted fault is reached");
}

fn is_reached(input: &[u8]) -> bool {
    let [b'p', b'a', b'i', b'd', rest @ ..] = input else {
        return false;
    };
    let [b'o', b'n', b'c', b'e', rest @ ..] = rest else {
        return false;
    };
    let [a, b, c, d] = rest else {
        return false;
    };
    u32::from_be_bytes([*a, *b, *c, *d]) == 0x1984_2026
}
