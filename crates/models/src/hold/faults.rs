//! What goes wrong: crashes, lost answers, repeated deliveries, a lost event.

use super::{Closing, Event, Fault, Hold, ON_PAGE, Opening, Order, Payment, Run, Sweep, Town};

pub(super) fn faults(town: &Town) -> Vec<Fault> {
    let refunds = town.payments.iter().enumerate();
    let mut faults: Vec<Fault> = refunds.flat_map(|(at, it)| of_refund(at, it)).collect();
    if town.refund_runs() {
        return faults;
    }
    if town.payments[ON_PAGE].event == Event::Due && !town.is_handled(ON_PAGE) {
        faults.push(Fault::LosePageEvent);
    }
    for (payment, it) in town.payments.iter().enumerate() {
        let is_beside = it.event == Event::Due && town.is_handled(payment);
        let again = is_beside || it.event == Event::Taken;
        if let Some(handler) = town.free_handler().filter(|_| again) {
            faults.push(Fault::RepeatEvent { handler, payment });
        }
    }
    for (handler, _) in town.handlers.iter().enumerate().filter(|it| it.1.is_some()) {
        faults.push(Fault::LoseAnswerToEvent { handler });
        faults.push(Fault::CrashHandler { handler });
    }
    faults.extend(match town.opening {
        Opening::Idle => None,
        Opening::Ask | Opening::Note => Some(Fault::CrashOpening),
    });
    faults.extend(match town.closing {
        Closing::None => None,
        Closing::Ordered => Some(Fault::LoseAnswerToClosing),
        Closing::HeardClosed | Closing::HeardPaid => Some(Fault::CrashClosing),
    });
    faults.extend((town.sweep == Sweep::Free).then_some(Fault::RepeatFreeing));
    faults
}

fn of_refund(payment: usize, it: &Payment) -> Vec<Fault> {
    let mut faults = Vec::new();
    if it.refund.order == Order::Outstanding && it.refund.runs[1] == Run::Idle {
        faults.push(Fault::RepeatRefund { payment });
    }
    for (run, does) in it.refund.runs.into_iter().enumerate() {
        match does {
            Run::Idle => {}
            Run::Ask => faults.extend([
                Fault::LoseRefundRequest { payment, run },
                Fault::LoseRefundAnswer { payment, run },
            ]),
            Run::Look | Run::Note => faults.push(Fault::CrashRefund { payment, run }),
        }
    }
    faults
}

impl Hold {
    pub(super) fn go_wrong(&self, town: &mut Town, fault: Fault) {
        town.faults_left -= 1;
        match fault {
            Fault::LosePageEvent => town.payments[ON_PAGE].event = Event::Lost,
            Fault::RepeatEvent { handler, payment } => self.take_event(town, handler, payment),
            Fault::LoseAnswerToEvent { handler } => self.write_event(town, handler, false),
            Fault::CrashHandler { handler } => town.handlers[handler] = None,
            Fault::CrashOpening => town.opening = Opening::Idle,
            Fault::LoseAnswerToClosing => town.ask_to_close(false),
            Fault::CrashClosing => town.closing = Closing::Ordered,
            // The write is made, its answer is lost, and so it is sent again.
            Fault::RepeatFreeing => town.slot = None,
            Fault::RepeatRefund { payment } => self.start_refund(town, payment, 1),
            Fault::LoseRefundAnswer { payment, run } => {
                let refund = &mut town.payments[payment].refund;
                refund.ask_provider(self.flaw);
                refund.runs[run] = Run::Idle;
            }
            Fault::LoseRefundRequest { payment, run } | Fault::CrashRefund { payment, run } => {
                town.payments[payment].refund.runs[run] = Run::Idle;
            }
        }
    }
}
