//! Floor of `policy`.

pub mod address;
pub mod network;
pub mod paths;
pub mod request;
pub mod words;
