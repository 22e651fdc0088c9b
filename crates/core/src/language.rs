//! The languages that customers are written to in.

use serde::{Deserialize, Serialize};

/// A language, by its ISO 639 code: `en`, `de`, `fr`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    #[default]
    En,
    De,
    Fr,
}

impl Language {
    pub const ALL: [Self; 3] = [Self::En, Self::De, Self::Fr];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::En => "en",
            Self::De => "de",
            Self::Fr => "fr",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_written_as_its_code() {
        for language in Language::ALL {
            let written = serde_json::to_value(language).unwrap();
            assert_eq!(written, language.as_str());
            assert_eq!(
                serde_json::from_value::<Language>(written).unwrap(),
                language
            );
        }
        assert!(serde_json::from_str::<Language>("\"EN\"").is_err());
    }
}
