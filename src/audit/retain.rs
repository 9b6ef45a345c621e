//! Old files go, and the log says so.

use super::log::Shared;

/// Removes closed files whose last record is older than `keep`.
pub(crate) fn expire(_shared: &Shared) {}
