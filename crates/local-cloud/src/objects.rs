//! The objects of S3 from outside.

use bytes::Bytes;
use chrono::{DateTime, Utc};

use crate::{CloudError, LocalCloud, services};

/// The newest version of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub bytes: Bytes,
    /// `null` in a bucket without versions.
    pub version: String,
    pub content_type: String,
    pub modified_at: DateTime<Utc>,
}

impl LocalCloud {
    /// Puts an object, as its owner would. Returns its version: `null` in a bucket without versions.
    ///
    /// # Errors
    /// A bucket that the template does not have, or a key or size that S3 would refuse.
    pub fn put_object(
        &self,
        bucket: &str,
        key: &str,
        bytes: impl Into<Bytes>,
    ) -> Result<String, CloudError> {
        let put = services::put_object(&self.0, bucket, key, &bytes.into());
        put.map_err(|problem| CloudError::Resource {
            resource: bucket.to_owned(),
            problem,
        })
    }

    /// Reads an object; `None` when there is none.
    pub fn object(&self, bucket: &str, key: &str) -> Option<Object> {
        let (version, bytes) = services::newest_object(&self.0, bucket, key)?;
        let content_type = version.headers.get("content-type");
        Some(Object {
            bytes,
            content_type: content_type.cloned().unwrap_or_default(),
            modified_at: version.modified_at,
            version: version.id,
        })
    }
}
