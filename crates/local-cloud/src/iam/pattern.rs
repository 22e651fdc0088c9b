//! Patterns with `*` and `?`, as IAM has them.

/// Tells whether `text` matches a pattern with `*` (anything) and `?` (one character).
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == '*' {
            retry = Some((p + 1, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((after_star, from)) = retry {
            (p, t) = (after_star, from + 1);
            retry = Some((after_star, from + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|symbol| *symbol == '*')
}
