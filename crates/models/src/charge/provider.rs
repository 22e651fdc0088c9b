//! The provider: what it knows of each key, and what it took.

use super::{KEYS, Outcome, Step};

/// What the provider knows of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    Unknown,
    /// A request is held: it will be made, whoever still waits for it.
    Running,
    Captured,
    Declined,
    /// A failure of the provider's own, which it repeats.
    Failed,
    Forgotten,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Provider {
    pub is_paid: bool,
    /// Whether what it holds came in by a later call than the claim's first.
    pub holds_repeat: bool,
    /// By the number of the attempt.
    pub keys: [Key; KEYS],
    pub captured: [bool; KEYS],
    /// How often the bank was asked under each key.
    pub bank_asked: [u8; KEYS],
    /// How many charges there were: stands for the latest one's id.
    pub charges: u8,
}

impl Provider {
    pub(super) fn new() -> Self {
        Self {
            is_paid: false,
            holds_repeat: false,
            keys: [Key::Unknown; KEYS],
            captured: [false; KEYS],
            bank_asked: [0; KEYS],
            charges: 0,
        }
    }

    pub(super) fn captures(&self) -> usize {
        self.captured.iter().filter(|it| **it).count()
    }

    pub(super) fn is_charging(&self) -> bool {
        self.keys.contains(&Key::Running)
    }

    pub(super) fn steps(&self, steps: &mut Vec<Step>) {
        let keys = self.keys.iter().enumerate();
        for (key, _) in keys.filter(|(_, key)| **key == Key::Running) {
            for is_captured in [true, false] {
                steps.push(Step::Make { key, is_captured });
            }
        }
    }

    /// A request comes in, the first of its claim or a later one. `None`: its answer is still to come.
    pub(super) fn take_in(&mut self, key: usize, is_repeat: bool) -> Option<Outcome> {
        match self.keys[key] {
            Key::Unknown | Key::Forgotten if self.is_paid => Some(Outcome::NotOpen),
            Key::Unknown | Key::Forgotten => {
                self.keys[key] = Key::Running;
                self.holds_repeat = is_repeat;
                None
            }
            // Another call under this key is running: that is no answer.
            Key::Running => Some(Outcome::Unanswered),
            Key::Captured | Key::Declined | Key::Failed => self.answer(key),
        }
    }

    pub(super) fn answer(&self, key: usize) -> Option<Outcome> {
        match self.keys[key] {
            Key::Unknown | Key::Running => None,
            Key::Captured => Some(Outcome::Captured),
            Key::Declined => Some(Outcome::Declined),
            Key::Failed | Key::Forgotten => Some(Outcome::Unanswered),
        }
    }

    pub(super) fn make(&mut self, key: usize, is_captured: bool) {
        self.bank_asked[key] += 1;
        self.charges += 1;
        self.keys[key] = if is_captured {
            Key::Captured
        } else {
            Key::Declined
        };
        self.captured[key] |= is_captured;
        self.is_paid |= is_captured;
        self.holds_repeat = false;
    }

    pub(super) fn fail(&mut self, key: usize) {
        self.keys[key] = Key::Failed;
        self.holds_repeat = false;
    }

    pub(super) fn forget(&mut self, key: usize) {
        if self.keys[key] != Key::Unknown {
            self.keys[key] = Key::Forgotten;
        }
    }
}
