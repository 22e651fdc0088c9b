//! How a text is spelled for SMS and what it takes.

use paidonce_core::sms::{Encoding, is_gsm7, measure, normalise};

pub(crate) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let plain = normalise(text);
    assert_eq!(normalise(&plain), plain, "spelled twice is spelled once");
    let (before, after) = (measure(text), measure(&plain));
    let kept = |letter: &char| letter.is_alphanumeric();
    assert!(
        text.chars().filter(kept).count() >= plain.chars().filter(kept).count(),
        "no letter is added"
    );
    if before.encoding == Encoding::Gsm7 {
        assert_eq!(after.encoding, Encoding::Gsm7, "what was plain stays plain");
        assert!(after.parts <= before.parts, "and costs no more");
    }
    assert!(!plain.contains(|letter: char| letter.is_control() && letter != '\n'));
    for (text, size) in [(text, before), (&plain, after)] {
        let all = text.chars().all(is_gsm7);
        assert_eq!(size.encoding == Encoding::Gsm7, all);
        check_parts(text, size.encoding, size.units, size.parts);
    }
    // One letter more never makes it cheaper.
    let longer = measure(&format!("{plain}a"));
    assert!(longer.parts >= after.parts && longer.units == after.units + 1);
}

/// Packs the letters again, from the last one to the first: no packing takes fewer parts than the
/// units need, and a part that is left early has at most one unit free.
fn check_parts(text: &str, encoding: Encoding, units: usize, parts: usize) {
    let (single, each) = match encoding {
        Encoding::Gsm7 => (160, 153),
        Encoding::Ucs2 => (70, 67),
    };
    if encoding == Encoding::Ucs2 {
        assert_eq!(units, text.encode_utf16().count());
    }
    match units <= single {
        true => assert_eq!(parts, 1),
        false => assert!(
            (units.div_ceil(each)..=units.div_ceil(each - 1)).contains(&parts),
            "{units} units in {parts} parts"
        ),
    }
}
