//! Where other imitations of AWS disagreed with the local cloud and it was wrong, or could have been:
//! what AWS's documentation says, as the SDK sees it. Nothing needs to be installed for these.

#![expect(
    clippy::disallowed_methods,
    reason = "single calls are looked at, not steps of a function"
)]

use std::collections::BTreeMap;

use aws_sdk_dynamodb::error::ProvideErrorMetadata as _;
use aws_sdk_dynamodb::operation::update_item::builders::UpdateItemFluentBuilder;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue, TransactWriteItem, Update};
use aws_sdk_sqs::Client as Sqs;
use aws_sdk_sqs::operation::receive_message::builders::ReceiveMessageFluentBuilder;
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    Message, MessageAttributeValue, MessageSystemAttributeName, SendMessageBatchRequestEntry,
};

use crate::clouds::cloud;

const JOBS: &str = "https://sqs.eu-west-2.amazonaws.com/000000000000/jobs";
const DEAD: &str = "https://sqs.eu-west-2.amazonaws.com/000000000000/jobs-dlq";

fn text(kind: &str, value: &str) -> MessageAttributeValue {
    let attribute = MessageAttributeValue::builder().data_type(kind);
    attribute.string_value(value).build().unwrap()
}

fn bytes(value: &[u8]) -> MessageAttributeValue {
    let attribute = MessageAttributeValue::builder().data_type("Binary");
    attribute.binary_value(Blob::new(value)).build().unwrap()
}

/// The code of the refusal of a message.
async fn refusal(sqs: &Sqs, body: &str, name: &str, attribute: MessageAttributeValue) -> String {
    let send = sqs.send_message().queue_url(JOBS).message_body(body);
    let refused = send.message_attributes(name, attribute).send().await;
    refused.unwrap_err().code().unwrap_or_default().to_owned()
}

async fn one(receive: ReceiveMessageFluentBuilder) -> Message {
    let mut received = receive.send().await.unwrap().messages.unwrap_or_default();
    assert_eq!(received.len(), 1);
    received.remove(0)
}

#[tokio::test]
async fn a_message_tells_the_digest_of_its_attributes() {
    let sqs = Sqs::new(&cloud().operator());
    let send = || sqs.send_message().queue_url(JOBS).message_body("x");
    let plain = send().send().await.unwrap();
    assert_eq!(plain.md5_of_message_attributes(), None);
    // As moto and ministack have it.
    let sent = send().message_attributes("trace.id", bytes(b"\x00\x01"));
    assert_eq!(
        sent.send().await.unwrap().md5_of_message_attributes(),
        Some("f96c0e52d9071990d55850345e6dac98")
    );
}

/// "ReceiveMessage", Amazon SQS API Reference: attributes are those that are asked for.
#[tokio::test]
async fn a_receiver_gets_those_attributes_that_it_asks_for() {
    let sqs = Sqs::new(&cloud().operator());
    let send = sqs.send_message().queue_url(JOBS).message_body("x");
    let send = send.message_attributes("trace.id", text("String", "t"));
    let sent = send.message_attributes("kind", text("String", "reminder"));
    sent.send().await.unwrap();
    let receive = || sqs.receive_message().queue_url(JOBS).visibility_timeout(0);

    let bare = one(receive()).await;
    assert_eq!((bare.attributes(), bare.message_attributes()), (None, None));
    assert_eq!(bare.md5_of_message_attributes(), None);

    let count = MessageSystemAttributeName::ApproximateReceiveCount;
    let asked = receive()
        .message_attribute_names("trace.*")
        .message_system_attribute_names(count.clone());
    let some = one(asked).await;
    let names: Vec<&String> = some.message_attributes().unwrap().keys().collect();
    assert_eq!(names, ["trace.id"]);
    let told: BTreeMap<_, _> = some.attributes().unwrap().clone().into_iter().collect();
    assert_eq!(told, [(count, "2".to_owned())].into());
}

/// "SendMessage" and "Amazon SQS message metadata": characters, names, types and values.
#[tokio::test]
async fn what_sqs_does_not_take_is_refused() {
    let sqs = Sqs::new(&cloud().operator());
    for body in ["\u{1}", "a\u{b}b", "\u{fffe}"] {
        let code = refusal(&sqs, body, "kind", text("String", "x")).await;
        assert_eq!(code, "InvalidMessageContents", "{body:?}");
    }
    let invalid = [
        ("kind", text("Text", "x")),
        ("kind", text("String", "")),
        ("kind", text("Number", "many")),
        ("kind", text("Binary", "x")),
        ("AWS.kind", text("String", "x")),
        (".kind", text("String", "x")),
        ("a..b", text("String", "x")),
        ("k nd", text("String", "x")),
    ];
    for (name, attribute) in invalid {
        let code = refusal(&sqs, "x", name, attribute.clone()).await;
        assert_eq!(code, "InvalidParameterValue", "{name} {attribute:?}");
    }
}

/// "SendMessageBatchRequestEntry": up to 80 letters, digits, hyphens and underscores.
#[tokio::test]
async fn a_batch_whose_ids_are_out_of_shape_is_refused_whole() {
    let sqs = Sqs::new(&cloud().operator());
    for id in ["", "not so", &"i".repeat(81)] {
        let entry = SendMessageBatchRequestEntry::builder().id(id);
        let entry = entry.message_body("x").build().unwrap();
        let sent = sqs.send_message_batch().queue_url(JOBS).entries(entry);
        let refused = sent.send().await.unwrap_err().into_service_error();
        assert!(refused.is_invalid_batch_entry_id(), "{id:?}: {refused}");
    }
}

/// "ReceiveMessage": 1 to 10 messages, hidden for 0 to 43,200 seconds.
#[tokio::test]
async fn a_receive_outside_of_its_limits_is_refused() {
    let sqs = Sqs::new(&cloud().operator());
    let receive = || sqs.receive_message().queue_url(JOBS);
    let wrong = [
        receive().max_number_of_messages(0),
        receive().max_number_of_messages(11),
        receive().visibility_timeout(-1),
        receive().visibility_timeout(43_201),
    ];
    for receive in wrong {
        let refused = receive.send().await.unwrap_err();
        assert_eq!(refused.code(), Some("InvalidParameterValue"));
    }
}

/// "DeleteMessage": with an old handle the request succeeds.
#[tokio::test]
async fn a_receipt_handle_that_nobody_gave_is_refused_and_an_old_one_is_not() {
    let sqs = Sqs::new(&cloud().operator());
    let send = sqs.send_message().queue_url(JOBS).message_body("x");
    send.send().await.unwrap();
    let delete = |handle: &str| sqs.delete_message().queue_url(JOBS).receipt_handle(handle);
    let refused = delete("nobody's").send().await.unwrap_err();
    assert!(refused.into_service_error().is_receipt_handle_is_invalid());
    let received = one(sqs.receive_message().queue_url(JOBS)).await;
    for _ in 0..2 {
        let handle = received.receipt_handle().unwrap();
        delete(handle).send().await.unwrap();
    }
}

/// "ReceiveMessage": `ApproximateReceiveCount` counts across all queues.
#[tokio::test]
async fn a_message_in_a_dead_letter_queue_counts_all_its_receives() {
    let sqs = Sqs::new(&cloud().operator());
    let send = sqs.send_message().queue_url(JOBS).message_body("x");
    send.send().await.unwrap();
    let receive = |queue: &str| {
        let receive = sqs.receive_message().queue_url(queue).visibility_timeout(0);
        receive.message_system_attribute_names(MessageSystemAttributeName::All)
    };
    one(receive(JOBS)).await;
    one(receive(JOBS)).await;
    assert!(receive(JOBS).send().await.unwrap().messages().is_empty());
    let dead = one(receive(DEAD)).await;
    let count = MessageSystemAttributeName::ApproximateReceiveCount;
    assert_eq!(dead.attributes().unwrap()[&count], "3");
}

fn update(expression: &str) -> UpdateItemFluentBuilder {
    let update = cloud().dynamodb().update_item().table_name("bookings");
    let update = update.key("booking_id", AttributeValue::S("b-1".to_owned()));
    update.update_expression(expression)
}

fn number(number: &str) -> AttributeValue {
    AttributeValue::N(number.to_owned())
}

/// "UpdateItem": `ALL_OLD` is the item as it was before, and there was none.
#[tokio::test]
async fn an_update_that_makes_a_row_tells_no_old_one() {
    let update = update("SET version = :one").expression_attribute_values(":one", number("1"));
    let made = update.return_values(ReturnValue::AllOld).send().await;
    assert_eq!(made.unwrap().attributes(), None);
}

/// "Update expressions": DELETE supports sets only, ADD numbers and sets.
#[tokio::test]
async fn an_operand_of_the_wrong_type_is_refused_before_anything_is_looked_at() {
    for expression in ["DELETE seen :one", "SET note = :one DELETE seen :one"] {
        let update = update(expression).expression_attribute_values(":one", number("1"));
        let refused = update.send().await.unwrap_err();
        assert_eq!(refused.code(), Some("ValidationException"), "{expression}");
    }
    let update = Update::builder()
        .table_name("bookings")
        .key("booking_id", AttributeValue::S("b-1".to_owned()))
        .update_expression("ADD note :text")
        .expression_attribute_values(":text", AttributeValue::S("x".to_owned()));
    let action = TransactWriteItem::builder().update(update.build().unwrap());
    let dynamodb = cloud().dynamodb();
    let written = dynamodb
        .transact_write_items()
        .transact_items(action.build());
    let refused = written.send().await.unwrap_err();
    assert_eq!(refused.code(), Some("ValidationException"));
}

/// "Comparison operator and function reference": what is not there is equal to nothing.
#[tokio::test]
async fn two_attributes_that_are_not_there_are_not_equal() {
    let update = update("SET version = :one").expression_attribute_values(":one", number("1"));
    let refused = update
        .condition_expression("note = state_shard")
        .send()
        .await;
    let refused = refused.unwrap_err().into_service_error();
    assert!(refused.is_conditional_check_failed_exception());
}

/// A path whose map or list is not there is no path to remove.
#[tokio::test]
async fn a_path_that_leads_nowhere_can_not_be_removed() {
    for path in ["details.a", "lines[0]"] {
        let refused = update(&format!("REMOVE {path}")).send().await.unwrap_err();
        assert_eq!(refused.code(), Some("ValidationException"), "{path}");
    }
}
