//! Functions that are deployed badly or whose clocks are wrong, for a while.

use super::*;

#[tokio::test]
async fn a_bad_deploy_panics_at_some_events_until_it_is_healed() {
    let cloud = cloud();
    cloud.break_function("writer", r#"\"id\":\"bad-1\""#);
    assert_eq!(
        [put(&cloud, "bad-1").await, put(&cloud, "b").await],
        [502, 201]
    );
    cloud.heal_function("writer");
    assert_eq!(put(&cloud, "bad-1").await, 201);
    assert_eq!(
        cloud.faults().injected(),
        BTreeMap::from([("bad_deploy", 1)])
    );
}

#[tokio::test]
async fn a_bad_record_fails_alone_in_a_queue_and_with_what_is_behind_it_in_a_stream() {
    let cloud = cloud();
    cloud.break_function("worker", "bad-1");
    cloud.break_function("relay", "bad-2");
    for id in ["a", "bad-1", "b", "bad-2", "c"] {
        put(&cloud, id).await;
    }
    cloud.settle().await;
    assert_eq!(bodies(&cloud, "jobs"), ["bad-1"], "the others were handled");
    let sent = |cloud: &LocalCloud| {
        let calls = cloud.calls().into_iter();
        calls.filter(|call| call.service == "sqs").count()
    };
    assert_eq!(sent(&cloud), 3, "the stream waits at its bad record");
    cloud.heal_function("relay");
    cloud.advance(Duration::minutes(1)).await;
    assert_eq!(sent(&cloud), 5);
    assert_eq!(bodies(&cloud, "jobs-dlq"), ["bad-1"]);
}

#[tokio::test]
async fn a_function_can_have_a_clock_of_its_own() {
    let cloud = cloud();
    cloud.set_clock_skew(None, Duration::minutes(-5));
    cloud.set_clock_skew(Some("writer"), Duration::minutes(5));
    put(&cloud, "a").await;
    cloud.set_clock_skew(Some("writer"), Duration::zero());
    put(&cloud, "b").await;
    let rows = cloud.table("rows").unwrap();
    let made = |row: &Value| row["made_at"].as_str().unwrap().to_owned();
    let made: Vec<String> = rows.iter().map(made).collect();
    assert_eq!(
        made,
        ["2027-03-01T09:05:00+00:00", "2027-03-01T09:00:00+00:00"]
    );
    cloud.clear_clock_skews();
    assert_eq!(cloud.faults().injected()["skewed_clock"], 1);
}

#[tokio::test]
async fn rows_stay_readable_for_two_days_past_their_time_when_the_sweep_is_late() {
    let cloud = cloud();
    cloud.set_ttl_lag(Duration::days(2));
    let expires = options().start.timestamp() + 60;
    let put = cloud.dynamodb().put_item().table_name("rows");
    let put = put.item("id", AttributeValue::S("a".to_owned()));
    let put = put.item("expires_at", AttributeValue::N(expires.to_string()));
    put.send().await.unwrap();
    let found = async || {
        let get = cloud.dynamodb().get_item().table_name("rows");
        let get = get.key("id", AttributeValue::S("a".to_owned()));
        get.send().await.unwrap().item.is_some()
    };
    cloud.advance(Duration::hours(48)).await;
    assert!(found().await);
    cloud.advance(Duration::hours(2)).await;
    assert!(!found().await);
}
