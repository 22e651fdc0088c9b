//! S3: objects are put, read, and listed, with their versions. No multipart uploads, no deletes.

mod list;
mod upload;

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use md5::Md5;
use sha2::Digest;

use crate::cloud::Cloud;
use crate::iam::Access;
use crate::store::{ObjectVersion, State};
use crate::wire::{Answer, AwsRequest};
use upload::Upload;

/// One call may bring 5 GB to AWS; nothing here needs more than this.
const OBJECT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Keys of UTF-8.
const KEY_BYTES_MAX: usize = 1_024;
/// The version of an object in a bucket without versions.
const NO_VERSION: &str = "null";

/// An object's address.
struct Address<'a> {
    bucket: &'a str,
    key: &'a str,
}

impl<'a> Address<'a> {
    fn of(request: &'a AwsRequest) -> Self {
        let (bucket, key) = request
            .path_name
            .split_once('/')
            .unwrap_or((&request.path_name, ""));
        Self { bucket, key }
    }

    fn version<'b>(&self, state: &'b State, wanted: Option<&str>) -> Option<&'b ObjectVersion> {
        let versions = state.objects.get(self.bucket)?.get(self.key)?;
        match wanted {
            Some(id) => versions.iter().find(|version| version.id == id),
            None => versions.last(),
        }
    }
}

/// An error of the API.
struct Refusal {
    status: u16,
    code: &'static str,
    message: String,
}

fn refusal(status: u16, code: &'static str, message: impl Into<String>) -> Refusal {
    Refusal {
        status,
        code,
        message: message.into(),
    }
}

pub(super) fn needs(cloud: &Cloud, request: &AwsRequest) -> Option<Vec<Access>> {
    let address = Address::of(request);
    let bucket = format!("arn:aws:s3:::{}", address.bucket);
    let object = |action: &str| Access::new(action, format!("{bucket}/{}", address.key));
    let mut list = Access::new("s3:ListBucket", bucket.clone());
    match request.operation.as_str() {
        "PutObject" => Some(vec![object("s3:PutObject")]),
        "GetObject" | "HeadObject" => {
            let version = request.rest.query("versionId");
            let own = object(match version {
                Some(_) => "s3:GetObjectVersion",
                None => "s3:GetObject",
            });
            let no_bucket = !cloud.stack.buckets.contains_key(address.bucket);
            let there = |state: &State| no_bucket || address.version(state, version).is_some();
            // Who may not list a bucket is not told that a key is missing: it is denied.
            Some(match cloud.store.look(there) {
                true => vec![own],
                false => vec![own, list],
            })
        }
        "ListObjectsV2" => {
            if let Some(prefix) = request.rest.query("prefix") {
                let prefix = [prefix.to_owned()].into();
                list.context.insert("s3:prefix".to_owned(), prefix);
            }
            Some(vec![list])
        }
        _ => None,
    }
}

pub(super) fn perform(cloud: &Cloud, request: &AwsRequest) -> Answer {
    let address = Address::of(request);
    let done = match request.operation.as_str() {
        "PutObject" => put(cloud, request, &address),
        "GetObject" | "HeadObject" => get(cloud, request, &address),
        "ListObjectsV2" => list::list(cloud, request, address.bucket),
        _ => return request.unknown_operation(),
    };
    done.unwrap_or_else(|refusal| request.error(refusal.status, refusal.code, &refusal.message))
}

fn versioned(cloud: &Cloud, bucket: &str) -> Result<bool, Refusal> {
    let bucket = cloud.stack.buckets.get(bucket);
    let bucket = bucket
        .ok_or_else(|| refusal(404, "NoSuchBucket", "The specified bucket does not exist"))?;
    Ok(bucket.versioned)
}

/// What would change the answer, and is not played.
fn check_headers(request: &AwsRequest, unplayed: &[&str]) -> Result<(), Refusal> {
    match unplayed
        .iter()
        .find(|name| request.rest.header(name).is_some())
    {
        Some(name) => Err(refusal(
            501,
            "NotImplemented",
            format!("the local cloud plays no header {name}"),
        )),
        None => Ok(()),
    }
}

fn put(cloud: &Cloud, request: &AwsRequest, address: &Address<'_>) -> Result<Answer, Refusal> {
    versioned(cloud, address.bucket)?;
    check_headers(request, &["if-match"])?;
    let upload = upload::read(&request.rest)?;
    let only_new = match request.rest.header("if-none-match") {
        None => false,
        Some("*") => true,
        Some(_) => {
            let message = "A header you provided implies functionality that is not implemented";
            return Err(refusal(501, "NotImplemented", message));
        }
    };
    let version = keep(cloud, address, upload, only_new)?;
    let mut answer = request.answer_text(Bytes::new());
    answer.headers = vec![("etag".to_owned(), version.etag)];
    answer.headers.extend(version_header(&version.id));
    answer.headers.extend(checksum_headers(&version.headers));
    Ok(answer)
}

/// Stores an object's newest version; with `only_new`, if it is the first.
fn keep(
    cloud: &Cloud,
    address: &Address<'_>,
    upload: Upload,
    only_new: bool,
) -> Result<ObjectVersion, Refusal> {
    let Address { bucket, key } = *address;
    let Upload { bytes, headers } = upload;
    let versioned = versioned(cloud, bucket)?;
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        return Err(refusal(400, "KeyTooLongError", "Your key is too long"));
    }
    if bytes.len() > OBJECT_BYTES_MAX {
        let message = "Your proposed upload exceeds the maximum allowed size";
        return Err(refusal(400, "EntityTooLarge", message));
    }
    let failed = |error: std::io::Error| refusal(500, "InternalError", error.to_string());
    let hex = |digest: &[u8]| -> String { digest.iter().map(|b| format!("{b:02x}")).collect() };
    let version = ObjectVersion {
        id: match versioned {
            true => cloud.new_id("version"),
            false => NO_VERSION.to_owned(),
        },
        sha256: cloud.store.blobs().keep(&bytes).map_err(failed)?,
        size: bytes.len(),
        etag: format!("\"{}\"", hex(&Md5::digest(&bytes))),
        modified_at: cloud.clock.now(),
        headers,
    };
    cloud.store.change(|state| {
        let objects = state.objects.entry(bucket.to_owned()).or_default();
        let versions = objects.entry(key.to_owned()).or_default();
        if only_new && !versions.is_empty() {
            let message = "At least one of the pre-conditions you specified did not hold";
            return Err(refusal(412, "PreconditionFailed", message));
        }
        versions.retain(|known| known.id != version.id);
        versions.push(version.clone());
        Ok(version)
    })
}

fn get(cloud: &Cloud, request: &AwsRequest, address: &Address<'_>) -> Result<Answer, Refusal> {
    versioned(cloud, address.bucket)?;
    check_headers(
        request,
        &["range", "if-match", "if-none-match", "if-modified-since"],
    )?;
    let wanted = request.rest.query("versionId");
    let version = cloud
        .store
        .look(|state| address.version(state, wanted).cloned());
    let version = version.ok_or_else(|| match wanted {
        Some(_) => refusal(
            404,
            "NoSuchVersion",
            "The specified version does not exist.",
        ),
        None => refusal(404, "NoSuchKey", "The specified key does not exist."),
    })?;
    let bytes = bytes_of(cloud, &version)
        .ok_or_else(|| refusal(500, "InternalError", "the object's bytes are lost"))?;
    let mut answer = match request.operation.as_str() {
        "HeadObject" => request.answer_text(Bytes::new()),
        _ => request.answer_text(bytes),
    };
    let modified = version.modified_at.format("%a, %d %b %Y %H:%M:%S GMT");
    answer.headers = vec![
        ("etag".to_owned(), version.etag.clone()),
        ("content-length".to_owned(), version.size.to_string()),
        ("last-modified".to_owned(), modified.to_string()),
    ];
    answer.headers.extend(version_header(&version.id));
    let enabled = request.rest.header("x-amz-checksum-mode") == Some("ENABLED");
    let kept = version.headers.into_iter();
    let kept = kept.filter(|(name, _)| enabled || !upload::is_checksum(name));
    answer.headers.extend(kept);
    Ok(answer)
}

fn version_header(id: &str) -> Option<(String, String)> {
    (id != NO_VERSION).then(|| ("x-amz-version-id".to_owned(), id.to_owned()))
}

fn checksum_headers(headers: &BTreeMap<String, String>) -> Vec<(String, String)> {
    let checksums = headers.iter().filter(|(name, _)| upload::is_checksum(name));
    checksums
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn bytes_of(cloud: &Cloud, version: &ObjectVersion) -> Option<Bytes> {
    cloud.store.blobs().get(&version.sha256)
}

/// Puts an object as its owner would, without a call.
///
/// # Errors
/// What S3 would say, as a sentence.
pub(crate) fn put_directly(
    cloud: &Cloud,
    bucket: &str,
    key: &str,
    bytes: &Bytes,
) -> Result<String, String> {
    let upload = Upload {
        headers: upload::default_headers(bytes),
        bytes: bytes.clone(),
    };
    keep(cloud, &Address { bucket, key }, upload, false)
        .map(|version| version.id)
        .map_err(|refusal| format!("{}: {}", refusal.code, refusal.message))
}

/// The newest version of an object.
pub(crate) fn newest(cloud: &Cloud, bucket: &str, key: &str) -> Option<(ObjectVersion, Bytes)> {
    let address = Address { bucket, key };
    let version = cloud
        .store
        .look(|state| address.version(state, None).cloned())?;
    let bytes = bytes_of(cloud, &version)?;
    Some((version, bytes))
}

fn base64_of(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
