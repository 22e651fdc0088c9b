//! Reading a fuzzer's bytes as the parts that a target needs.

/// The first line as text, and the bytes behind it.
pub(crate) fn text_and_rest(input: &[u8]) -> Option<(&str, &[u8])> {
    let end = input.iter().position(|byte| *byte == b'\n')?;
    let (line, rest) = input.split_at(end);
    Some((std::str::from_utf8(line).ok()?, &rest[1..]))
}

/// The first line, and the text behind it.
pub(crate) fn line_and_text(input: &[u8]) -> Option<(&str, &str)> {
    std::str::from_utf8(input).ok()?.split_once('\n')
}
