//! The machine in a world that repeats, reorders and loses: whatever comes, an invoice is paid once.
//!
//! The provider here keeps its own books: an invoice, the keys it has seen, and what each charge
//! took. It is judged by those books alone.

use proptest::prelude::*;

use super::*;

/// The provider, as far as money goes.
#[derive(Default)]
struct Books {
    keys: BTreeMap<String, bool>,
    captured: u32,
    charges: u32,
    voided: bool,
}

#[derive(Clone, Copy, Debug)]
enum Happening {
    /// The latest schedule fires; the provider's card declines, works, or its answer is lost.
    Fires {
        works: bool,
        lost: bool,
    },
    /// A schedule of long ago fires.
    FiresStale(u32),
    /// The retrier dies between its claim and the call, or between the call and the outcome.
    FiresAndDies {
        works: bool,
        called: bool,
    },
    CustomerPays,
    Failed,
    Paid,
    NewCard(u8),
    Planned,
    Swept,
    Hours(u8),
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let one = prop_oneof![
        4 => (any::<bool>(), any::<bool>()).prop_map(|(works, lost)| Happening::Fires { works, lost }),
        1 => (0..6_u32).prop_map(Happening::FiresStale),
        2 => (any::<bool>(), any::<bool>()).prop_map(|(works, called)| Happening::FiresAndDies { works, called }),
        1 => Just(Happening::CustomerPays),
        1 => Just(Happening::Failed),
        1 => Just(Happening::Paid),
        1 => (0..3_u8).prop_map(Happening::NewCard),
        4 => Just(Happening::Planned),
        1 => Just(Happening::Swept),
        4 => (1..100_u8).prop_map(Happening::Hours),
    ];
    prop::collection::vec(one, 1..120)
}

struct World {
    row: Dunning,
    books: Books,
    now: DateTime<Utc>,
}

impl Books {
    /// What the provider does with a charge under a key: the first result of a key is kept.
    fn pay(&mut self, key: &str, works: bool) -> Outcome {
        if let Some(result) = self.keys.get(key) {
            return match result {
                true => Outcome::Captured,
                false => Outcome::Declined(Box::new(failure("insufficient_funds"))),
            };
        }
        if self.captured > 0 || self.voided {
            return Outcome::NotOpen(self.sight());
        }
        self.charges += 1;
        self.keys.insert(key.to_owned(), works);
        match works {
            true => {
                self.captured += 1;
                Outcome::Captured
            }
            false => Outcome::Declined(Box::new(failure("insufficient_funds"))),
        }
    }

    fn sight(&self) -> Box<Sight> {
        let status = match (self.captured > 0, self.voided) {
            (true, _) => InvoiceStatus::Paid,
            (false, true) => InvoiceStatus::Void,
            (false, false) => InvoiceStatus::Open,
        };
        let mut seen = sight(status, "insufficient_funds");
        seen.latest_charge = Some(format!("ch_{}", self.charges));
        seen
    }
}

impl World {
    fn new() -> Self {
        Self {
            row: entered(),
            books: Books::default(),
            now: noon(),
        }
    }

    fn take(&mut self, command: Command) -> Option<Act> {
        let to = decide(&self.row, command, self.now).ok()?;
        self.check(&to);
        self.row = to.after;
        Some(to.act)
    }

    fn fire(&mut self, n: u32) -> Option<Attempt> {
        let sight = self.books.sight();
        match self.take(Command::Fire { n, sight })? {
            Act::Pay(attempt) => Some(attempt),
            Act::Nothing => None,
        }
    }

    fn happens(&mut self, what: Happening) {
        let latest = self.row.plan_no;
        match what {
            Happening::Fires { works, lost } => {
                if let Some(attempt) = self.fire(latest) {
                    let truth = self.books.pay(&attempt.key, works);
                    let outcome = if lost { Outcome::Unanswered } else { truth };
                    self.take(Command::Settle {
                        n: attempt.n,
                        outcome,
                    });
                }
            }
            Happening::FiresStale(back) => {
                self.fire(latest.saturating_sub(back));
            }
            Happening::FiresAndDies { works, called } => {
                if let Some(attempt) = self.fire(latest)
                    && called
                {
                    let _ = self.books.pay(&attempt.key, works);
                }
            }
            Happening::CustomerPays if self.books.captured == 0 => {
                self.books.charges += 1;
                self.books.captured += 1;
            }
            Happening::CustomerPays => {}
            Happening::Failed => {
                self.take(failed("in_1"));
            }
            Happening::Paid if self.books.captured > 0 => {
                self.take(ended(Ending::PaidByCustomer));
            }
            Happening::Paid => {}
            Happening::NewCard(which) => {
                self.take(card(&format!("pm_{which}"), false));
            }
            Happening::Planned => {
                self.take(Command::Plan);
            }
            Happening::Swept => {
                self.take(Command::Tend);
            }
            Happening::Hours(hours) => self.now += TimeDelta::hours(i64::from(hours)),
        }
    }

    /// What holds of every step.
    fn check(&self, to: &Transition) {
        let (before, after) = (&self.row, &to.after);
        assert!(after.attempt_no >= before.attempt_no && after.plan_no >= before.plan_no);
        if let Act::Pay(attempt) = &to.act {
            assert_eq!(
                after.attempt.as_ref(),
                Some(attempt),
                "claimed before the call"
            );
            assert_eq!(attempt.key, attempt_key(&attempt.invoice_id, attempt.n));
            let resumes = before.attempt.as_ref().is_some_and(|it| it.n == attempt.n);
            assert!(resumes || before.attempt.is_none(), "one at a time");
            assert!(resumes || attempt.n == before.attempt_no + 1);
            let age = self.now - attempt.claimed_at;
            assert!(age < TimeDelta::hours(23), "an old key was sent");
        }
        if before.attempt.is_some() && after.attempt.is_none() {
            assert!(
                !matches!(to.event, LogEvent::InvoiceUpdated),
                "closed by an outcome only"
            );
        }
    }

    /// Lets everything come true that is due, with a provider that answers again.
    fn comes_to_rest(&mut self) {
        for _ in 0..400 {
            self.take(Command::Plan);
            let Some(plan) = self.row.plan.clone() else {
                let lease = self.row.attempt.as_ref().map(|it| it.lease_until);
                match lease {
                    Some(lease) if self.row.attempt.is_some() => self.now = self.now.max(lease),
                    _ => return,
                }
                continue;
            };
            self.now = self.now.max(plan.at);
            if errand(&self.row, plan.n, self.now).is_ok_and(|it| it.kind == ErrandKind::TooLate) {
                self.take(Command::FiredLate { n: plan.n });
                continue;
            }
            if let Some(attempt) = self.fire(plan.n) {
                let outcome = self.books.pay(&attempt.key, false);
                self.take(Command::Settle {
                    n: attempt.n,
                    outcome,
                });
            }
        }
        panic!("it never came to rest");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn an_invoice_is_paid_once_whatever_happens_and_the_row_learns_of_it(happenings in happenings()) {
        let mut world = World::new();
        for what in happenings {
            world.happens(what);
            prop_assert!(world.books.captured <= 1);
            prop_assert!(world.row.status != Status::Cancelled);
        }
        world.comes_to_rest();
        prop_assert!(world.books.captured <= 1);
        let row = &world.row;
        prop_assert!(row.attempt.is_none(), "every charge is closed by its outcome");
        match world.books.captured {
            0 => prop_assert_eq!(row.access(), Access::Paused),
            _ => {
                prop_assert_eq!(row.status, Status::Recovered);
                prop_assert_eq!(row.access(), Access::Granted);
            }
        }
    }
}
