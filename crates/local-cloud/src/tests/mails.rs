//! Mails and what becomes of them: from the client to the topic to the function.

use aws_sdk_sesv2::Client;
use aws_sdk_sesv2::operation::send_email::builders::SendEmailFluentBuilder;
use aws_sdk_sesv2::primitives::Blob;
use aws_sdk_sesv2::types::{
    Body, Content, Destination, EmailContent, Message as SimpleMessage, MessageHeader, MessageTag,
    RawMessage,
};

use super::*;

const TEMPLATE: &str = r#"
Resources:
  Fates: {Type: "AWS::SNS::Topic", Properties: {TopicName: mail-fates}}
  FatesPolicy: {Type: "AWS::SNS::TopicPolicy", Properties: {Topics: [!Ref Fates], PolicyDocument: {}}}
  Invoices: {Type: "AWS::SES::ConfigurationSet", Properties: {Name: invoices}}
  InvoicesFates:
    Type: AWS::SES::ConfigurationSetEventDestination
    Properties:
      ConfigurationSetName: !Ref Invoices
      EventDestination:
        Name: fates
        Enabled: true
        MatchingEventTypes: [bounce, complaint]
        SnsDestination: {TopicARN: !Ref Fates}
  Budget:
    Type: AWS::Budgets::Budget
    Properties: {Budget: {BudgetType: COST, TimeUnit: MONTHLY, BudgetLimit: {Amount: 5, Unit: USD}}}
  Sender:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: sender
      Policies:
        - Statement:
            - Effect: Allow
              Action: ses:SendEmail
              Resource:
                - !Sub "arn:aws:ses:${AWS::Region}:${AWS::AccountId}:identity/example.com"
                - !Sub "arn:aws:ses:${AWS::Region}:${AWS::AccountId}:configuration-set/${Invoices}"
  Hearer: {Type: "AWS::Serverless::Function", Properties: {FunctionName: hearer}}
  HearerSubscription:
    Type: AWS::SNS::Subscription
    Properties: {TopicArn: !Ref Fates, Protocol: lambda, Endpoint: !GetAtt Hearer.Arn}
"#;

/// Fails on purpose, with what it heard: the happenings then tell it.
struct Hearer;

impl Function for Hearer {
    const NAME: &'static str = "hearer";

    fn new(_: &Setup) -> Result<Self, ConfigError> {
        Ok(Self)
    }

    async fn handle(&self, event: Value, _: DateTime<Utc>) -> Result<Value, Failure> {
        let message = &event["Records"][0]["Sns"]["Message"];
        Err(message.as_str().unwrap_or_default().into())
    }
}

fn cloud() -> LocalCloud {
    let cloud = LocalCloud::from_template(TEMPLATE, options()).unwrap();
    cloud.install::<Hearer>().unwrap();
    cloud
}

fn client(cloud: &LocalCloud) -> Client {
    lambda_kit::client!(aws_sdk_sesv2, &cloud.setup("sender").unwrap().aws)
}

fn content(text: &str) -> Content {
    Content::builder().data(text).build().unwrap()
}

fn tag(name: &str, value: &str) -> MessageTag {
    let tag = MessageTag::builder().name(name).value(value);
    tag.build().unwrap()
}

fn mail(client: &Client) -> SendEmailFluentBuilder {
    let unsubscribe = MessageHeader::builder()
        .name("List-Unsubscribe")
        .value("<https://example.com/u/1>");
    let body = Body::builder()
        .text(content("Pay"))
        .html(content("<p>Pay</p>"));
    let simple = SimpleMessage::builder()
        .subject(content("Invoice 1"))
        .body(body.build())
        .headers(unsubscribe.build().unwrap());
    let to = Destination::builder()
        .to_addresses("Ada <ada@example.org>")
        .to_addresses("bob@example.org")
        .cc_addresses("cc@example.org");
    client
        .send_email()
        .from_email_address("Billing <billing@example.com>")
        .destination(to.build())
        .reply_to_addresses("help@example.com")
        .content(EmailContent::builder().simple(simple.build()).build())
        .configuration_set_name("invoices")
        .email_tags(tag("kind", "reminder"))
        .email_tags(tag("invoice", "inv-1"))
}

async fn sent(cloud: &LocalCloud) -> String {
    let sent = mail(&client(cloud)).send().await.unwrap();
    sent.message_id().unwrap().to_owned()
}

/// What the hearer was told by the first attempt of each invocation.
async fn heard(cloud: &LocalCloud) -> Vec<Value> {
    let mut happenings = cloud.watch();
    cloud.settle().await;
    let mut heard = Vec::new();
    while let Ok(happening) = happenings.try_recv() {
        if let Happening::InvocationEnded {
            problem: Some(problem),
            ..
        } = happening
        {
            let (_, json) = problem.split_once("error: ").unwrap();
            heard.push(serde_json::from_str(json).unwrap());
        }
    }
    heard
}

#[tokio::test]
async fn a_simple_mail_keeps_everything_it_says() {
    let cloud = cloud();
    let id = sent(&cloud).await;
    let message = cloud.messages().remove(0);
    let shown = [&message.id, &message.to, &message.kind, &message.text];
    assert_eq!(
        shown,
        [
            &id,
            "Ada <ada@example.org>, bob@example.org",
            "reminder",
            "Pay"
        ]
    );
    let mail = message.mail.unwrap();
    assert_eq!(mail.from, "Billing <billing@example.com>");
    assert_eq!(mail.to, ["Ada <ada@example.org>", "bob@example.org"]);
    assert_eq!(
        (mail.cc.as_slice(), mail.bcc.len()),
        (&["cc@example.org".to_owned()][..], 0)
    );
    assert_eq!(mail.reply_to, ["help@example.com"]);
    assert_eq!(
        mail.header("list-unsubscribe"),
        Some("<https://example.com/u/1>")
    );
    assert_eq!(mail.html.as_deref(), Some("<p>Pay</p>"));
    assert_eq!(mail.tags["invoice"], "inv-1");
    assert_eq!(mail.configuration_set.as_deref(), Some("invoices"));
    assert_eq!(cloud.denied(), []);
}

#[tokio::test]
async fn a_raw_mail_is_read() {
    let cloud = cloud();
    let raw = "From: Billing <billing@example.com>\r\nTo: Ada <ada@example.org>, bob@example.org\r\n\
               Subject: =?utf-8?q?Caf=C3=A9?=\r\nList-Unsubscribe: <https://example.com/u/1>,\r\n \
               <mailto:u@example.com>\r\nMIME-Version: 1.0\r\n\
               Content-Type: multipart/alternative; boundary=b\r\n\r\n\
               --b\r\nContent-Type: text/plain\r\n\r\nPay\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>Pay</p>\r\n--b--\r\n";
    let message = RawMessage::builder().data(Blob::new(raw)).build().unwrap();
    let content = EmailContent::builder().raw(message).build();
    let send = client(&cloud).send_email().content(content);
    send.configuration_set_name("invoices")
        .send()
        .await
        .unwrap();
    let message = cloud.messages().remove(0);
    let mail = message.mail.unwrap();
    assert_eq!(
        (message.subject.as_str(), message.text.trim()),
        ("Café", "Pay")
    );
    assert_eq!(mail.from, "billing@example.com");
    assert_eq!(mail.to, ["ada@example.org", "bob@example.org"]);
    let unsubscribe = "<https://example.com/u/1>, <mailto:u@example.com>";
    assert_eq!(mail.header("List-Unsubscribe"), Some(unsubscribe));
    assert_eq!(mail.html.as_deref().map(str::trim), Some("<p>Pay</p>"));
    assert_eq!(mail.raw.as_deref(), Some(raw));
}

#[tokio::test]
async fn a_bounce_and_a_complaint_reach_the_function_through_the_topic() {
    let cloud = cloud();
    let id = sent(&cloud).await;
    cloud.advance(Duration::minutes(5)).await;
    assert_eq!(cloud.decide_mail(&id, MailFate::BouncedForGood), 1);
    let bounce = heard(&cloud).await.remove(0);
    assert_eq!(bounce["eventType"], "Bounce");
    assert!(bounce.get("notificationType").is_none());
    assert_eq!(bounce["bounce"]["bounceType"], "Permanent");
    assert_eq!(
        bounce["bounce"]["bouncedRecipients"][0]["emailAddress"],
        "ada@example.org"
    );
    assert_eq!(bounce["bounce"]["timestamp"], "2027-03-01T09:05:00.000Z");
    let about = &bounce["mail"];
    assert_eq!(about["messageId"], id.as_str());
    assert_eq!(about["timestamp"], "2027-03-01T09:00:00.000Z");
    let destination = json!(["ada@example.org", "bob@example.org", "cc@example.org"]);
    assert_eq!(about["destination"], destination);
    assert_eq!(about["tags"]["invoice"], json!(["inv-1"]));
    assert_eq!(about["tags"]["ses:configuration-set"], json!(["invoices"]));
    assert_eq!(about["commonHeaders"]["subject"], "Invoice 1");
    cloud.decide_mail(&id, MailFate::BouncedForNow);
    let bounce = heard(&cloud).await.remove(0);
    assert_eq!(bounce["bounce"]["bounceType"], "Transient");
    cloud.decide_mail(&id, MailFate::Complained);
    let complaint = heard(&cloud).await.remove(0);
    assert_eq!(complaint["eventType"], "Complaint");
    assert_eq!(
        complaint["complaint"]["complainedRecipients"][1]["emailAddress"],
        "bob@example.org"
    );
    assert_eq!(complaint["complaint"]["complaintFeedbackType"], "abuse");
}

#[tokio::test]
async fn what_the_destination_does_not_match_is_not_published() {
    let cloud = cloud();
    let id = sent(&cloud).await;
    assert_eq!(cloud.decide_mail(&id, MailFate::Delivered), 0);
    assert_eq!(cloud.decide_mail("nobody", MailFate::BouncedForGood), 0);
    assert_eq!(heard(&cloud).await, Vec::<Value>::new());
    let template = TEMPLATE.replace("[bounce, complaint]", "[SEND, delivery]");
    let cloud = LocalCloud::from_template(&template, options()).unwrap();
    cloud.install::<Hearer>().unwrap();
    let id = sent(&cloud).await;
    assert_eq!(cloud.decide_mail(&id, MailFate::Delivered), 1);
    let kinds: Vec<Value> = heard(&cloud)
        .await
        .iter()
        .map(|event| event["eventType"].clone())
        .collect();
    assert_eq!(kinds, ["Send", "Delivery"]);
}

#[tokio::test]
async fn a_configuration_set_must_exist_and_be_allowed() {
    let cloud = cloud();
    let operator = lambda_kit::client!(aws_sdk_sesv2, &cloud.operator());
    let send = |client: &Client, set: &str| mail(client).configuration_set_name(set).send();
    let missing = send(&operator, "nobody")
        .await
        .unwrap_err()
        .into_service_error();
    assert!(missing.is_not_found_exception());
    let denied = send(&client(&cloud), "nobody")
        .await
        .unwrap_err()
        .into_service_error();
    assert_eq!(denied.meta().code(), Some("AccessDeniedException"));
    assert_eq!(cloud.messages(), []);
}

#[tokio::test]
async fn an_operator_sees_whether_the_account_may_send() {
    let cloud = cloud();
    let operator = lambda_kit::client!(aws_sdk_sesv2, &cloud.operator());
    let account = operator.get_account().send().await.unwrap();
    assert!(account.production_access_enabled() && account.sending_enabled());
    sent(&cloud).await;
    cloud.set_mail_account(MailAccount {
        production_access_enabled: false,
        sending_enabled: false,
    });
    let account = operator.get_account().send().await.unwrap();
    assert!(!account.production_access_enabled() && !account.sending_enabled());
    assert_eq!(account.send_quota().unwrap().sent_last24_hours(), 1.0);
    let paused = mail(&operator)
        .send()
        .await
        .unwrap_err()
        .into_service_error();
    assert!(paused.is_sending_paused_exception());
    let denied = client(&cloud).get_account().send().await;
    assert!(denied.is_err(), "the sender's role does not name it");
}
