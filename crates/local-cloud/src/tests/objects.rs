//! S3 through its client: objects with their versions, checksums and permissions.

use aws_sdk_s3::Client;
use aws_sdk_s3::error::ProvideErrorMetadata;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::ChecksumMode;

use super::*;

const TEMPLATE: &str = r#"
Resources:
  Kit:
    Type: AWS::S3::Bucket
    Properties: {BucketName: !Sub "kit-${AWS::AccountId}", VersioningConfiguration: {Status: Enabled}}
  KitPolicy:
    Type: AWS::S3::BucketPolicy
    Properties: {Bucket: !Ref Kit, PolicyDocument: {Statement: []}}
  Scratch: {Type: "AWS::S3::Bucket"}
  Reader:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: reader
      Policies:
        - Statement:
            - {Effect: Allow, Action: s3:GetObject, Resource: !Sub "${Kit.Arn}/brand/*"}
  Lister:
    Type: AWS::Serverless::Function
    Properties:
      FunctionName: lister
      Policies:
        - Statement:
            - {Effect: Allow, Action: [s3:GetObject, s3:GetObjectVersion, s3:PutObject], Resource: !Sub "${Kit.Arn}/*"}
            - {Effect: Allow, Action: s3:ListBucket, Resource: !GetAtt Kit.Arn,
               Condition: {StringLike: {s3:prefix: brand/*}}}
"#;

const KIT: &str = "kit-000000000000";
const SCRATCH: &str = "paidonce-scratch";

fn cloud() -> LocalCloud {
    LocalCloud::from_template(TEMPLATE, options()).unwrap()
}

fn client_of(cloud: &LocalCloud, function: &str) -> Client {
    lambda_kit::client!(aws_sdk_s3, &cloud.setup(function).unwrap().aws)
}

async fn text(client: &Client, bucket: &str, key: &str) -> Result<String, String> {
    match client.get_object().bucket(bucket).key(key).send().await {
        Ok(object) => {
            let bytes = object.body.collect().await.unwrap();
            Ok(String::from_utf8(bytes.to_vec()).unwrap())
        }
        Err(error) => Err(error.code().unwrap_or_default().to_owned()),
    }
}

#[tokio::test]
async fn an_object_comes_back_as_it_was_put_in_either_style() {
    let cloud = cloud();
    let path_style = aws_sdk_s3::config::Builder::from(&cloud.operator()).force_path_style(true);
    for client in [
        lambda_kit::client!(aws_sdk_s3, &cloud.operator()),
        Client::from_conf(path_style.build()),
    ] {
        let key = "brand/a kit+more=&é.json";
        let put = client.put_object().bucket(KIT).key(key);
        let put = put
            .body(ByteStream::from_static(b"{}"))
            .content_type("application/json");
        let put = put.metadata("owner", "finance").send().await.unwrap();
        assert!(put.checksum_crc32().is_some());
        let get = client.get_object().bucket(KIT).key(key);
        let object = get
            .checksum_mode(ChecksumMode::Enabled)
            .send()
            .await
            .unwrap();
        assert_eq!(object.content_type(), Some("application/json"));
        assert_eq!(object.metadata().unwrap()["owner"], "finance");
        assert_eq!(object.version_id(), put.version_id());
        assert_eq!(object.e_tag(), Some("\"99914b932bd37a50b983c5e7c90ae93b\""));
        assert_eq!(object.checksum_crc32(), put.checksum_crc32());
        assert_eq!(object.body.collect().await.unwrap().to_vec(), b"{}");
        let head = client
            .head_object()
            .bucket(KIT)
            .key(key)
            .send()
            .await
            .unwrap();
        assert_eq!(
            (head.content_length(), head.content_type()),
            (Some(2), Some("application/json"))
        );
        let seconds = head.last_modified().unwrap().secs();
        assert_eq!(seconds, options().start.timestamp());
        assert_eq!(cloud.object(KIT, key).unwrap().bytes.as_ref(), b"{}");
    }
}

#[tokio::test]
async fn a_stream_comes_in_chunks_with_its_checksum_behind_it() {
    let cloud = cloud();
    let client = lambda_kit::client!(aws_sdk_s3, &cloud.operator());
    let path = std::env::temp_dir().join(format!("local-cloud-stream-{}", std::process::id()));
    let bytes: Vec<u8> = (0..200_000_u32)
        .map(|number| u8::try_from(number % 251).unwrap())
        .collect();
    std::fs::write(&path, &bytes).unwrap();
    let body = ByteStream::from_path(&path).await.unwrap();
    client
        .put_object()
        .bucket(KIT)
        .key("large")
        .body(body)
        .send()
        .await
        .unwrap();
    let kept = cloud.object(KIT, "large").unwrap();
    assert_eq!(kept.bytes.as_ref(), bytes);
    let read = client
        .get_object()
        .bucket(KIT)
        .key("large")
        .send()
        .await
        .unwrap();
    assert!(read.content_encoding().is_none());
    assert_eq!(read.body.collect().await.unwrap().to_vec(), bytes);
    std::fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn a_versioned_bucket_keeps_what_was_there_before() {
    let cloud = cloud();
    let client = lambda_kit::client!(aws_sdk_s3, &cloud.operator());
    let first = cloud.put_object(KIT, "brand/kit.json", "one").unwrap();
    let second = cloud.put_object(KIT, "brand/kit.json", "two").unwrap();
    assert_ne!(first, second);
    assert_eq!(
        text(&client, KIT, "brand/kit.json").await,
        Ok("two".to_owned())
    );
    let get = |version: &str| {
        let get = client.get_object().bucket(KIT).key("brand/kit.json");
        get.version_id(version).send()
    };
    let old = get(&first).await.unwrap();
    assert_eq!(old.version_id(), Some(first.as_str()));
    assert_eq!(old.body.collect().await.unwrap().to_vec(), b"one");
    assert_eq!(
        get("nothing").await.unwrap_err().code(),
        Some("NoSuchVersion")
    );
    assert_eq!(cloud.put_object(SCRATCH, "a", "one").unwrap(), "null");
    cloud.put_object(SCRATCH, "a", "two").unwrap();
    let plain = client
        .get_object()
        .bucket(SCRATCH)
        .key("a")
        .send()
        .await
        .unwrap();
    assert_eq!(plain.version_id(), None);
}

#[tokio::test]
async fn what_is_not_there_is_named_as_such() {
    let cloud = cloud();
    let client = lambda_kit::client!(aws_sdk_s3, &cloud.operator());
    let get = client.get_object().bucket(KIT).key("a").send().await;
    assert!(get.unwrap_err().into_service_error().is_no_such_key());
    let head = client.head_object().bucket(KIT).key("a").send().await;
    assert!(head.unwrap_err().into_service_error().is_not_found());
    assert_eq!(
        text(&client, "kit-other", "a").await,
        Err("NoSuchBucket".to_owned())
    );
    assert!(cloud.put_object("kit-other", "a", "x").is_err());
    let put = |bytes: usize| {
        let body = ByteStream::from(vec![0; bytes]);
        client.put_object().bucket(KIT).key("a").body(body).send()
    };
    let too_large = put(16 * 1024 * 1024 + 1).await.unwrap_err();
    assert_eq!(too_large.code(), Some("EntityTooLarge"));
    let deleted = client.delete_object().bucket(KIT).key("a").send().await;
    assert_eq!(
        deleted.unwrap_err().code(),
        Some("UnknownOperationException")
    );
}

#[tokio::test]
async fn a_put_of_what_must_be_new_is_refused_when_it_is_not() {
    let cloud = cloud();
    let client = client_of(&cloud, "lister");
    cloud.faults().add(FaultRule::once(
        "lister",
        "PutObject",
        FaultKind::AnswerLost,
    ));
    let put = || {
        let put = client.put_object().bucket(KIT).key("a").if_none_match("*");
        put.body(ByteStream::from_static(b"x")).send()
    };
    assert_eq!(put().await.unwrap_err().code(), Some("PreconditionFailed"));
    let outcomes: Vec<String> = cloud.calls().into_iter().map(|call| call.outcome).collect();
    assert_eq!(
        outcomes,
        ["ok", "PreconditionFailed"],
        "it met its own write"
    );
}

#[tokio::test]
async fn keys_are_listed_by_prefix_page_by_page() {
    let cloud = cloud();
    for key in ["brand/a", "brand/b<&>", "brand/c", "other"] {
        cloud.put_object(KIT, key, "x").unwrap();
    }
    let client = client_of(&cloud, "lister");
    let mut pages = client
        .list_objects_v2()
        .bucket(KIT)
        .prefix("brand/")
        .max_keys(2)
        .into_paginator()
        .send();
    let mut keys: Vec<Vec<String>> = Vec::new();
    while let Some(page) = pages.next().await {
        let page = page.unwrap();
        let contents = page.contents().iter();
        keys.push(
            contents
                .filter_map(|object| object.key().map(str::to_owned))
                .collect(),
        );
    }
    assert_eq!(keys, [vec!["brand/a", "brand/b<&>"], vec!["brand/c"]]);
    let all = client.list_objects_v2().bucket(KIT).send().await;
    assert_eq!(all.unwrap_err().code(), Some("AccessDenied"));
}

#[tokio::test]
async fn who_may_not_list_is_not_told_that_a_key_is_missing() {
    let cloud = cloud();
    cloud.put_object(KIT, "brand/kit.json", "one").unwrap();
    cloud.put_object(KIT, "other", "one").unwrap();
    let reader = client_of(&cloud, "reader");
    assert_eq!(
        text(&reader, KIT, "brand/kit.json").await,
        Ok("one".to_owned())
    );
    let denied = Err("AccessDenied".to_owned());
    assert_eq!(text(&reader, KIT, "other").await, denied);
    assert_eq!(text(&reader, KIT, "brand/missing.json").await, denied);
    let put = reader
        .put_object()
        .bucket(KIT)
        .key("brand/kit.json")
        .send()
        .await;
    assert_eq!(put.unwrap_err().code(), Some("AccessDenied"));
    let actions: Vec<String> = cloud
        .denied()
        .into_iter()
        .map(|denied| denied.action)
        .collect();
    assert_eq!(actions, ["s3:GetObject", "s3:ListBucket", "s3:PutObject"]);
}

#[tokio::test]
async fn a_slow_down_and_an_internal_error_are_tried_again() {
    let cloud = cloud();
    cloud.put_object(KIT, "brand/kit.json", "one").unwrap();
    for fault in [
        FaultKind::Throttled,
        FaultKind::InternalError,
        FaultKind::AnswerLost,
    ] {
        cloud
            .faults()
            .add(FaultRule::once("reader", "GetObject", fault));
        let reader = client_of(&cloud, "reader");
        assert_eq!(
            text(&reader, KIT, "brand/kit.json").await,
            Ok("one".to_owned())
        );
    }
    let outcomes: Vec<String> = cloud.calls().into_iter().map(|call| call.outcome).collect();
    assert_eq!(
        outcomes,
        ["SlowDown", "ok", "InternalError", "ok", "ok", "ok"]
    );
}

#[tokio::test]
async fn a_restart_finds_the_objects_again() {
    let folder = std::env::temp_dir().join(format!("local-cloud-objects-{}", std::process::id()));
    let options = Options {
        state: Some(folder.clone()),
        ..options()
    };
    let version = {
        let cloud = LocalCloud::from_template(TEMPLATE, options.clone()).unwrap();
        cloud.put_object(KIT, "brand/kit.json", "one").unwrap()
    };
    let cloud = LocalCloud::from_template(TEMPLATE, options).unwrap();
    let kept = cloud.object(KIT, "brand/kit.json").unwrap();
    assert_eq!((kept.bytes.as_ref(), kept.version), (&b"one"[..], version));
    std::fs::remove_dir_all(folder).unwrap();
}
