//! Which way a message goes: as a text, as a mail, or not at all.
//!
//! A text is what a customer sees at once, so it is the first choice. It must not go to a phone
//! that opted out, and what nobody waits for must not ring in the night; then it goes as a mail if
//! there is an address. What answers a customer's own act is sent at any hour.

use chrono::{DateTime, Utc};
use paidonce_core::booking::{Booking, MessageKind};
use paidonce_core::email::EmailAddress;
use paidonce_core::phone::Phone;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way<'a> {
    Text(&'a Phone),
    /// Why not as a text.
    Mail(&'a EmailAddress, Obstacle),
    None(Obstacle),
}

/// Why a message does not go as a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The customer wants no texts, and told us or the carrier.
    OptedOut,
    /// The person was forgotten.
    NoPhone,
    QuietHours,
    /// The day's texts are spent.
    SpendCap,
    /// The service will not take this text to this number, however often it is asked.
    Refused,
}

impl Obstacle {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::OptedOut => "opted out",
            Self::NoPhone => "no phone",
            Self::QuietHours => "quiet hours",
            Self::SpendCap => "spend cap",
            Self::Refused => "number refused",
        }
    }

    /// Whether it stands in the way of every further text too.
    pub(crate) fn is_lasting(self) -> bool {
        match self {
            Self::OptedOut | Self::NoPhone | Self::Refused => true,
            Self::QuietHours | Self::SpendCap => false,
        }
    }
}

/// What quiet hours do to a message.
#[derive(Clone, Copy)]
enum InQuietHours {
    Text,
    MailOrText,
    MailOrNothing,
}

fn in_quiet_hours(kind: MessageKind) -> InQuietHours {
    match kind {
        // It would wake someone, and be too late to be of use in the morning.
        MessageKind::Reminder => InQuietHours::MailOrNothing,
        // Nobody waits for it, and everybody should know it.
        MessageKind::Released => InQuietHours::MailOrText,
        MessageKind::DepositRequest
        | MessageKind::Confirmation
        | MessageKind::Cancelled
        | MessageKind::Rescheduled
        | MessageKind::PaymentChecked
        | MessageKind::LateRefund
        | MessageKind::SecondRefund => InQuietHours::Text,
    }
}

/// The way of a message as far as the booking and the hour decide it. `was_refused`: a text was
/// tried, and the service will not take it.
pub(crate) fn of(
    kind: MessageKind,
    booking: &Booking,
    was_refused: bool,
    now: DateTime<Utc>,
) -> Way<'_> {
    let Some(phone) = &booking.phone else {
        return around(booking, Obstacle::NoPhone);
    };
    if was_refused {
        return around(booking, Obstacle::Refused);
    }
    if !booking.policy.is_quiet(now, booking.place.zone) {
        return Way::Text(phone);
    }
    match (in_quiet_hours(kind), around(booking, Obstacle::QuietHours)) {
        (InQuietHours::Text, _) | (InQuietHours::MailOrText, Way::None(_) | Way::Text(_)) => {
            Way::Text(phone)
        }
        (InQuietHours::MailOrText | InQuietHours::MailOrNothing, way) => way,
    }
}

/// The way around an obstacle.
pub(crate) fn around(booking: &Booking, obstacle: Obstacle) -> Way<'_> {
    match &booking.email {
        Some(email) => Way::Mail(email, obstacle),
        None => Way::None(obstacle),
    }
}
