//! What must hold in every state, and what must be among them.

use stateright::Property;

use super::{
    Event, Hold, ON_PAGE, Order, PAGE_ENDS, Page, Payment, RealPage, RefundRow, Run, STRAY, State,
    Town, Who,
};

pub const LIVE_BOOKING_HOLDS: &str = "a live booking holds its slot, so no two hold one";
pub const SLOT_IS_OF_A_LIVE_BOOKING: &str = "a held slot is a live booking's";
pub const NO_PAGE_BEHIND_A_SALE: &str = "no page takes money for a slot that is on sale";
pub const ONE_DEPOSIT: &str = "a booking keeps one payment at most";
pub const PAID_STAYS_CONFIRMED: &str = "whoever's deposit is kept has the booking";
pub const GIVEN_BACK_ONCE: &str = "no payment goes back twice";
pub const KEPT_OR_GIVEN_BACK: &str = "no payment is both kept and given back";
pub const MONEY_IS_ACCOUNTED_FOR: &str = "in the end all money is kept, given back or in a case";
pub const NOTHING_UNPAID_IS_HELD: &str = "in the end no slot is held unpaid";

pub(super) fn promises() -> Vec<Property<Hold>> {
    vec![
        Property::always(LIVE_BOOKING_HOLDS, |_, town: &Town| {
            let holds = |who| !town.state(who).is_live() || town.slot == Some(who);
            holds(Who::First) && holds(Who::Next)
        }),
        Property::always(SLOT_IS_OF_A_LIVE_BOOKING, |_, town: &Town| {
            town.slot.is_none_or(|who| town.state(who).is_live())
        }),
        Property::always(NO_PAGE_BEHIND_A_SALE, |_, town: &Town| {
            let takes_money = town.page == RealPage::Open && town.page_shown;
            !(takes_money && town.first.state == State::Released)
        }),
        Property::always(ONE_DEPOSIT, |_, town: &Town| {
            !(town.payments[ON_PAGE].counted && town.payments[STRAY].counted)
        }),
        Property::always(PAID_STAYS_CONFIRMED, |_, town: &Town| {
            let is_kept = town.payments.iter().any(|it| it.counted);
            !is_kept || town.first.state == State::Confirmed
        }),
        Property::always(GIVEN_BACK_ONCE, |_, town: &Town| {
            town.payments.iter().all(|it| it.refund.made <= 1)
        }),
        Property::always(KEPT_OR_GIVEN_BACK, |_, town: &Town| {
            let both = |it: &Payment| it.counted && it.refund.order != Order::None;
            !town.payments.iter().any(both)
        }),
        Property::always(MONEY_IS_ACCOUNTED_FOR, |model: &Hold, town: &Town| {
            !model.is_at_rest(town) || town.payments.iter().all(Payment::is_settled)
        }),
        Property::always(NOTHING_UNPAID_IS_HELD, |model: &Hold, town: &Town| {
            !model.is_at_rest(town) || town.first.state != State::Pending
        }),
    ]
}

/// What must be among the states, or the promises are about nothing.
pub(super) fn sights() -> Vec<Property<Hold>> {
    vec![
        Property::sometimes("paid on the page", |_, town: &Town| {
            town.payments[ON_PAGE].counted
        }),
        Property::sometimes("late money holds the slot again", |_, town: &Town| {
            town.first.was_released && town.first.state == State::Confirmed
        }),
        Property::sometimes(
            "late money goes back since the slot is sold",
            |_, town: &Town| {
                let back = town.payments[ON_PAGE].refund.made == 1;
                back && town.first.state == State::Released && town.next == State::Pending
            },
        ),
        Property::sometimes("a second payment goes back", |_, town: &Town| {
            town.first.state == State::Confirmed
                && town.payments.iter().any(|it| it.refund.made == 1)
        }),
        Property::sometimes(
            "a page is closed before its slot is sold",
            |_, town: &Town| {
                let closed = town.page == RealPage::Expired && town.first.page == Page::Closed;
                closed && town.hour < PAGE_ENDS && town.slot == Some(Who::Next)
            },
        ),
        Property::sometimes(
            "the customer is faster than the closing",
            |_, town: &Town| town.first.awaits_funds && town.first.state == State::Pending,
        ),
        Property::sometimes(
            "money whose event is lost is a case",
            |model: &Hold, town: &Town| {
                let payment = &town.payments[ON_PAGE];
                payment.event == Event::Lost && payment.in_case && model.is_at_rest(town)
            },
        ),
        Property::sometimes(
            "a refund without an answer is looked up and found",
            |_, town: &Town| {
                let refund = &town.payments[STRAY].refund;
                refund.runs.contains(&Run::Look) && refund.made == 1
            },
        ),
        Property::sometimes(
            "a refund's key is forgotten before it is noted",
            |_, town: &Town| {
                let refund = &town.payments[STRAY].refund;
                refund.made == 1 && !refund.key_known && refund.row == RefundRow::Asked
            },
        ),
    ]
}
