//! The relay: from the stream or the sweep to the queue, and only then is a row marked.

use super::{By, Fault, Flaw, ORDERS, Outbox, Post, Record, Row, Step};

/// What one run of the relay has in hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Batch {
    pub has: [bool; ORDERS],
    pub call: Call,
}

/// What it does next with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    Send,
    /// With what the queue took.
    Mark([bool; ORDERS]),
}

impl Post {
    fn batch(&self, by: By) -> Option<Batch> {
        match by {
            By::Stream => self.from_stream,
            By::Sweep => self.from_sweep,
        }
    }

    fn set_batch(&mut self, by: By, batch: Option<Batch>) {
        match by {
            By::Stream => self.from_stream = batch,
            By::Sweep => self.from_sweep = batch,
        }
    }

    /// The run is over without a word: the stream brings its records again.
    pub(super) fn drop_batch(&mut self, by: By) {
        self.set_batch(by, None);
        self.end_records(by, [false; ORDERS]);
    }

    /// What is not reported as failed does not come again.
    fn end_records(&mut self, by: By, done: [bool; ORDERS]) {
        let taken = self.orders.iter_mut().zip(done);
        let taken = taken.filter(|(it, _)| by == By::Stream && it.record == Record::Taken);
        for (order, is_done) in taken {
            order.record = if is_done { Record::Done } else { Record::Due };
        }
    }
}

impl Outbox {
    pub(super) fn relay_steps(&self, post: &Post, steps: &mut Vec<Step>) {
        let is_due = post.orders.map(|it| it.record == Record::Due);
        let is_pending = post.orders.map(|it| it.row == Row::Pending);
        match post.from_stream {
            Some(_) => steps.push(Step::Relay(By::Stream)),
            None => steps.extend(parts_of(is_due).map(Step::StreamBrings)),
        }
        match post.from_sweep {
            Some(_) => steps.push(Step::Relay(By::Sweep)),
            None if self.flaw == Flaw::SweepAbsent => {}
            None => steps.extend(is_pending.contains(&true).then_some(Step::SweepFinds)),
        }
        for (order, it) in post.orders.iter().enumerate() {
            if it.is_decided && it.row == Row::None {
                steps.push(Step::WriteRow(order));
            }
        }
    }

    pub(super) fn relay_faults(&self, post: &Post, faults: &mut Vec<Fault>) {
        for by in [By::Stream, By::Sweep] {
            let Some(batch) = post.batch(by) else {
                continue;
            };
            faults.push(Fault::CrashRelay(by));
            if batch.call == Call::Send {
                faults.push(Fault::LoseSendAnswer(by));
                let has = (0..ORDERS).filter(|order| batch.has[*order]);
                faults.extend(has.map(|order| Fault::RefuseEntry(by, order)));
            }
        }
        for (order, it) in post.orders.iter().enumerate() {
            if it.record == Record::Due {
                faults.push(Fault::StreamGivesUp(order));
            }
            if it.is_decided && it.row == Row::None {
                faults.push(Fault::StopBeforeRow(order));
            }
        }
    }

    pub(super) fn stream_brings(&self, post: &mut Post, has: [bool; ORDERS]) {
        let orders = post.orders.iter_mut().zip(has);
        for (order, _) in orders.filter(|(_, is_in)| *is_in) {
            order.record = Record::Taken;
        }
        self.begin(post, By::Stream, has);
    }

    /// The index is a hint: each row is read, and is still pending.
    pub(super) fn sweep_finds(&self, post: &mut Post) {
        let has = post.orders.map(|it| it.row == Row::Pending);
        self.begin(post, By::Sweep, has);
    }

    fn begin(&self, post: &mut Post, by: By, has: [bool; ORDERS]) {
        if self.flaw == Flaw::MarkedFirst {
            mark(post, has);
        }
        let call = Call::Send;
        post.set_batch(by, Some(Batch { has, call }));
    }

    pub(super) fn relay(&self, post: &mut Post, by: By) {
        let Some(batch) = post.batch(by) else {
            return;
        };
        match batch.call {
            Call::Send => self.send(post, by, |_| true),
            Call::Mark(taken) => {
                mark(post, taken);
                post.set_batch(by, None);
                post.end_records(by, taken);
            }
        }
    }

    pub(super) fn send(&self, post: &mut Post, by: By, is_taken: impl Fn(usize) -> bool) {
        let Some(batch) = post.batch(by) else {
            return;
        };
        let mut taken = batch.has;
        for order in (0..ORDERS).filter(|order| batch.has[*order]) {
            taken[order] = is_taken(order);
            if taken[order] {
                post.orders[order].waiting += 1;
                post.orders[order].was_queued = true;
            }
        }
        if self.flaw == Flaw::BatchTakenForGranted {
            taken = batch.has;
        }
        let call = Call::Mark(taken);
        post.set_batch(by, Some(Batch { call, ..batch }));
    }
}

fn mark(post: &mut Post, which: [bool; ORDERS]) {
    let orders = post.orders.iter_mut().zip(which);
    for (order, _) in orders.filter(|(_, is_in)| *is_in) {
        order.row = Row::Published;
    }
}

/// Every batch that can be made of what is there.
fn parts_of(there: [bool; ORDERS]) -> impl Iterator<Item = [bool; ORDERS]> {
    let batches = [[true, false], [false, true], [true, true]];
    let fits = move |batch: &[bool; ORDERS]| (0..ORDERS).all(|at| there[at] || !batch[at]);
    batches.into_iter().filter(fits)
}
