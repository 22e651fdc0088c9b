//! The wire shapes, checked by the real SDK clients that must read them.

use aws_sdk_bedrockruntime::types::{ContentBlock, ConversationRole, Message as ModelMessage};
use aws_sdk_sesv2::types::{Body, Content, Destination, EmailContent, MessageTag};
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;

use super::*;

const QUEUE_URL: &str = "https://sqs.eu-west-2.amazonaws.com/000000000000/jobs";

fn entry(id: &str, body: &str) -> SendMessageBatchRequestEntry {
    let entry = SendMessageBatchRequestEntry::builder()
        .id(id)
        .message_body(body);
    entry.build().unwrap()
}

#[tokio::test]
async fn a_batch_answers_entry_by_entry_and_keeps_its_limits() {
    let cloud = cloud();
    let sqs = lambda_kit::client!(aws_sdk_sqs, &cloud.operator());
    let send = |entries: Vec<SendMessageBatchRequestEntry>| {
        sqs.send_message_batch()
            .queue_url(QUEUE_URL)
            .set_entries(Some(entries))
            .send()
    };
    let large = "x".repeat(1_048_577);
    let answer = send(vec![entry("a", "1"), entry("b", "2")]).await.unwrap();
    assert_eq!((answer.successful().len(), answer.failed().len()), (2, 0));
    assert_eq!(
        answer.successful()[0].md5_of_message_body(),
        "c4ca4238a0b923820dcc509a6f75849b"
    );
    let eleven = (0..11)
        .map(|number| entry(&number.to_string(), "x"))
        .collect();
    assert!(
        send(eleven)
            .await
            .unwrap_err()
            .into_service_error()
            .is_too_many_entries_in_batch_request()
    );
    let twins = vec![entry("a", "1"), entry("a", "2")];
    assert!(
        send(twins)
            .await
            .unwrap_err()
            .into_service_error()
            .is_batch_entry_ids_not_distinct()
    );
    let too_long = send(vec![entry("a", &large)])
        .await
        .unwrap_err()
        .into_service_error();
    assert!(too_long.is_batch_request_too_long());
    let empty = send(vec![entry("a", "1"), entry("b", "")]).await.unwrap();
    assert_eq!(empty.failed()[0].id(), "b");
}

#[tokio::test]
async fn a_queue_that_is_not_there_is_named_as_such() {
    let sqs = lambda_kit::client!(aws_sdk_sqs, &cloud().operator());
    let sent = sqs
        .send_message()
        .queue_url(QUEUE_URL.replace("jobs", "jops"))
        .message_body("x")
        .send()
        .await;
    assert!(
        sent.unwrap_err()
            .into_service_error()
            .is_queue_does_not_exist()
    );
}

#[tokio::test]
async fn an_operator_receives_and_deletes() {
    let cloud = cloud();
    let sqs = lambda_kit::client!(aws_sdk_sqs, &cloud.operator());
    sqs.send_message()
        .queue_url(QUEUE_URL)
        .message_body("x")
        .delay_seconds(5)
        .send()
        .await
        .unwrap();
    let receive = || sqs.receive_message().queue_url(QUEUE_URL).send();
    assert_eq!(
        receive().await.unwrap().messages().len(),
        0,
        "it is delayed"
    );
    cloud
        .0
        .clock
        .set(cloud.clock().now() + Duration::seconds(5));
    let message = receive().await.unwrap().messages()[0].clone();
    let receipt = message.receipt_handle().unwrap();
    sqs.delete_message()
        .queue_url(QUEUE_URL)
        .receipt_handle(receipt)
        .send()
        .await
        .unwrap();
    assert_eq!(bodies(&cloud, "jobs"), Vec::<String>::new());
}

#[tokio::test]
async fn a_mail_keeps_its_kind() {
    let cloud = cloud();
    let content = |text: &str| Content::builder().data(text).build().unwrap();
    let simple = aws_sdk_sesv2::types::Message::builder()
        .subject(content("A case"))
        .body(Body::builder().text(content("Look at b-1")).build());
    let tag = MessageTag::builder()
        .name("kind")
        .value("case")
        .build()
        .unwrap();
    let sent = lambda_kit::client!(aws_sdk_sesv2, &cloud.operator())
        .send_email()
        .from_email_address("Bookings <bookings@example.com>")
        .destination(
            Destination::builder()
                .to_addresses("team@example.com")
                .build(),
        )
        .content(EmailContent::builder().simple(simple.build()).build())
        .email_tags(tag)
        .send()
        .await
        .unwrap();
    let message = &cloud.messages()[0];
    assert_eq!(sent.message_id(), Some(message.id.as_str()));
    let kept = [
        &message.channel,
        &message.to,
        &message.kind,
        &message.subject,
        &message.text,
    ];
    assert_eq!(
        kept,
        ["mail", "team@example.com", "case", "A case", "Look at b-1"]
    );
}

async fn converse(cloud: &LocalCloud) -> Result<(String, String), String> {
    let facts = json!({"kind": "reminder", "plain": "Your table is at 20:00."});
    let message = ModelMessage::builder()
        .role(ConversationRole::User)
        .content(ContentBlock::Text(format!("Write this: {facts}")))
        .build()
        .unwrap();
    let client = lambda_kit::client!(aws_sdk_bedrockruntime, &cloud.operator());
    let call = client
        .converse()
        .model_id("global.anthropic.claude-haiku-4-5-20251001-v1:0")
        .messages(message);
    let answer = call.send().await.map_err(|error| {
        let error = error.into_service_error();
        error.meta().code().unwrap_or_default().to_owned()
    })?;
    assert!(answer.usage().unwrap().output_tokens() > 0);
    let reason = answer.stop_reason().as_str().to_owned();
    let output = answer
        .output()
        .and_then(|output| output.as_message().ok())
        .unwrap();
    Ok((output.content()[0].as_text().unwrap().clone(), reason))
}

#[tokio::test]
async fn a_model_follows_its_script_and_is_polite_afterwards() {
    let cloud = cloud();
    let answers = [
        ModelAnswer::Text("No.".to_owned()),
        ModelAnswer::TimeOut,
        ModelAnswer::Throttled,
        ModelAnswer::Refused,
    ];
    cloud.script_model(answers.to_vec());
    let said = |text: &str, reason: &str| Ok((text.to_owned(), reason.to_owned()));
    assert_eq!(converse(&cloud).await, said("No.", "end_turn"));
    assert_eq!(
        converse(&cloud).await,
        Err("ModelTimeoutException".to_owned())
    );
    assert_eq!(
        converse(&cloud).await,
        Err("ThrottlingException".to_owned())
    );
    assert_eq!(converse(&cloud).await.unwrap().1, "content_filtered");
    assert_eq!(
        converse(&cloud).await,
        said("Your table is at 20:00. Best wishes!", "end_turn")
    );
}

#[tokio::test]
async fn a_throttled_text_is_sent_at_the_next_attempt() {
    let cloud = cloud();
    let sns = lambda_kit::client!(aws_sdk_sns, &cloud.setup("writer").unwrap().aws);
    cloud
        .faults()
        .add(FaultRule::once("writer", "Publish", FaultKind::Throttled).times(2));
    let publish = |phone: &str| sns.publish().phone_number(phone).message("Hello").send();
    publish("+447700900123").await.unwrap();
    assert_eq!(cloud.messages().len(), 1);
    let refused = publish("07700900123")
        .await
        .unwrap_err()
        .into_service_error();
    assert!(refused.is_invalid_parameter_exception());
}

#[tokio::test]
async fn a_throttled_queue_secret_and_table_are_tried_again() {
    let cloud = cloud();
    cloud.faults().add(FaultRule {
        function: None,
        operation: None,
        nth: 1,
        times: 1,
        fault: FaultKind::Throttled,
    });
    let relay = cloud.setup("relay").unwrap().aws;
    let sqs = lambda_kit::client!(aws_sdk_sqs, &relay);
    sqs.send_message()
        .queue_url(QUEUE_URL)
        .message_body("x")
        .send()
        .await
        .unwrap();
    cloud.faults().add(FaultRule::once(
        "writer",
        "secretsmanager",
        FaultKind::Throttled,
    ));
    assert_eq!(put(&cloud, "secret").await, 200);
    assert_eq!(cloud.calls().len(), 4);
}

#[tokio::test]
async fn what_is_not_played_is_said_so() {
    let cloud = cloud();
    let listed = lambda_kit::client!(aws_sdk_sns, &cloud.operator())
        .list_topics()
        .send()
        .await;
    let error = listed.unwrap_err().into_service_error();
    assert_eq!(error.meta().code(), Some("UnknownOperationException"));
    let listed = lambda_kit::client!(aws_sdk_sqs, &cloud.operator())
        .list_queues()
        .send()
        .await;
    assert_eq!(
        listed.unwrap_err().into_service_error().meta().code(),
        Some("UnknownOperationException")
    );
}

#[tokio::test]
async fn a_contended_transaction_says_so_in_its_reasons() {
    let cloud = cloud();
    let setup = cloud.setup("writer").unwrap();
    let client = lambda_kit::client!(aws_sdk_dynamodb, &setup.aws);
    let put = |id: &str| {
        let put = aws_sdk_dynamodb::types::Put::builder()
            .table_name("rows")
            .item("id", AttributeValue::S(id.to_owned()));
        aws_sdk_dynamodb::types::TransactWriteItem::builder()
            .put(put.build().unwrap())
            .build()
    };
    cloud.faults().add(FaultRule::once(
        "writer",
        "TransactWriteItems",
        FaultKind::Conflict,
    ));
    let write = || {
        client
            .transact_write_items()
            .transact_items(put("a"))
            .transact_items(put("b"))
            .send()
    };
    let error = write().await.unwrap_err().into_service_error();
    let aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError::TransactionCanceledException(cancelled) = error else {
        panic!("{error:?}");
    };
    let codes: Vec<Option<&str>> = cancelled
        .cancellation_reasons()
        .iter()
        .map(|reason| reason.code())
        .collect();
    assert_eq!(codes, [Some("TransactionConflict"), Some("None")]);
    write().await.unwrap();
    assert_eq!(cloud.calls().last().unwrap().units, Some(4.0));
}

#[tokio::test]
async fn a_client_with_time_outs_is_not_timed_out_by_the_sleep_that_takes_no_time() {
    let cloud = cloud();
    let mut config = aws_sdk_dynamodb::config::Builder::from(&cloud.setup("writer").unwrap().aws);
    let limit = std::time::Duration::from_secs(5);
    let timeouts = aws_smithy_types::timeout::TimeoutConfig::builder()
        .operation_timeout(limit)
        .operation_attempt_timeout(limit);
    config.set_timeout_config(Some(timeouts.build()));
    let client = aws_sdk_dynamodb::Client::from_conf(config.build());
    cloud
        .faults()
        .add(FaultRule::once("writer", "PutItem", FaultKind::Throttled).times(2));
    let put = client
        .put_item()
        .table_name("rows")
        .item("id", AttributeValue::S("a".to_owned()))
        .send();
    let running = crate::invocation::Invocation::new(1).start(put);
    let crate::invocation::Step::Answered(result) = running.go_on().await else {
        panic!("nothing was to interrupt it");
    };
    assert!(result.is_ok(), "{result:?}");
}
