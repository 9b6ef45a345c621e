//! The plans of the two tools that need the network and the jail, for the judge alone.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use serde_json::{Map, Value};
use toolgate::gate::Permit;
use toolgate::model::{Action, CallPath, Code, Failure, Fetch, Format, Output, Refusal, RunPython, ToolSpec};
use toolgate::sandbox::Sandbox;
use toolgate::tool::{Card, Stage, Tool};

#[derive(Debug)]
pub(crate) struct FetchPlan;
#[derive(Debug)]
pub(crate) struct PythonPlan;

fn invalid(name: &str) -> Refusal {
    Refusal::new(Code::ArgumentInvalid, format!("`{name}` is missing or of the wrong type"))
}

fn text(arguments: &Map<String, Value>, name: &str) -> Result<Option<String>, Refusal> {
    match arguments.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(invalid(name)),
    }
}

fn card() -> Card {
    unimplemented!("the judge reads no card")
}

impl Tool for FetchPlan {
    fn spec(&self) -> &'static ToolSpec {
        super::SPECS.iter().find(|spec| spec.name == "fetch").unwrap()
    }
    fn card(&self) -> Card {
        card()
    }
    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        let method = text(&arguments, "method")?.unwrap_or_else(|| "GET".to_owned());
        if !["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"].contains(&method.as_str()) {
            return Err(Refusal::new(Code::ArgumentNotAllowed, "no such method"));
        }
        let headers = match arguments.get("headers") {
            None => BTreeMap::new(),
            Some(value) => serde_json::from_value(value.clone()).map_err(|_| invalid("headers"))?,
        };
        Ok(Action::Fetch(Fetch {
            url: text(&arguments, "url")?.ok_or_else(|| invalid("url"))?,
            method,
            headers,
            body: text(&arguments, "body")?,
            format: Format::default(),
            start_index: 0,
            max_length: None,
            save_to: text(&arguments, "save_to")?.map(|path| CallPath::parse(&path)).transpose()?,
        }))
    }
    fn execute<'a>(&'a self, _: Permit<Action>, _: &'a Sandbox, _: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        unimplemented!("the judge executes nothing")
    }
}

impl Tool for PythonPlan {
    fn spec(&self) -> &'static ToolSpec {
        super::SPECS.iter().find(|spec| spec.name == "run_python").unwrap()
    }
    fn card(&self) -> Card {
        card()
    }
    fn plan(&self, arguments: Map<String, Value>) -> Result<Action, Refusal> {
        Ok(Action::RunPython(RunPython {
            code: text(&arguments, "code")?.ok_or_else(|| invalid("code"))?,
            session: text(&arguments, "session")?,
            stdin: text(&arguments, "stdin")?.unwrap_or_default(),
            timeout_s: None,
            fresh: false,
        }))
    }
    fn execute<'a>(&'a self, _: Permit<Action>, _: &'a Sandbox, _: Stage) -> BoxFuture<'a, Result<Output, Failure>> {
        unimplemented!("the judge executes nothing")
    }
}

/// Every tool of the contract: the registry, and a stand-in for each that it lacks.
pub(crate) fn tools() -> Vec<&'static dyn Tool> {
    let mut tools = toolgate::tools::all().to_vec();
    for stand_in in [&FetchPlan as &'static dyn Tool, &PythonPlan] {
        if !tools.iter().any(|tool| tool.spec().name == stand_in.spec().name) {
            tools.push(stand_in);
        }
    }
    tools
}
