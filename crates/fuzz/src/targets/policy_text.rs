//! What every complaint about a policy must be.

/// The longest complaint, in bytes, beside a name that stands in the text itself.
const COMPLAINT_BYTES_MAX: usize = 600;
const COMPLAINTS_BYTES_MAX: usize = 64 * 1024;

/// A complaint is one line that says where, and is not longer than somebody reads.
pub(crate) fn check_complaints(text: &str, complaints: &[String]) {
    assert!(!complaints.is_empty(), "refused without a word");
    let bytes: usize = complaints.iter().map(String::len).sum();
    assert!(
        bytes <= COMPLAINTS_BYTES_MAX.max(text.len() * 16),
        "{bytes} bytes of complaints"
    );
    for complaint in complaints {
        assert!(
            complaint.contains(": ") || complaint.contains(" at line "),
            "it does not say where: {complaint}"
        );
        assert!(
            complaint.len() <= COMPLAINT_BYTES_MAX + text.len(),
            "{complaint}"
        );
    }
}
