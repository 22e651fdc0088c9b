//! A failing life made as short as it stays failing: what a person reads.

use crate::campaign::Campaign;
use crate::life::Life;
use crate::plan::Plan;

/// Lives that a shrinking may cost.
const LIVES_MAX: usize = 400;

/// Leaves out actions and kinds of faults as long as the same promise is broken.
///
/// Returns the shortest plan that was found and its life.
pub fn shrink(campaign: &Campaign, failed: &Life) -> (Plan, Life) {
    let mut best = (campaign.plan(failed.seed), failed.clone());
    let Some(promise) = failed.violation.as_ref().map(|violation| violation.promise) else {
        return best;
    };
    let mut lives = 0;
    let mut fails = |plan: &Plan| {
        lives += 1;
        let life = (lives <= LIVES_MAX).then(|| campaign.live(plan))?;
        let same = life
            .violation
            .as_ref()
            .is_some_and(|it| it.promise == promise);
        same.then_some(life)
    };
    // What came after the violation did not cause it.
    if let Some(violation) = &failed.violation {
        best.0.steps.retain(|(step, _)| *step <= violation.step);
    }
    without_kinds(&mut best, &mut fails);
    let mut size = best.0.steps.len().div_ceil(2);
    while size > 0 {
        let shorter = without_steps(&mut best, size, &mut fails);
        size = match (shorter, size) {
            (true, _) => size.min(best.0.steps.len()),
            (false, 1) => 0,
            (false, _) => size / 2,
        };
    }
    without_kinds(&mut best, &mut fails);
    best
}

/// Leaves out runs of `size` actions where that may be; whether any could be.
fn without_steps(
    best: &mut (Plan, Life),
    size: usize,
    fails: &mut impl FnMut(&Plan) -> Option<Life>,
) -> bool {
    let mut from = 0;
    let mut shorter = false;
    while from < best.0.steps.len() {
        let mut plan = best.0.clone();
        let to = (from + size).min(plan.steps.len());
        plan.steps.drain(from..to);
        match fails(&plan) {
            Some(life) => {
                *best = (plan, life);
                shorter = true;
            }
            None => from += size,
        }
    }
    shorter
}

fn without_kinds(best: &mut (Plan, Life), fails: &mut impl FnMut(&Plan) -> Option<Life>) {
    for kind in best.0.weather.kinds.clone() {
        let mut plan = best.0.clone();
        plan.weather.kinds.remove(&kind);
        if let Some(life) = fails(&plan) {
            *best = (plan, life);
        }
    }
}
