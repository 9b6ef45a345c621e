//! How a call ends that is refused or fails.

use super::Status;
use crate::model::{Code, Failure, Refusal};

/// The end of a call without an answer of its tool.
#[derive(Debug, Clone)]
pub struct CallError {
    /// What the model is shown.
    pub refusal: Refusal,
    /// What the record calls it.
    pub status: Status,
}

impl From<Refusal> for CallError {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, status: Status::Denied }
    }
}

impl From<Failure> for CallError {
    fn from(Failure(refusal): Failure) -> Self {
        let status = match refusal.code {
            Code::Timeout => Status::Timeout,
            Code::Cancelled | Code::Killed => Status::Killed,
            _ => Status::Error,
        };
        Self { refusal, status }
    }
}
