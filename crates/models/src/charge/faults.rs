//! What goes wrong: double starts, lost requests and answers, crashes, the provider's own failures.

use super::{Debt, Fault, Key, Outcome, Run};

impl Debt {
    pub(super) fn faults(&self) -> Vec<Fault> {
        let mut faults = Vec::new();
        if let Some(run) = self.free_run().filter(|_| self.fires_twice().is_some()) {
            faults.push(Fault::FireTwice { run });
        }
        for (run, does) in self.runs.iter().enumerate() {
            match does {
                Run::Idle => continue,
                Run::Ask { .. } => faults.push(Fault::LoseRequest { run }),
                Run::Wait { .. } => faults.push(Fault::StopWaiting { run }),
                Run::Looked { .. } | Run::Note { .. } => {}
            }
            faults.push(Fault::Crash { run });
        }
        for (key, it) in self.provider.keys.iter().enumerate() {
            if *it == Key::Running {
                faults.push(Fault::StoreFailure { key });
            }
        }
        faults
    }

    /// The plan whose schedule has fired before: that of the claim, or that which a run carries out.
    fn fires_twice(&self) -> Option<u8> {
        let looked = self.runs.iter().find_map(|run| match run {
            Run::Looked { plan_no, .. } => Some(*plan_no),
            Run::Idle | Run::Ask { .. } | Run::Wait { .. } | Run::Note { .. } => None,
        });
        looked.or(self.row.attempt.map(|it| it.plan_no))
    }

    pub(super) fn go_wrong(&mut self, fault: Fault) {
        self.faults_left -= 1;
        match fault {
            Fault::FireTwice { run } => {
                if let Some(plan_no) = self.fires_twice() {
                    self.look(run, plan_no);
                }
            }
            Fault::LoseRequest { run } | Fault::StopWaiting { run } => self.hear_nothing(run),
            Fault::Crash { run } => self.runs[run] = Run::Idle,
            Fault::StoreFailure { key } => self.provider.fail(key),
        }
    }

    fn hear_nothing(&mut self, run: usize) {
        if let Run::Ask { n } | Run::Wait { n } = self.runs[run] {
            let outcome = Outcome::Unanswered;
            self.runs[run] = Run::Note { n, outcome };
        }
    }
}
