//! Deliveries that are late, that come again when they were handled, and that outlive it.

use super::*;

fn disorderly(disorder: Disorder) -> LocalCloud {
    let cloud = cloud();
    cloud.set_disorder(Some(Disorder {
        seed: 11,
        ..disorder
    }));
    cloud
}

/// When a function was started, in seconds since the beginning.
fn starts(
    happenings: &mut tokio::sync::broadcast::Receiver<Happening>,
    function: &str,
) -> Vec<i64> {
    let mut starts = Vec::new();
    while let Ok(happening) = happenings.try_recv() {
        if let Happening::InvocationStarted {
            at, function: name, ..
        } = happening
            && name == function
        {
            starts.push((at - options().start).num_seconds());
        }
    }
    starts
}

fn injected(cloud: &LocalCloud, name: &str) -> u64 {
    let injected = cloud.faults().injected();
    injected.get(name).copied().unwrap_or_default()
}

#[tokio::test]
async fn what_was_handled_comes_again_within_days() {
    let cloud = disorderly(Disorder {
        redeliver_late_per_mille: 1_000,
        ..Disorder::default()
    });
    let mut happenings = cloud.watch();
    put(&cloud, "a").await;
    cloud.settle().await;
    assert_eq!(bodies(&cloud, "jobs").len(), 1, "it waits to come again");
    cloud.set_disorder(None);
    // Five minutes' sweeps are of no interest here.
    cloud.set_rates_at_most(Duration::days(30));
    cloud.advance(Duration::days(4)).await;
    assert_eq!(bodies(&cloud, "jobs"), Vec::<String>::new());
    assert_eq!(cloud.unfinished(), 0);
    let relays = starts(&mut happenings, "relay");
    assert_eq!(relays.len(), 2);
    assert!(relays[1] > 0 && relays[1] <= 86_400, "{relays:?}");
    assert_eq!(bodies(&cloud, "jobs-dlq"), Vec::<String>::new());
    assert_eq!(injected(&cloud, "redelivered_late"), 2);
}

#[tokio::test]
async fn a_first_delivery_may_be_late_and_nothing_gets_lost() {
    let cloud = disorderly(Disorder {
        delay_per_mille: 500,
        ..Disorder::default()
    });
    cloud.set_rates_at_most(Duration::days(30));
    let mut happenings = cloud.watch();
    for number in 0..8 {
        put(&cloud, &format!("row-{number}")).await;
        cloud.advance(Duration::hours(1)).await;
    }
    cloud.advance(Duration::days(5)).await;
    let sent = cloud.calls().into_iter();
    let sent = sent.filter(|call| call.operation == "SendMessage");
    assert_eq!(sent.count(), 8);
    assert_eq!(bodies(&cloud, "jobs"), Vec::<String>::new());
    assert!(injected(&cloud, "delayed_stream") > 0);
    assert!(injected(&cloud, "delayed_message") > 0);
    let relays = starts(&mut happenings, "relay");
    assert!(
        relays.iter().any(|second| second % 3_600 != 0),
        "{relays:?}"
    );
}

#[tokio::test]
async fn a_message_whose_visibility_ended_under_its_handler_comes_again_after_it() {
    let cloud = disorderly(Disorder {
        visibility_expires_per_mille: 1_000,
        ..Disorder::default()
    });
    let mut happenings = cloud.watch();
    put(&cloud, "a").await;
    cloud.settle().await;
    assert_eq!(cloud.queues()["jobs"][0]["receive_count"], 1);
    cloud.set_disorder(None);
    cloud.advance(Duration::seconds(30)).await;
    assert_eq!(bodies(&cloud, "jobs"), Vec::<String>::new());
    assert_eq!(starts(&mut happenings, "worker"), [0, 30]);
    assert_eq!(injected(&cloud, "visibility_expired"), 1);
}

#[tokio::test]
async fn a_schedule_of_the_template_fires_twice_or_late() {
    let cloud = disorderly(Disorder {
        schedule_twice_per_mille: 1_000,
        schedule_late_per_mille: 1_000,
        ..Disorder::default()
    });
    let mut happenings = cloud.watch();
    cloud.advance(Duration::hours(5)).await;
    let sweeps = starts(&mut happenings, "worker");
    assert!(sweeps.len() >= 4, "{sweeps:?}");
    for pair in sweeps.chunks(2) {
        assert_eq!(pair[0], pair[1], "each comes twice");
    }
    let first_late_by = sweeps[0] - 300;
    assert!((1..=7_200).contains(&first_late_by), "{sweeps:?}");
    let fired = u64::try_from(sweeps.len() / 2).unwrap();
    assert_eq!(injected(&cloud, "schedule_fired_twice"), fired);
    assert!(injected(&cloud, "schedule_late") >= fired);
}

#[tokio::test]
async fn the_same_seed_is_the_same_disorder() {
    let run = || async {
        let cloud = disorderly(Disorder {
            duplicates_per_mille: 100,
            shuffle: true,
            redeliver_late_per_mille: 200,
            delay_per_mille: 200,
            visibility_expires_per_mille: 50,
            schedule_twice_per_mille: 200,
            schedule_late_per_mille: 200,
            ..Disorder::default()
        });
        let mut happenings = cloud.watch();
        for number in 0..10 {
            put(&cloud, &format!("row-{number}")).await;
            cloud.advance(Duration::hours(2)).await;
        }
        cloud.advance(Duration::days(1)).await;
        let workers = starts(&mut happenings, "worker");
        (workers, cloud.faults().injected(), cloud.queues())
    };
    let first = run().await;
    assert!(first.1.len() > 5, "{:?}", first.1);
    assert_eq!(run().await, first);
}

fn next_minutes(cloud: &LocalCloud) -> Vec<i64> {
    let planned = cloud.schedules().into_iter();
    let rates = planned.filter(|it| it.expression.starts_with("rate("));
    let now = cloud.clock().now();
    rates
        .filter_map(|it| Some((it.next_at? - now).num_minutes()))
        .collect()
}

#[tokio::test]
async fn rates_that_fire_more_rarely_do_so_at_once_and_come_back_to_their_own_pace() {
    let cloud = cloud();
    let own = next_minutes(&cloud);
    assert!(!own.is_empty());
    cloud.set_rates_at_most(Duration::days(1));
    assert!(next_minutes(&cloud).iter().all(|it| *it == 1_440));
    cloud.set_rates_at_most(Duration::zero());
    assert_eq!(next_minutes(&cloud), own);
}

#[tokio::test]
async fn the_schedules_of_one_function_can_be_put_off() {
    let cloud = cloud();
    let planned = cloud.schedules();
    let until = cloud.clock().now() + Duration::days(3);
    cloud.put_off_schedules("nobody", until);
    assert_eq!(cloud.schedules(), planned);
    let function = planned[0].target.rsplit(':').next().unwrap();
    cloud.put_off_schedules(function, until);
    assert_eq!(
        cloud.schedules()[0].next_at,
        Some(until + Duration::minutes(5))
    );
}

#[tokio::test]
async fn a_firing_that_would_find_nothing_can_be_left_out() {
    let cloud = cloud();
    let mut happenings = cloud.watch();
    let mut sweeps_at = || {
        let mut minutes = Vec::new();
        while let Ok(happening) = happenings.try_recv() {
            if let Happening::InvocationStarted { at, function, .. } = happening
                && function == "worker"
            {
                minutes.push((at - options().start).num_minutes());
            }
        }
        minutes
    };
    cloud.leave_out_firings(|function, rows| function == "worker" && rows("rows").is_empty());
    cloud.advance(Duration::minutes(11)).await;
    assert_eq!(sweeps_at(), Vec::<i64>::new());
    put(&cloud, "a").await;
    cloud.settle().await;
    sweeps_at();
    cloud.advance(Duration::minutes(9)).await;
    assert_eq!(sweeps_at(), [15, 20]);
}

#[tokio::test]
async fn a_row_is_seen_as_soon_as_it_is_written() {
    let cloud = cloud();
    for count in 0..3 {
        assert_eq!(cloud.table("rows").unwrap().len(), count);
        put(&cloud, &format!("row-{count}")).await;
    }
}
