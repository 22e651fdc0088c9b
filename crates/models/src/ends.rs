//! Whether every run of a model comes to an end.
//!
//! The checker looks at "in the end" only where a run ends, and does not notice one that goes round
//! in a circle: such a model would promise what it never gets to.

use std::collections::HashMap;
use std::hash::Hash;

use stateright::Model;

enum Mark {
    OnThePath,
    Done,
}

/// Returns a state that leads back to itself, if there is one.
pub fn circle<M: Model>(model: &M) -> Option<M::State>
where
    M::State: Clone + Eq + Hash,
{
    let mut marks: HashMap<M::State, Mark> = HashMap::new();
    for first in model.init_states() {
        let mut path = vec![enter(model, first, &mut marks)];
        while let Some((state, next)) = path.last_mut() {
            let Some(further) = next.pop() else {
                marks.insert(state.clone(), Mark::Done);
                path.pop();
                continue;
            };
            match marks.get(&further) {
                Some(Mark::OnThePath) => return Some(further),
                Some(Mark::Done) => {}
                None => path.push(enter(model, further, &mut marks)),
            }
        }
    }
    None
}

fn enter<M: Model>(
    model: &M,
    state: M::State,
    marks: &mut HashMap<M::State, Mark>,
) -> (M::State, Vec<M::State>)
where
    M::State: Clone + Eq + Hash,
{
    marks.insert(state.clone(), Mark::OnThePath);
    let next = model.next_states(&state);
    (state, next)
}

#[cfg(test)]
mod tests {
    use super::circle;
    use stateright::Model;

    /// Counts up, and starts anew after the last number or not.
    struct Count {
        anew: bool,
    }

    impl Model for Count {
        type State = u8;
        type Action = ();

        fn init_states(&self) -> Vec<u8> {
            vec![0]
        }

        fn actions(&self, _: &u8, actions: &mut Vec<()>) {
            actions.push(());
        }

        fn next_state(&self, number: &u8, (): ()) -> Option<u8> {
            match (number, self.anew) {
                (3, true) => Some(1),
                (3, false) => None,
                (number, _) => Some(number + 1),
            }
        }
    }

    #[test]
    fn a_count_that_starts_anew_is_a_circle() {
        assert_eq!(circle(&Count { anew: true }), Some(1));
        assert_eq!(circle(&Count { anew: false }), None);
    }
}
