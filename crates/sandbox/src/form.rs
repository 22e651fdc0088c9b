//! Form bodies and queries with nested names: `line_items[0][price_data][currency]=gbp`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::error::ApiError;

const METADATA_KEYS_MAX: usize = 50;
const METADATA_KEY_LENGTH_MAX: usize = 40;
const METADATA_VALUE_LENGTH_MAX: usize = 500;

/// Decoded parameters by their full name; the last of several wins.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Form(BTreeMap<String, String>);

impl Form {
    pub(crate) fn parse(encoded: &[u8]) -> Self {
        let mut form = BTreeMap::new();
        for (index, (name, value)) in form_urlencoded::parse(encoded).into_owned().enumerate() {
            // `expand[]` is one more item of the list: any number tells it from the others.
            let name = match name.strip_suffix("[]") {
                Some(list) => format!("{list}[{index}]"),
                None => name,
            };
            form.insert(name, value);
        }
        Self(form)
    }

    /// Returns the parameter if it is there, also if it is empty.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Takes the parameter out, unless it is absent or empty.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name).filter(|text| !text.is_empty())
    }

    /// Gives the parameter a value unless it has one.
    pub(crate) fn fill_in(&mut self, name: &str, value: String) {
        if self.text(name).is_none() {
            self.0.insert(name.to_owned(), value);
        }
    }

    /// Takes all items of the list `name[0]`, `name[1]`, … out.
    pub(crate) fn take_list(&mut self, name: &str) -> Vec<String> {
        let is_item = |full_name: &&String| within(full_name, name).is_some();
        let names: Vec<String> = self.0.keys().filter(is_item).cloned().collect();
        names.iter().filter_map(|name| self.take(name)).collect()
    }

    /// Returns the parameter, unless it is absent or empty.
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        let text = self.0.get(name).map(String::as_str);
        text.filter(|text| !text.is_empty())
    }

    pub(crate) fn required(&self, name: &str) -> Result<&str, ApiError> {
        self.text(name).ok_or_else(|| ApiError::missing(name))
    }

    pub(crate) fn integer(&self, name: &str) -> Result<Option<i64>, ApiError> {
        let parse = |text: &str| {
            text.parse().map_err(|_| {
                ApiError::invalid(format!("Invalid integer: {text}"))
                    .param(name)
                    .code("parameter_invalid_integer")
            })
        };
        self.text(name).map(parse).transpose()
    }

    /// Returns the text if it is one of `choices`.
    pub(crate) fn choice(&self, name: &str, choices: &[&str]) -> Result<Option<&str>, ApiError> {
        match self.text(name) {
            Some(text) if !choices.contains(&text) => {
                let message = format!("Invalid {name}: must be one of {}", choices.join(", "));
                Err(ApiError::invalid(message).param(name))
            }
            text => Ok(text),
        }
    }

    /// Returns `name[key]` by key, within the provider's limits on metadata.
    pub(crate) fn metadata(&self, name: &str) -> Result<BTreeMap<String, String>, ApiError> {
        let mut metadata = BTreeMap::new();
        for (full_name, value) in &self.0 {
            let Some(key) = within(full_name, name) else {
                continue;
            };
            if key.chars().count() > METADATA_KEY_LENGTH_MAX {
                let message = "Metadata keys can be up to 40 characters long.";
                return Err(ApiError::invalid(message).param(name));
            }
            if value.chars().count() > METADATA_VALUE_LENGTH_MAX {
                let message = format!("Metadata values must have up to 500 characters: '{key}'.");
                return Err(ApiError::invalid(message).param(full_name.as_str()));
            }
            metadata.insert(key.to_owned(), value.clone());
        }
        if metadata.len() > METADATA_KEYS_MAX {
            let message = "You can have up to 50 metadata keys.";
            return Err(ApiError::invalid(message).param(name));
        }
        Ok(metadata)
    }

    /// Returns how many items `name[0]`, `name[1]`, … there are.
    pub(crate) fn items(&self, name: &str) -> usize {
        let has = |index: &usize| {
            let item = format!("{name}[{index}]");
            let starts = |full: &String| {
                let rest = full.strip_prefix(&item);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
            };
            self.0.keys().any(starts)
        };
        (0..self.0.len()).take_while(has).count()
    }

    /// Refuses what is not in `known`. There, `#` stands for an index and `*` for any last key.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), ApiError> {
        let unknown = |name: &&String| {
            let shape = shape(name);
            let open = shape.rsplit_once('[').map(|(stem, _)| format!("{stem}[*]"));
            !known.contains(&shape.as_str())
                && !open.is_some_and(|open| known.contains(&open.as_str()))
        };
        match self.0.keys().find(unknown) {
            None => Ok(()),
            Some(name) => Err(
                ApiError::invalid(format!("Received unknown parameter: {name}"))
                    .param(name.as_str())
                    .code("parameter_unknown"),
            ),
        }
    }

    /// Returns what stands for all parameters of a request: equal only if they are.
    pub(crate) fn fingerprint(&self, method: &str, path: &str) -> String {
        let text = format!("{method} {path} {:?}", self.0);
        hex::encode(Sha256::digest(text))
    }
}

/// Returns `key` of `name[key]`.
fn within<'a>(full_name: &'a str, name: &str) -> Option<&'a str> {
    let rest = full_name.strip_prefix(name)?;
    rest.strip_prefix('[')?.strip_suffix(']')
}

fn shape(name: &str) -> String {
    let part = |part: &str| match part.strip_suffix(']') {
        Some(index) if !index.is_empty() && index.bytes().all(|b| b.is_ascii_digit()) => {
            "#]".into()
        }
        Some(_) | None => part.to_owned(),
    };
    name.split('[').map(part).collect::<Vec<_>>().join("[")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_names_are_read_by_their_full_name() {
        let form = Form::parse(b"a[0][b]=1&a[1][b]=x%20y&metadata[k]=v&empty=");
        assert_eq!(form.items("a"), 2);
        assert_eq!(form.text("a[1][b]"), Some("x y"));
        assert_eq!(form.metadata("metadata").unwrap()["k"], "v");
        assert_eq!(form.text("empty"), None);
    }

    #[test]
    fn a_name_that_nobody_knows_is_refused_by_name() {
        let known = ["mode", "a[#][b]", "metadata[*]"];
        assert!(
            Form::parse(b"mode=x&a[12][b]=1&metadata[0]=2")
                .only(&known)
                .is_ok()
        );
        let error = Form::parse(b"a[0][c]=1").only(&known).unwrap_err();
        assert_eq!(error.param.as_deref(), Some("a[0][c]"));
    }

    #[test]
    fn order_does_not_change_a_fingerprint_but_a_value_does() {
        let print = |text: &[u8]| Form::parse(text).fingerprint("POST", "/v1/refunds");
        assert_eq!(print(b"a=1&b=2"), print(b"b=2&a=1"));
        assert_ne!(print(b"a=1&b=2"), print(b"a=1&b=3"));
    }
}
