//! The terms of a deposit, in the words that the customer is shown: on the pay page, on the page to
//! manage a booking, and in what is shown to a bank.
//!
//! They come from the booking's own policy, so they say the same for as long as it lives.

use chrono::{DateTime, Utc};

use crate::booking::Booking;
use crate::local_time::human;
use crate::venue::minutes;

/// All of the terms, as one text.
pub fn shown(booking: &Booking) -> String {
    [
        "The deposit counts towards your bill.".to_owned(),
        cancellation(booking),
        "If we have to cancel, you get all of it back.".to_owned(),
        "If the deposit is not paid in time, the booking ends by itself.".to_owned(),
    ]
    .join(" ")
}

/// What becomes of the deposit if the customer cancels or does not come.
pub fn cancellation(booking: &Booking) -> String {
    let zone = booking.place.zone;
    let steps: Vec<String> = refund_steps(booking)
        .into_iter()
        .map(|(until, percent)| {
            let part = match percent {
                100 => "it".to_owned(),
                percent => format!("{percent}% of it"),
            };
            format!("by {} and you get {part} back", human(until, zone))
        })
        .collect();
    match steps.as_slice() {
        [] => "If you cancel or do not come, we keep it.".to_owned(),
        steps => format!(
            "Cancel {}; after that, or if you do not come, we keep it.",
            steps.join(", ")
        ),
    }
}

/// Until when a customer who cancels gets which part back, in percent; only what was still ahead
/// when it was booked.
pub fn refund_steps(booking: &Booking) -> Vec<(DateTime<Utc>, u8)> {
    let starts_at = booking.place.starts_at;
    let policy = &booking.policy;
    let free = (starts_at - minutes(policy.free_cancellation), 100);
    let partial = policy
        .partial_cancellation
        .map(|partial| (starts_at - minutes(partial.until), partial.percent));
    std::iter::once(free)
        .chain(partial)
        .filter(|(until, _)| *until > booking.created_at)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::booking::State;
    use crate::booking::tests::booking;
    use crate::venue::PartialCancellation;

    fn with(free: u32, partial: Option<(u32, u8)>) -> Booking {
        let mut booking = booking(State::Pending);
        booking.policy.free_cancellation = free;
        booking.policy.partial_cancellation =
            partial.map(|(until, percent)| PartialCancellation { until, percent });
        booking
    }

    #[test]
    fn the_terms_say_what_the_policy_does() {
        let end = "after that, or if you do not come, we keep it.";
        assert_eq!(
            cancellation(&with(1440, None)),
            format!("Cancel by Fri 10 Jul 20:00 and you get it back; {end}")
        );
        assert_eq!(
            cancellation(&with(2880, Some((1440, 50)))),
            format!(
                "Cancel by Thu 9 Jul 20:00 and you get it back, by Fri 10 Jul 20:00 and you get 50% of it back; {end}"
            )
        );
    }

    #[test]
    fn what_was_past_when_it_was_booked_is_not_promised() {
        assert_eq!(
            cancellation(&with(43_200, None)),
            "If you cancel or do not come, we keep it."
        );
        assert_eq!(
            cancellation(&with(43_200, Some((60, 25)))),
            "Cancel by Sat 11 Jul 19:00 and you get 25% of it back; after that, or if you do not come, we keep it."
        );
    }
}
