//! One spelling for equal JSON, so that two requests can be compared by a hash.

use serde_json::{Number, Value};
use sha2::{Digest as _, Sha256};

/// Every whole number below this is a double, so turning one into an integer loses nothing.
const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;

/// The largest double of fifteen digits: the next one is beyond the largest of all.
const LARGEST: f64 = 1.79769313486231e308;

/// Returns `value` with sorted keys, no blanks, and whole numbers without a fraction.
///
/// So `{"b": 1.0, "a": 2e2}` is `{"a":200,"b":1}`. Of a number with a fraction or an exponent fifteen
/// digits count. The order of an array is kept: it means something. Nothing is said about a key that stood twice in the text; the reader of the text
/// must have refused it, or taken the last one.
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write(value, &mut text);
    text
}

/// Returns the SHA-256 of [`canonical`] as 64 lower-case hex digits.
pub fn hash(value: &Value) -> String {
    hex::encode(Sha256::digest(canonical(value)))
}

fn write(value: &Value, text: &mut String) {
    match value {
        Value::Null | Value::Bool(_) | Value::String(_) => text.push_str(&value.to_string()),
        Value::Number(number) => text.push_str(&spell(number)),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                separate(index, text);
                write(item, text);
            }
            text.push(']');
        }
        Value::Object(fields) => {
            // Sorted here: whether serde_json keeps them sorted depends on another crate's features.
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(key, _)| key.as_str());
            text.push('{');
            for (index, (key, field)) in fields.into_iter().enumerate() {
                separate(index, text);
                text.push_str(&Value::from(key.as_str()).to_string());
                text.push(':');
                write(field, text);
            }
            text.push('}');
        }
    }
}

fn separate(index: usize, text: &mut String) {
    if index > 0 {
        text.push(',');
    }
}

fn spell(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else {
        return number.to_string();
    };
    let float = fifteen_digits(float);
    match float.fract() == 0.0 && float.abs() < EXACT_BELOW {
        // Adding zero turns minus zero into zero.
        true => format!("{:.0}", float + 0.0),
        false => Value::from(float).to_string(),
    }
}

/// The double nearest to the first fifteen digits: so many survive a reader that misses the double
/// nearest to what is written by one or two, as that of JSON may, from the 16 digits of a whole one
/// as well. Doubles that are too small to have fifteen digits are zero.
fn fifteen_digits(float: f64) -> f64 {
    if !float.is_normal() {
        return 0.0;
    }
    let cut = format!("{float:.14e}").parse().unwrap_or(float);
    cut.clamp(-LARGEST, LARGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn respell(text: &str) -> String {
        canonical(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn equal_requests_have_one_spelling() {
        let spelling =
            r#"{"a":[1,{"x":null,"y":true}],"b":"caf\u00e9 \"q\""}"#.replace("\\u00e9", "é");
        for text in [
            r#"{"a":[1,{"x":null,"y":true}],"b":"caf\u00e9 \"q\""}"#,
            "{ \"b\" : \"café \\\"q\\\"\",\n\t\"a\":[1.0, {\"y\":true,\"x\":null}] }",
            r#"{"b":"\u0063afé \"q\"","a":[1e0,{"y":true,"x":null}]}"#,
        ] {
            assert_eq!(respell(text), spelling);
        }
        assert_eq!(respell("[1.0,-0.0,2e2,0.10,-5.0]"), "[1,0,200,0.1,-5]");
        assert_eq!(
            respell("[9007199254740993,18446744073709551615]"),
            "[9007199254740993,18446744073709551615]"
        );
    }

    #[test]
    fn a_double_that_its_reader_misses_has_one_spelling() {
        for (text, spelling) in [
            ("18446744073910678000", "1.84467440739107e+19"),
            ("88888888888888.0223", "88888888888888"),
            ("8888888888888180.11", "8888888888888180"),
            ("8888888888888180.0", "8888888888888180"),
            ("9007199254740991.0", "9007199254740990"),
            ("0.30000000000000004", "0.3"),
            ("-1.7976931348623157e308", "-1.79769313486231e+308"),
            ("4.0238564154863e-310", "0"),
            ("-5e-324", "0"),
        ] {
            assert_eq!(respell(text), spelling, "{text}");
            assert_eq!(respell(spelling), spelling);
        }
    }

    #[test]
    fn different_requests_have_different_hashes() {
        let texts = [
            "{}",
            "[]",
            "null",
            "0",
            "\"0\"",
            "[[]]",
            "[1,2]",
            "[2,1]",
            "[12]",
            "{\"a\":1}",
            "{\"a\":1.5}",
            "{\"a\":\"1\"}",
            "{\"a\":null}",
            "{\"A\":1}",
            "{\"a\":1,\"b\":1}",
        ];
        let hashes: std::collections::BTreeSet<_> = texts
            .iter()
            .map(|text| hash(&serde_json::from_str(text).unwrap()))
            .collect();
        assert_eq!(hashes.len(), texts.len());
    }

    #[test]
    fn the_hash_is_sha_256_in_hex() {
        assert_eq!(
            hash(&Value::Object(serde_json::Map::new())),
            "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
        );
    }

    proptest! {
        #[test]
        fn a_canonical_text_is_its_own_canonical_text(
            keys in proptest::collection::vec("\\PC{0,6}", 0..6),
            thousandths: i32,
            whole: i64,
        ) {
            let float = f64::from(thousandths) / 1000.0;
            let fields = keys
                .into_iter()
                .map(|key| (key.clone(), serde_json::json!([key, float, whole])))
                .collect();
            let once = canonical(&Value::Object(fields));
            prop_assert_eq!(respell(&once), once);
        }
    }
}
