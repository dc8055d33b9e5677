//! Contents of values from a file of the user's own.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::payload::STAMP_BYTES;

/// Where a content begins among all, and how long it is, with what stands before it.
pub(crate) type Place = (usize, usize);

/// Contents of values from a file, used in rotation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PayloadFile {
    pub path: PathBuf,
    pub form: PayloadForm,
    /// Values are the contents alone: the stamp is in a header.
    #[serde(default)]
    pub stamp_in_header: bool,
    /// Before each content, as a schema registry's clients have it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prefix: Vec<u8>,
}

/// How the file is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PayloadForm {
    /// By line ends, which do not belong to them; empty lines are left out.
    Lines,
    /// Each content behind its length, 4 bytes, big-endian.
    LengthPrefixed,
    /// One content.
    Whole,
}

impl PayloadFile {
    /// The contents, each with room for the stamp before it if that is not in a header, and where each begins and how long it is.
    pub(crate) fn read(&self) -> Result<(Vec<u8>, Vec<Place>)> {
        let bytes = std::fs::read(&self.path).with_context(|| format!("{} cannot be read", self.path.display()))?;
        let contents: Vec<&[u8]> = match self.form {
            PayloadForm::Lines => bytes
                .split(|&byte| byte == b'\n')
                .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
                .filter(|line| !line.is_empty())
                .collect(),
            PayloadForm::LengthPrefixed => length_prefixed(&bytes)?,
            PayloadForm::Whole if bytes.is_empty() => Vec::new(),
            PayloadForm::Whole => vec![&bytes],
        };
        ensure!(!contents.is_empty(), "{} holds no content", self.path.display());
        let before = [
            vec![0; if self.stamp_in_header { 0 } else { STAMP_BYTES }],
            self.prefix.clone(),
        ]
        .concat();
        let mut pool = Vec::with_capacity(bytes.len() + contents.len() * before.len());
        let mut places = Vec::with_capacity(contents.len());
        for content in contents {
            places.push((pool.len(), before.len() + content.len()));
            pool.extend_from_slice(&before);
            pool.extend_from_slice(content);
        }
        Ok((pool, places))
    }
}

fn length_prefixed(mut rest: &[u8]) -> Result<Vec<&[u8]>> {
    let mut contents = Vec::new();
    while !rest.is_empty() {
        let (length, behind) = rest
            .split_first_chunk::<4>()
            .context("the payload ends inside a length")?;
        let length = u32::from_be_bytes(*length) as usize;
        contents.push(behind.get(..length).context("the payload ends inside a content")?);
        rest = &behind[length..];
    }
    Ok(contents)
}
