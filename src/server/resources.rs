//! What a client may read beside calling tools: the policy in words, and what it has asked the web for.

use rmcp::model::{Resource, ResourceContents};

use super::handler::Peer;
use crate::context::ServerContext;

const POLICY_URI: &str = "toolgate://policy";
const NETWORK_URI: &str = "toolgate://network";

/// The resources of a caller.
pub(super) fn list(server: &ServerContext, peer: &Peer) -> Vec<Resource> {
    let mut resources = vec![
        Resource::new(POLICY_URI, "policy")
            .with_title("What you may do here")
            .with_description("The policy of this server in plain words: tools, folders, hosts, imports, limits, and what asks a person.")
            .with_mime_type("text/markdown"),
    ];
    if fetches(server, peer) {
        resources.push(
            Resource::new(NETWORK_URI, "network")
                .with_title("Your web requests")
                .with_description(
                    "Your own web requests since this server started: how many, by method, status and host, and the last ten.",
                )
                .with_mime_type("application/json"),
        );
    }
    resources
}

/// The content of a resource; none where the caller has no such resource.
pub(super) fn read(server: &ServerContext, peer: &Peer, uri: &str) -> Option<ResourceContents> {
    let (text, kind) = match uri {
        POLICY_URI => (server.policy_in_words(peer.profile.as_deref()), "text/markdown"),
        NETWORK_URI if fetches(server, peer) => {
            (serde_json::to_string_pretty(&server.sandbox().egress.requests_of(&peer.principal)).unwrap_or_default(), "application/json")
        }
        _ => return None,
    };
    let mut contents = ResourceContents::text(text, uri);
    if let ResourceContents::TextResourceContents { mime_type, .. } = &mut contents {
        *mime_type = Some(kind.to_owned());
    }
    Some(contents)
}

fn fetches(server: &ServerContext, peer: &Peer) -> bool {
    server.tools_for(peer.profile.as_deref()).iter().any(|tool| tool.spec().name == "fetch")
}
