//! What can be wrong on purpose: each defect's name, the kind of fault that it is one of, what is
//! wrong, and the promise that the outside sees broken.

macro_rules! defects {
    ($($defect:ident $name:literal [$($bug:literal)?] $what:literal, $breaks:literal;)*) => {
        /// What can be wrong on purpose, one at a time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Defect {
            $(
                #[doc = concat!("`", $name, "`: ", $what, ". Breaks: ", $breaks, ".")]
                $defect,
            )*
        }

        impl Defect {
            pub const ALL: &'static [Self] = &[$(Self::$defect),*];

            /// Its name on a command line.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$defect => $name,)*
                }
            }

            /// What is wrong.
            pub fn what(self) -> &'static str {
                match self {
                    $(Self::$defect => $what,)*
                }
            }

            /// The promise that it breaks, as the outside would see it.
            pub fn breaks(self) -> &'static str {
                match self {
                    $(Self::$defect => $breaks,)*
                }
            }

            /// The kind of fault that it is one of, where the tests have a name for it: `B02` is what
            /// tests named `bug_b02_…` are about.
            pub fn bug(self) -> Option<&'static str> {
                let bugs: &[&'static str] = match self {
                    $(Self::$defect => &[$($bug)?],)*
                };
                bugs.first().copied()
            }

            pub fn named(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|it| it.name() == name)
            }
        }
    };
}

defects! {
    // Writing, whoever writes.
    EventBeforeWork "event-before-work" ["B02"]
        "an event is noted as seen in a write of its own, before what it does is written",
        "what an event says is carried out, though the function dies half-way and it comes again";
    LastWriteWins "last-write-wins" ["B04"]
        "a change of a row does not ask whether the row is still the one that was decided on",
        "of two that decide at once on one row, the second decides again on what the first left";
    ContentionIsRefusal "contention-is-refusal" ["G03"]
        "a transaction that was cancelled for contention counts as one whose condition did not hold",
        "nobody is told that a slot is taken, or an event known, because two wrote at once";

    // The outbox and its relay.
    FailedEntriesIgnored "failed-entries-ignored" ["G05"]
        "a batch that the queue answered with 200 counts as taken, with the entries that failed",
        "every consequence of a step that was written reaches its queue";
    MarkedBeforeSent "marked-before-sent" ["G21"]
        "an event is marked as published before it is sent, and then left to whoever marked it",
        "every consequence of a step that was written reaches its queue";
    OwnWriteUnknown "own-write-unknown" ["G02"]
        "a mark whose first answer was lost finds itself there, and counts as failed",
        "what was done is not tried until it ends among the dead letters";
    NoOutboxSweep "no-outbox-sweep" ["G21"]
        "the sweep of the outbox sends nothing",
        "what the stream missed leaves within minutes";

    // Finding due work.
    IndexIsTruth "index-is-truth" ["G10"]
        "a reminded booking that the index shows as due is released as if its row said so",
        "a hold ends at its deadline and not before, and never after its deposit came";
    FirstPageOnly "first-page-only" []
        "a sweep takes one row of each partition, and does not ask for the next page",
        "what is due is done by the next sweep, however much is due before it";
    SweepStopsAtBadRow "sweep-stops-at-bad-row" []
        "a sweep ends at the first row that it can't handle",
        "one bad row stops none behind it";

    // Slots.
    FreesUnasked "frees-unasked" ["C04"]
        "slots are deleted in a write of its own before the booking moves, whosever they are by now",
        "a live booking has its slots, and no slot has two live bookings";
    RepeatBooksTwice "repeat-books-twice" ["I02"]
        "a request that comes again is another request",
        "the same order twice is one booking and the same answer";
    HoldByWallClock "hold-by-wall-clock" ["C05"]
        "a hold's hours are counted on the wall, so the night that changes the clocks adds or takes one",
        "a hold lasts as many hours as the policy says";
    PageLeftOpen "page-left-open" ["C02"]
        "a release does not close the payment page first",
        "whoever paid before the release keeps the slot, also where the event is late";
    PageTimeoutClosed "page-timeout-closed" ["D14"]
        "a page whose closing was not answered counts as closed",
        "whoever paid before the release keeps the slot, also where the event is late";

    // A deposit comes.
    SessionKeyPerTry "session-key-per-try" ["D13"]
        "each try to open a payment page has a key of its own",
        "a booking has one page at a time on which it can be paid";
    CompletedIsPaid "completed-is-paid" ["B07"]
        "a session that is complete counts as paid, also where the money takes days",
        "a booking is confirmed by money that came";
    AmountNotCompared "amount-not-compared" ["B08"]
        "any payment counts as the deposit, whatever its amount",
        "a booking is confirmed by its whole deposit";
    PaidOnArrival "paid-on-arrival" ["C02"]
        "whether late money was paid in time is judged by when its event arrives",
        "who paid in time is confirmed while the slot is free, however late the event";
    LatePaymentDropped "late-payment-dropped" ["C02"]
        "money for a booking that was released changes nothing",
        "all money confirms, goes back, or is a person's case";
    SecondPaymentKept "second-payment-kept" []
        "a second payment of one booking changes nothing",
        "all money confirms, goes back, or is a person's case";
    UnmarkedForfeited "unmarked-forfeited" []
        "a deposit is forfeited where nobody marked whether the customer came",
        "a forfeit has a mark or a rule behind it: else the team is asked";
    PreviousSecretRefused "previous-secret-refused" ["A07"]
        "only the current signing secret counts while secrets are rolled",
        "a genuine event is taken at its first delivery, all through a rotation";

    // Money goes back.
    RefundKeyPerTry "refund-key-per-try" ["D13"]
        "each try to make a refund has a key of its own",
        "an order of a refund moves money once";
    RefundTimeoutRefused "refund-timeout-refused" ["D14"]
        "a refund without an answer counts as refused",
        "a refund that is owed is made, and the team is told of no failure that was none";
    RefundResentUnlooked "refund-resent-unlooked" ["D12"]
        "a refund without an answer is asked for again without looking for it first",
        "an order of a refund moves money once, also after the provider forgot the key";
    ServerErrorRefused "server-error-refused" ["D14"]
        "the provider's own failure counts as its refusal",
        "what the provider did in spite of its 500 is found out";
    RefundCountedTwice "refund-counted-twice" ["B12"]
        "a refund that others made counts once for each event about it",
        "what is here of a deposit is what the provider says";
    RefundRoomUnread "refund-room-unread" ["D03"]
        "a refund is ordered and asked for without a look at what is left of the payment",
        "no more is asked of the provider than came";
    StaffRefundTwice "staff-refund-twice" ["D04"]
        "the key of a refund by the staff counts the orders before it",
        "the same order twice is one refund";

    // Texts.
    OptoutCheckedEarly "optout-checked-early" []
        "whether a phone wants no texts is asked for the first text alone",
        "no text goes to a phone after its STOP";
    StopIgnored "stop-ignored" []
        "a STOP is not heard",
        "no text goes to a phone after its STOP";
    ClaimedAfterSend "claimed-after-send" []
        "a text is noted after it was sent, and not before",
        "a text goes out at most once for each booking and occasion";
    RemindedAgain "reminded-again" []
        "a booking that is moved to an earlier time is reminded a second time",
        "a booking is reminded once";

    // A failed invoice is charged.
    ChargeKeyPerTry "charge-key-per-try" ["D13"]
        "each try of one charge has a key of its own",
        "a claim charges the card once";
    ChargeKeyOfTheInvoice "charge-key-of-the-invoice" ["D11"]
        "all charges of an invoice have the first one's key",
        "a date of the calendar charges the card anew, and a new card is charged";
    ChargeTimeoutDeclined "charge-timeout-declined" ["D14"]
        "a charge without an answer counts as declined",
        "who paid is not told that the charge failed, and keeps access";
    StaleFiringCharges "stale-firing-charges" ["F07"]
        "a schedule of an older plan carries out the plan that stands, at once",
        "a card is charged on the dates of the calendar alone";
    LateFiringCharges "late-firing-charges" ["F07"]
        "a schedule that fires late charges at whatever hour",
        "a card is charged in the hours of business";
    PaidChargedAgain "paid-charged-again" ["F01"]
        "an invoice that is paid, void or given up is charged when its date comes",
        "nobody asks for money for an invoice that is over";
    CancelledCharged "cancelled-charged" []
        "whether the subscription has ended is not looked at before a charge",
        "who has left is not charged";
    HardDeclineRetried "hard-decline-retried" ["F05"]
        "a card that must not be charged again is charged on the next date",
        "after a hard decline a card is left alone";
    LostScheduleStays "lost-schedule-stays" []
        "the sweep leaves a plan alone whose schedule never fired",
        "an invoice gets all its dates, also where a schedule is lost";
    ScheduleLeft "schedule-left" []
        "schedules that are no longer wanted are not deleted",
        "no schedule outlives its plan";

    // What follows for the customer.
    OldFailureReopens "old-failure-reopens" ["B01"]
        "a failure that is reported after the invoice was paid opens it again",
        "any order of events ends in the same state, and nobody gets two receipts";
    CutAtFirstDecline "cut-at-first-decline" ["F03"]
        "the first declined charge pauses access",
        "access stays until every date is used up";
    PauseNotLifted "pause-not-lifted" ["F03"]
        "the app hears what was last written about access, whatever was paid since",
        "access is back as soon as the invoice is paid, by whomever";
    OvertakenMailSent "overtaken-mail-sent" []
        "a mail that was ordered goes out, whatever happened since",
        "nobody is asked for money that came";
    TwoMailsADay "two-mails-a-day" []
        "a customer gets a mail for each subscription",
        "a customer gets one mail a day that asks for money";
    SuppressionIgnored "suppression-ignored" []
        "an address that came back or complained is written to",
        "no mail goes to an address after it complained";
}
