//! ListObjectsV2: keys by prefix, page by page.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::{Refusal, refusal, versioned};
use crate::cloud::Cloud;
use crate::store::ObjectVersion;
use crate::wire::{Answer, AwsRequest, xml_text};

const PAGE_MAX: usize = 1_000;

pub(super) fn list(cloud: &Cloud, request: &AwsRequest, bucket: &str) -> Result<Answer, Refusal> {
    versioned(cloud, bucket)?;
    let query = |name: &str| request.rest.query(name);
    if let Some(name) = ["delimiter", "encoding-type", "fetch-owner"]
        .iter()
        .find(|name| query(name).is_some())
    {
        let message = format!("the local cloud plays no {name}");
        return Err(refusal(501, "NotImplemented", message));
    }
    let invalid = |message: &str| refusal(400, "InvalidArgument", message);
    let size = match query("max-keys").map(str::parse::<usize>) {
        None => PAGE_MAX,
        Some(Ok(size)) => size.min(PAGE_MAX),
        Some(Err(_)) => return Err(invalid("Provided max-keys not an integer")),
    };
    let token = query("continuation-token").map(|token| {
        let key = URL_SAFE_NO_PAD.decode(token).ok();
        key.and_then(|key| String::from_utf8(key).ok())
            .ok_or_else(|| invalid("The continuation token provided is incorrect"))
    });
    let after = match token.transpose()? {
        Some(key) => Some(key),
        None => query("start-after").map(str::to_owned),
    };
    let prefix = query("prefix").unwrap_or_default();
    let page = page(cloud, bucket, prefix, after.as_deref(), size);
    let body = body(bucket, prefix, size, &page);
    Ok(request.answer_text(body))
}

struct Page {
    entries: Vec<(String, ObjectVersion)>,
    is_truncated: bool,
}

fn page(cloud: &Cloud, bucket: &str, prefix: &str, after: Option<&str>, size: usize) -> Page {
    let mut entries: Vec<(String, ObjectVersion)> = cloud.store.look(|state| {
        let objects = state.objects.get(bucket).into_iter().flatten();
        let wanted = objects
            .filter(|(key, _)| key.starts_with(prefix))
            .filter(|(key, _)| after.is_none_or(|after| key.as_str() > after));
        let newest = wanted.filter_map(|(key, versions)| Some((key, versions.last()?)));
        newest
            .take(size.saturating_add(1))
            .map(|(key, version)| (key.clone(), version.clone()))
            .collect()
    });
    let is_truncated = size > 0 && entries.len() > size;
    entries.truncate(size);
    Page {
        entries,
        is_truncated,
    }
}

fn body(bucket: &str, prefix: &str, size: usize, page: &Page) -> String {
    let contents: String = page.entries.iter().map(contents).collect();
    let last = page.entries.last().filter(|_| page.is_truncated);
    let next = last.map_or_else(String::new, |(key, _)| {
        let token = URL_SAFE_NO_PAD.encode(key);
        format!("<NextContinuationToken>{token}</NextContinuationToken>")
    });
    format!(
        "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\
         <Name>{bucket}</Name><Prefix>{}</Prefix><KeyCount>{}</KeyCount><MaxKeys>{size}</MaxKeys>\
         <IsTruncated>{}</IsTruncated>{next}{contents}</ListBucketResult>",
        xml_text(prefix),
        page.entries.len(),
        page.is_truncated,
    )
}

fn contents((key, version): &(String, ObjectVersion)) -> String {
    let modified = version
        .modified_at
        .to_rfc3339_opts(chrono::SecondsFormat::Millis, true);
    format!(
        "<Contents><Key>{}</Key><LastModified>{modified}</LastModified><ETag>{}</ETag>\
         <Size>{}</Size><StorageClass>STANDARD</StorageClass></Contents>",
        xml_text(key),
        xml_text(&version.etag),
        version.size,
    )
}
