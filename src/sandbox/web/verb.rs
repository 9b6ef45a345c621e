//! The verb `fetch`: a permit becomes one request.

use std::sync::Arc;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Egress, EgressRequest, Overflow, Page};
use crate::gate::Permit;
use crate::model::{Code, Failure, Fetch, HttpUrl};
use crate::policy::request::Method;

impl Egress {
    /// Sends the request the permit names, at first to the very addresses it was judged on.
    ///
    /// # Errors
    /// As [`Egress::fetch`]; a refusal of a later hop is a failure of the call.
    pub(in crate::sandbox) async fn spend(&self, permit: Permit<Fetch>, cancel: &CancellationToken) -> Result<Page, Failure> {
        let pinned = permit.addresses().to_vec();
        let (action, _, terms) = permit.spend();
        let fault = |what: &str| Failure::new(Code::Internal, what.to_owned());
        let request = EgressRequest {
            url: HttpUrl::parse(&action.url).map_err(Failure)?,
            pinned,
            method: Method::parse(&action.method).ok_or_else(|| fault("the method was not checked"))?,
            headers: action.headers.into_iter().collect(),
            body: action.body.map(String::into_bytes),
            principal: terms.principal.clone(),
            profile: terms.profile.clone(),
            rules: Arc::new(terms.manifest.network.clone()),
            deadline: Instant::now() + terms.timeout,
            max_response: terms.manifest.network.max_response,
            overflow: if action.save_to.is_some() { Overflow::Refuse } else { Overflow::Cut },
            hosts: terms.hosts.clone(),
            upload: terms.upload(),
            sent: Some(Arc::clone(&terms.sent)),
        };
        self.fetch(request, cancel).await.map_err(super::Denied::into_failure)
    }
}
