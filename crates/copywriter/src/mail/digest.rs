//! The daily mail to the team: what still waits for a person.

use minijinja::context;

use super::{DIGEST, Mail, TEMPLATES, one_line};

/// Open cases of one reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DigestGroup {
    /// A short code such as `late_payment`.
    pub reason: String,
    /// What that means, in a sentence.
    pub what: String,
    /// How many are open, also those that are not listed.
    pub count: usize,
    /// One for each case that is listed, oldest first.
    pub lines: Vec<String>,
}

/// What a digest tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DigestFacts {
    /// Such as `2026-07-09`.
    pub day: String,
    /// Bookings on which nobody marked whether the customer came, oldest first.
    pub attendance: Vec<String>,
    /// How many there are, also those that are not listed.
    pub attendance_count: usize,
    pub groups: Vec<DigestGroup>,
}

impl DigestFacts {
    /// How many cases are open in all.
    pub fn open(&self) -> usize {
        let grouped: usize = self.groups.iter().map(|group| group.count).sum();
        grouped + self.attendance_count
    }

    fn listed(&self) -> usize {
        let grouped: usize = self.groups.iter().map(|group| group.lines.len()).sum();
        grouped + self.attendance.len()
    }
}

/// Returns the digest. No value can make a line of its own.
pub fn digest_mail(facts: &DigestFacts) -> Mail {
    let open = facts.open();
    let summary = match open {
        1 => "One case is open and needs a person.".to_owned(),
        _ => format!("{open} cases are open and need a person."),
    };
    let clean =
        |lines: &[String]| -> Vec<String> { lines.iter().map(|line| one_line(line)).collect() };
    let groups: Vec<_> = facts
        .groups
        .iter()
        .map(|group| {
            context! {
                reason => one_line(&group.reason),
                what => one_line(&group.what),
                count => group.count,
                lines => clean(&group.lines),
            }
        })
        .collect();
    let text = TEMPLATES
        .get_template(DIGEST)
        .and_then(|template| {
            template.render(context! {
                summary,
                attendance => clean(&facts.attendance),
                groups,
                left_out => open.saturating_sub(facts.listed()),
            })
        })
        .expect("the template is compiled in, and a test renders it");
    Mail {
        subject: one_line(&format!("Open cases on {}: {open}", facts.day)),
        text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn group(reason: &str, count: usize, lines: &[&str]) -> DigestGroup {
        DigestGroup {
            reason: reason.into(),
            what: "Something happened.".into(),
            count,
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        }
    }

    #[test]
    fn a_digest_lists_what_waits() {
        let facts = DigestFacts {
            day: "2026-07-09".into(),
            attendance: vec!["bkg_1, open for 2 days: table-4 on Sat 11 Jul 20:00".into()],
            attendance_count: 1,
            groups: vec![
                group("late_payment", 3, &["bkg_2, open for 3 days"]),
                group("disputed", 1, &["bkg_3, open for 5 hours\nBcc: eve"]),
            ],
        };
        let mail = digest_mail(&facts);
        assert_eq!(mail.subject, "Open cases on 2026-07-09: 5");
        expect![[r#"
            5 cases are open and need a person.

            Whether the customer came was not marked
            - bkg_1, open for 2 days: table-4 on Sat 11 Jul 20:00

            late_payment (3): Something happened.
            - bkg_2, open for 3 days

            disputed (1): Something happened.
            - bkg_3, open for 5 hours Bcc: eve

            (2 more are not listed)

            Close a case once it is done: until then it stands here every day.
        "#]]
        .assert_eq(&mail.text);
    }

    #[test]
    fn a_digest_of_one_case_is_short() {
        let facts = DigestFacts {
            day: "2026-07-09".into(),
            groups: vec![group("refund_failed", 1, &["bkg_1, open for 1 day"])],
            ..DigestFacts::default()
        };
        expect![[r#"
            One case is open and needs a person.

            refund_failed (1): Something happened.
            - bkg_1, open for 1 day

            Close a case once it is done: until then it stands here every day.
        "#]]
        .assert_eq(&digest_mail(&facts).text);
    }
}
