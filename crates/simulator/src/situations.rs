//! Situations that a life may be devoted to: what people do, and mostly one kind of trouble that strikes
//! often. By chance alone a mistake that needs three things in a row would meet them once in a thousand lives.

mod booking;
mod dunning;

use crate::action::{Action, System};
use crate::dice::Dice;
use crate::kinds::Kind;

/// What a life is devoted to.
pub(crate) struct Situation {
    pub(crate) actions: Vec<Action>,
    /// What goes wrong in it, often; as in any other life if not said.
    pub(crate) kinds: Option<&'static [Kind]>,
    /// The request that the provider gets wrong, where that is the point.
    pub(crate) request: Option<&'static str>,
    /// Two subscriptions of one customer.
    pub(crate) is_shared: bool,
    /// Whether deadlines are long, where that matters.
    pub(crate) is_slow: bool,
}

impl Situation {
    fn new(actions: Vec<Action>) -> Self {
        Self {
            actions,
            kinds: None,
            request: None,
            is_shared: false,
            is_slow: false,
        }
    }

    /// With one of these, or with no trouble at all.
    fn with(mut self, of: &[&'static [Kind]], dice: &mut Dice) -> Self {
        self.kinds = Some(dice.one(of));
        self
    }

    /// Whatever the provider gets wrong is this request.
    fn asking(mut self, request: &'static str) -> Self {
        self.request = Some(request);
        self
    }

    pub(crate) fn rolled(system: System, dice: &mut Dice) -> Self {
        let of = match system {
            System::Booking => booking::SITUATIONS,
            System::Dunning => dunning::SITUATIONS,
        };
        let mut situation = dice.one(of)(dice);
        // Whatever else may happen then.
        if dice.chance(300) {
            situation.actions.push(Action::rolled(system, dice));
        }
        situation
    }
}

type Rolled = fn(&mut Dice) -> Situation;

fn wait(minutes: u32) -> Action {
    Action::Wait { minutes }
}

fn soon(dice: &mut Dice) -> Action {
    wait(dice.one(&[0, 1, 5]))
}
