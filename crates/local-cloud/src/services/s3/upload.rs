//! What comes with PutObject: the bytes, perhaps in chunks with a trailer, and their checksums.

use std::collections::BTreeMap;

use aws_smithy_checksums::ChecksumAlgorithm;
use bytes::Bytes;
use md5::Md5;
use sha2::Digest;

use super::{OBJECT_BYTES_MAX, Refusal, base64_of, refusal};
use crate::rest::RestCall;

const CHECKSUM: &str = "x-amz-checksum-";
/// The headers that come back as they were sent, beside `x-amz-meta-…`.
const KEPT: [&str; 5] = [
    "cache-control",
    "content-disposition",
    "content-language",
    "content-type",
    "expires",
];
const METADATA_BYTES_MAX: usize = 2_048;

pub(super) struct Upload {
    pub(super) bytes: Bytes,
    /// What comes back with the object.
    pub(super) headers: BTreeMap<String, String>,
}

/// Reads an upload, and checks what it says about itself.
pub(super) fn read(call: &RestCall) -> Result<Upload, Refusal> {
    let mut trailer = BTreeMap::new();
    let is_chunked = call
        .header("x-amz-content-sha256")
        .is_some_and(|hash| hash.starts_with("STREAMING-"));
    let bytes = if is_chunked {
        let (bytes, read) = unchunked(&call.bytes).ok_or_else(incomplete)?;
        trailer = read;
        let length = call.header("x-amz-decoded-content-length");
        if length.and_then(|length| length.parse().ok()) != Some(bytes.len()) {
            return Err(incomplete());
        }
        bytes
    } else {
        call.bytes.clone()
    };
    if bytes.len() > OBJECT_BYTES_MAX {
        let message = "Your proposed upload exceeds the maximum allowed size";
        return Err(refusal(400, "EntityTooLarge", message));
    }
    check_md5(call, &bytes)?;
    let sent = call.headers.iter().chain(&trailer);
    let sent = sent.filter(|(name, _)| is_checksum(name));
    let checksums: BTreeMap<&String, &String> = sent.collect();
    for (name, value) in &checksums {
        check_checksum(name, value, &bytes)?;
    }
    let mut headers = kept_headers(call)?;
    match checksums.is_empty() {
        true => headers.extend([default_checksum(&bytes)]),
        false => headers.extend(
            checksums
                .into_iter()
                .map(|(name, value)| (name.clone(), value.clone())),
        ),
    }
    Ok(Upload { bytes, headers })
}

/// `x-amz-checksum-crc32` and its like, not `x-amz-checksum-mode` and `-algorithm`.
pub(super) fn is_checksum(name: &str) -> bool {
    algorithm(name).is_some()
}

fn algorithm(name: &str) -> Option<ChecksumAlgorithm> {
    let name = name.strip_prefix(CHECKSUM)?;
    name.parse().ok()
}

/// The headers of an object that came without any.
pub(super) fn default_headers(bytes: &Bytes) -> BTreeMap<String, String> {
    let kind = "binary/octet-stream".to_owned();
    [("content-type".to_owned(), kind), default_checksum(bytes)].into()
}

/// S3 makes one of its own when none was sent.
fn default_checksum(bytes: &Bytes) -> (String, String) {
    let name = format!("{CHECKSUM}crc64nvme");
    let value = checksum(ChecksumAlgorithm::Crc64Nvme, bytes);
    (name, value)
}

fn checksum(algorithm: ChecksumAlgorithm, bytes: &[u8]) -> String {
    let mut checksum = algorithm.into_impl();
    checksum.update(bytes);
    base64_of(&checksum.finalize())
}

fn check_checksum(name: &str, value: &str, bytes: &[u8]) -> Result<(), Refusal> {
    match algorithm(name) {
        Some(algorithm) if checksum(algorithm, bytes) != value => {
            let message = format!("The {name} you specified did not match what we received.");
            Err(refusal(400, "BadDigest", message))
        }
        Some(_) | None => Ok(()),
    }
}

fn check_md5(call: &RestCall, bytes: &[u8]) -> Result<(), Refusal> {
    match call.header("content-md5") {
        Some(sent) if sent != base64_of(&Md5::digest(bytes)) => {
            let message = "The Content-MD5 you specified did not match what we received.";
            Err(refusal(400, "BadDigest", message))
        }
        Some(_) | None => Ok(()),
    }
}

fn kept_headers(call: &RestCall) -> Result<BTreeMap<String, String>, Refusal> {
    let is_kept = |name: &str| KEPT.contains(&name) || name.starts_with("x-amz-meta-");
    let mut headers: BTreeMap<String, String> = call
        .headers
        .iter()
        .filter(|(name, _)| is_kept(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let metadata = headers
        .iter()
        .filter_map(|(name, value)| Some((name.strip_prefix("x-amz-meta-")?, value)));
    let size: usize = metadata.map(|(name, value)| name.len() + value.len()).sum();
    if size > METADATA_BYTES_MAX {
        let message = "Your metadata headers exceed the maximum allowed metadata size";
        return Err(refusal(400, "MetadataTooLarge", message));
    }
    headers
        .entry("content-type".to_owned())
        .or_insert_with(|| "binary/octet-stream".to_owned());
    // The chunks are of the journey, not of the object.
    let encoding = call.header("content-encoding").unwrap_or_default();
    let encodings = encoding.split(',').map(str::trim);
    let encodings: Vec<&str> = encodings
        .filter(|encoding| !encoding.is_empty() && *encoding != "aws-chunked")
        .collect();
    if !encodings.is_empty() {
        headers.insert("content-encoding".to_owned(), encodings.join(","));
    }
    Ok(headers)
}

fn incomplete() -> Refusal {
    let message =
        "You did not provide the number of bytes specified by the Content-Length HTTP header";
    refusal(400, "IncompleteBody", message)
}

/// Takes `aws-chunked` apart into the bytes and the trailer:
/// `5;chunk-signature=…\r\nhello\r\n0\r\nx-amz-checksum-crc32:…\r\n\r\n`.
fn unchunked(body: &[u8]) -> Option<(Bytes, BTreeMap<String, String>)> {
    let mut bytes = Vec::with_capacity(body.len());
    let mut rest = body;
    // Each turn takes at least one byte away.
    loop {
        let (line, after) = line(rest)?;
        let size = line.split(';').next()?;
        let size = usize::from_str_radix(size, 16).ok()?;
        if size == 0 {
            return Some((bytes.into(), trailer(after)?));
        }
        bytes.extend_from_slice(after.get(..size)?);
        rest = after.get(size..)?.strip_prefix(b"\r\n")?;
    }
}

fn trailer(mut rest: &[u8]) -> Option<BTreeMap<String, String>> {
    let mut headers = BTreeMap::new();
    while !rest.is_empty() {
        let (text, after) = line(rest)?;
        if let Some((name, value)) = text.split_once(':') {
            headers.insert(name.to_lowercase(), value.trim().to_owned());
        }
        rest = after;
    }
    Some(headers)
}

/// The text up to the next line's end, and what comes after it.
fn line(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let end = bytes.windows(2).position(|pair| pair == b"\r\n")?;
    let text = std::str::from_utf8(bytes.get(..end)?).ok()?;
    Some((text, bytes.get(end + 2..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(headers: &[(&str, &str)], body: &'static [u8]) -> RestCall {
        let headers = headers.iter();
        RestCall {
            headers: headers
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            bytes: Bytes::from_static(body),
            ..RestCall::default()
        }
    }

    fn code(headers: &[(&str, &str)], body: &'static [u8]) -> &'static str {
        match read(&call(headers, body)) {
            Ok(_) => "ok",
            Err(refusal) => refusal.code,
        }
    }

    const SIGNED: [(&str, &str); 2] = [
        ("x-amz-content-sha256", "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"),
        ("x-amz-decoded-content-length", "11"),
    ];

    #[test]
    fn signed_chunks_become_the_object() {
        let body = b"6;chunk-signature=ab\r\nhello \r\n5;chunk-signature=cd\r\nworld\r\n0;chunk-signature=ef\r\n\r\n";
        let upload = read(&call(&SIGNED, body)).ok().unwrap();
        assert_eq!(upload.bytes.as_ref(), b"hello world");
        assert_eq!(code(&SIGNED, b"6\r\nhello \r\n0\r\n\r\n"), "IncompleteBody");
        assert_eq!(code(&SIGNED, b"6\r\nhel"), "IncompleteBody");
    }

    #[test]
    fn a_checksum_that_does_not_fit_is_refused() {
        let crc32 = |value| code(&[("x-amz-checksum-crc32", value)], b"hello world");
        assert_eq!(crc32("DUoRhQ=="), "ok");
        assert_eq!(crc32("AAAAAA=="), "BadDigest");
        let md5 = |value| code(&[("content-md5", value)], b"hello world");
        assert_eq!(md5("XrY7u+Ae7tCTyyK7j1rNww=="), "ok");
        assert_eq!(md5("AAAAAAAAAAAAAAAAAAAAAA=="), "BadDigest");
        let trailer = b"b\r\nhello world\r\n0\r\nx-amz-checksum-crc32:AAAAAA==\r\n\r\n";
        assert_eq!(code(&SIGNED, trailer), "BadDigest");
    }

    #[test]
    fn the_chunks_are_no_encoding_of_the_object() {
        let upload = read(&call(&[("content-encoding", "gzip,aws-chunked")], b"x"));
        let headers = upload.ok().unwrap().headers;
        assert_eq!(headers["content-encoding"], "gzip");
        assert_eq!(headers["content-type"], "binary/octet-stream");
        assert!(headers.contains_key("x-amz-checksum-crc64nvme"));
    }
}
