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
    TtlRowTrusted "ttl-row-trusted" ["G09"]
        "a row past its time to live counts for as long as it is there",
        "a limit to unpaid holds and a key end at their time, however late their row is deleted";
}
