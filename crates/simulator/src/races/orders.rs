//! In which orders two parties can take their turns, and which of these orders must be tried.
//!
//! Depth first and without memory: a run follows a path of choices and goes on by default, then the
//! last choice that is worth it is made the other way. Turns that touch nothing in common may change
//! places and nobody can tell, so of all orders that differ only in that, one is tried. This is dynamic
//! partial order reduction with sleep sets, after Flanagan and Godefroid, "Dynamic partial-order
//! reduction for model checking software" (2005), for two parties.

use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    First,
    Second,
}

impl Side {
    pub(crate) const BOTH: [Self; 2] = [Self::First, Self::Second];

    pub(crate) fn index(self) -> usize {
        match self {
            Self::First => 0,
            Self::Second => 1,
        }
    }

    pub(crate) fn other(self) -> Self {
        match self {
            Self::First => Self::Second,
            Self::Second => Self::First,
        }
    }
}

/// What a turn touched, by name, and whether it may have changed it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Footprint(BTreeMap<String, bool>);

impl Footprint {
    pub(crate) fn note(&mut self, thing: &str, is_change: bool) {
        *self.0.entry(thing.to_owned()).or_default() |= is_change;
    }

    pub(crate) fn has_change(&self) -> bool {
        self.0.values().any(|is_change| *is_change)
    }

    /// Whether the order of the two turns can matter.
    fn meets(&self, other: &Self) -> bool {
        let meets = |(thing, is_change): (&String, &bool)| {
            other
                .0
                .get(thing)
                .is_some_and(|others| *is_change || *others)
        };
        self.0.iter().any(meets)
    }
}

impl std::fmt::Display for Footprint {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mark = |(thing, is_change): (&String, &bool)| match is_change {
            true => format!("{thing}!"),
            false => thing.clone(),
        };
        formatter.write_str(&self.0.iter().map(mark).collect::<Vec<_>>().join(" "))
    }
}

struct Turn {
    side: Side,
    /// `None` until the turn was taken.
    footprint: Option<Footprint>,
    /// Who need not go now, as all that follows from its next turn was tried.
    asleep: Option<(Side, Footprint)>,
    /// Whether the other one could go as well.
    has_choice: bool,
    is_other_wanted: bool,
}

impl Turn {
    fn meets(&self, footprint: &Footprint) -> bool {
        self.footprint
            .as_ref()
            .is_some_and(|own| own.meets(footprint))
    }
}

/// The orders that were tried, as the path of the one that is being tried.
pub(crate) struct Orders {
    path: Vec<Turn>,
    depth: usize,
    asleep: Option<(Side, Footprint)>,
    is_reduced: bool,
    /// Whether a path that was followed again led elsewhere: then nothing here can be relied on.
    pub(crate) has_strayed: bool,
}

impl Orders {
    /// All orders, or of those that can't be told apart one.
    pub(crate) fn new(is_reduced: bool) -> Self {
        Self {
            path: Vec::new(),
            depth: 0,
            asleep: None,
            is_reduced,
            has_strayed: false,
        }
    }

    /// Returns who goes next; `None` if all that can follow was tried, or nobody can go.
    pub(crate) fn next(&mut self, can_go: [bool; 2]) -> Option<Side> {
        if let Some(turn) = self.path.get(self.depth) {
            self.has_strayed |= !can_go[turn.side.index()];
            return Some(turn.side);
        }
        let sleeper = self.asleep.as_ref().map(|(side, _)| *side);
        let may = |side: &Side| can_go[side.index()] && sleeper != Some(*side);
        let side = Side::BOTH.into_iter().find(may)?;
        let has_choice = may(&side.other());
        self.path.push(Turn {
            side,
            footprint: None,
            asleep: self.asleep.clone(),
            has_choice,
            is_other_wanted: has_choice && !self.is_reduced,
        });
        Some(side)
    }

    /// Notes what the turn touched that [`Orders::next`] gave.
    pub(crate) fn taken(&mut self, footprint: Footprint) {
        let depth = self.depth;
        let Some(turn) = self.path.get_mut(depth) else {
            return;
        };
        let side = turn.side;
        let asleep = turn.asleep.clone();
        match &turn.footprint {
            Some(before) => self.has_strayed |= *before != footprint,
            None => {
                turn.footprint = Some(footprint.clone());
                self.want_reverse_of(side, depth, &footprint);
            }
        }
        self.asleep = asleep.filter(|(sleeper, next)| *sleeper != side && !next.meets(&footprint));
        self.depth += 1;
    }

    /// The last turn of the other one that this turn could have come before, and that it meets, is to
    /// be tried after it.
    fn want_reverse_of(&mut self, side: Side, depth: usize, footprint: &Footprint) {
        let earlier = &self.path[..depth];
        let meets = |turn: &Turn| turn.side != side && turn.meets(footprint);
        let Some(last) = earlier.iter().rposition(meets) else {
            return;
        };
        if !self.comes_before_any_of(side, last, depth) {
            let turn = &mut self.path[last];
            turn.is_other_wanted |= turn.has_choice;
        }
    }

    /// Whether something that `side` did since depends on the turn at `at`, or on a later one of the
    /// same party.
    fn comes_before_any_of(&self, side: Side, at: usize, depth: usize) -> bool {
        let since = &self.path[at..depth];
        let depends = |(index, turn): (usize, &Turn)| {
            let Some(footprint) = turn.footprint.as_ref().filter(|_| turn.side == side) else {
                return false;
            };
            since[..index]
                .iter()
                .any(|other| other.side != side && other.meets(footprint))
        };
        since.iter().enumerate().any(depends)
    }

    /// The order that is being tried: who touched what, and `!` where it may have been changed.
    pub(crate) fn described(&self) -> String {
        let turn = |turn: &Turn| {
            let touched = turn.footprint.as_ref().map(ToString::to_string);
            format!("{}: {}", turn.side.index() + 1, touched.unwrap_or_default())
        };
        self.path.iter().map(turn).collect::<Vec<_>>().join("\n")
    }

    /// Goes back to the last choice that is to be made the other way; `false` if there is none left.
    pub(crate) fn go_back(&mut self) -> bool {
        self.depth = 0;
        self.asleep = None;
        while let Some(turn) = self.path.last_mut() {
            if turn.is_other_wanted {
                let footprint = turn.footprint.take().unwrap_or_default();
                turn.asleep = self.is_reduced.then_some((turn.side, footprint));
                turn.side = turn.side.other();
                turn.is_other_wanted = false;
                turn.has_choice = false;
                return true;
            }
            self.path.pop();
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::dice::Dice;

    /// One turn of a toy: reads a cell into the party's own register, or writes its register, changed.
    #[derive(Clone, Copy, Debug)]
    enum Op {
        Read(u32),
        Write(u32),
    }

    type Program = Vec<Op>;

    /// What is left at the end: the cells and the registers.
    type Ending = (Vec<u64>, [u64; 2]);

    /// Every ending of two programs, and how many orders were tried to the end.
    fn endings(programs: &[Program; 2], is_reduced: bool) -> (BTreeSet<Ending>, usize) {
        let mut orders = Orders::new(is_reduced);
        let (mut found, mut tried) = (BTreeSet::new(), 0);
        loop {
            let mut cells = vec![0_u64; 4];
            let mut registers = [1_u64, 2];
            let mut done = [0_usize; 2];
            while let Some(side) =
                orders.next([0, 1].map(|index| done[index] < programs[index].len()))
            {
                let index = side.index();
                let mut footprint = Footprint::default();
                match programs[index][done[index]] {
                    Op::Read(cell) => {
                        registers[index] = registers[index] * 31 + cells[cell as usize];
                        footprint.note(&cell.to_string(), false);
                    }
                    Op::Write(cell) => {
                        let was = cells[cell as usize];
                        cells[cell as usize] = was * 7 + registers[index];
                        footprint.note(&cell.to_string(), true);
                    }
                }
                done[index] += 1;
                orders.taken(footprint);
            }
            if [0, 1]
                .iter()
                .all(|index| done[*index] == programs[*index].len())
            {
                tried += 1;
                found.insert((cells, registers));
            }
            if !orders.go_back() {
                assert!(!orders.has_strayed);
                return (found, tried);
            }
        }
    }

    #[test]
    fn without_a_reduction_every_order_is_tried() {
        let programs = [vec![Op::Read(0); 3], vec![Op::Read(0); 4]];
        assert_eq!(endings(&programs, false).1, 35);
    }

    #[test]
    fn turns_that_never_meet_have_one_order() {
        let programs = [vec![Op::Write(0); 5], vec![Op::Write(1); 5]];
        assert_eq!(endings(&programs, true).1, 1);
        let programs = [vec![Op::Read(0); 5], vec![Op::Read(0); 5]];
        assert_eq!(endings(&programs, true).1, 1);
    }

    #[test]
    fn turns_that_all_meet_have_every_order() {
        let programs = [vec![Op::Write(0); 3], vec![Op::Write(0); 4]];
        assert_eq!(endings(&programs, true).1, 35);
    }

    #[test]
    fn the_reduction_loses_no_ending_of_any_program() {
        let (mut fewer, mut several) = (0, 0);
        for seed in 0..400 {
            let mut dice = Dice::new(seed, "programs");
            let mut program = || {
                let length = dice.between(0, 5);
                let op = |_| match dice.chance(500) {
                    true => Op::Read(dice.roll(4)),
                    false => Op::Write(dice.roll(4)),
                };
                (0..length).map(op).collect::<Program>()
            };
            let programs = [program(), program()];
            let (all, tried) = endings(&programs, false);
            let (some, of_them) = endings(&programs, true);
            assert_eq!(some, all, "{programs:?}");
            assert!(of_them <= tried && of_them >= all.len(), "{programs:?}");
            several += usize::from(tried > 1);
            fewer += usize::from(of_them < tried);
        }
        assert!(
            fewer * 10 > several * 8,
            "of {several} programs with several orders, it leaves some out in {fewer}"
        );
    }
}
