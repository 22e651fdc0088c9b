//! Phones as people write them: a region of two letters, then the text.

use paidonce_core::phone::{PHONE_TEXT_MAX, Phone, PhoneError};

pub(crate) fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    let Some((region, text)) = text.split_at_checked(2) else {
        return;
    };
    let phone = match Phone::parse(text, region) {
        Ok(phone) => phone,
        Err(error) => {
            assert_eq!(
                error == PhoneError::UnknownRegion,
                !paidonce_core::phone::is_region(region)
            );
            return;
        }
    };
    let e164 = phone.e164();
    assert!(text.trim().chars().count() <= PHONE_TEXT_MAX);
    // A key is its own spelling, wherever it is read.
    for region in [region, "GB", "US", "DE"] {
        assert_eq!(Phone::parse(e164, region).as_ref(), Ok(&phone), "{region}");
    }
    // Its row can be read back, and a number that gets a text has a country.
    assert_eq!(Phone::try_from(e164.to_owned()), Ok(phone.clone()));
    let json = serde_json::to_string(&phone).expect("a phone is a text");
    assert_eq!(
        serde_json::from_str::<Phone>(&json).ok(),
        Some(phone.clone())
    );
    let country = phone.country();
    assert!(
        country.is_some_and(|it| it.len() == 2),
        "{e164} is of no country"
    );
    // Nobody sees it whole.
    let shown = format!("{phone} {phone:?}");
    assert!(!shown.contains(&e164[3..e164.len() - 2]), "{shown}");
}
