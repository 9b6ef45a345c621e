//! What needs no server: the library through its public functions, and the rules of the repository.

mod approvals;
mod architecture;
mod audit;
mod filters;
mod injection_samples;
mod judge;
mod judge_approvals;
mod judge_later;
mod manifest;
mod manifest_page;
mod policy;
mod policy_properties;
mod programs;
mod web;
