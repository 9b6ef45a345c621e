//! Floor 6: the way of one call, top to bottom. Each stage hands the next a value that only it can make.

use std::time::Duration;

use crate::audit::{Entry, Reply, Status};
use crate::filter::Filtered;
use crate::gate::{Door, Granted, Settled};
use crate::house::House;
use crate::model::{Action, Asker, Code, Facts, Failure, Opened, Output, Question, Refusal, ToolCall};
use crate::policy::{Capability, Screened};
use crate::tool::{Stage, Tool};

/// Answers one call.
pub async fn answer(house: &House, call: ToolCall, asker: &dyn Asker, stage: Stage) -> Reply {
    // The manifest of this moment holds for the whole call, whatever is reloaded meanwhile.
    let door = house.gate().door();

    // 2. The log takes the call, or nothing happens.
    let mut entry = match Entry::open(house.log(), &call, door.manifest_sha256()) {
        Ok(entry) => entry,
        Err(refusal) => return Entry::impossible(refusal),
    };
    let reply = match walk(house, &door, &mut entry, &call, asker, stage).await {
        Ok(Turn::Answer(filtered, status)) => entry.close(filtered, status),
        Ok(Turn::Ask(question, state)) => entry.ask(question, state),
        Err(End { refusal, status }) => {
            door.learn(&entry, &call, &refusal, status);
            entry.refuse(refusal, status)
        }
    };
    reply
}

/// How a call's turn ends, when it is not refused.
enum Turn {
    Answer(Filtered, Status),
    Ask(Question, String),
}

/// How a call's turn ends with a no.
struct End {
    refusal: Refusal,
    status: Status,
}

impl From<Refusal> for End {
    fn from(refusal: Refusal) -> Self {
        Self { refusal, status: Status::Denied }
    }
}

impl From<Failure> for End {
    fn from(Failure(refusal): Failure) -> Self {
        let status = match refusal.code {
            Code::Timeout => Status::Timeout,
            Code::Cancelled | Code::Killed => Status::Killed,
            _ => Status::Error,
        };
        Self { refusal, status }
    }
}

async fn walk(house: &House, door: &Door, entry: &mut Entry, call: &ToolCall, asker: &dyn Asker, stage: Stage) -> Result<Turn, End> {
    // 3, 4. Which tool, and may this caller use it at all? The call is counted, whatever it holds.
    let tool = house.tool(&call.tool);
    let capability = door.admit(call, tool.map(|tool| tool.spec()))?;
    let Some(tool) = tool else { return Err(door.unknown_tool(call).into()) };

    // 5. Arguments become an action, or a refusal that names the argument. Pure.
    let action = plan(door, &capability, tool, call)?;

    // 6. What the text decides; then a look without effect; then the judgement, and a person where it asks for one.
    let screened = capability.screen(&action)?;
    let (opened, facts) = look(house, door, &call.caller.session, &action, &screened).await?;
    let preview = || house.sandbox().preview(&action, &opened);
    let granted = match door.settle(entry, call, &capability, &action, &screened, &opened, &facts, &preview, asker).await? {
        Settled::Granted(granted) => granted,
        Settled::Ask(question, state) => return Ok(Turn::Ask(question, state)),
    };

    // 16. The start is in the log before anything happens.
    entry.start(granted.decision(), granted.reach())?;
    execute(house, door, &capability, tool, granted, action, opened, facts, stage).await
}

fn plan(door: &Door, capability: &Capability, tool: &dyn Tool, call: &ToolCall) -> Result<Action, Refusal> {
    if let Some(oddity) = &call.malformed {
        return Err(Refusal::new(Code::ArgumentInvalid, format!("the arguments cannot be read in one way only: {oddity}"))
            .hint("send every name once"));
    }
    capability.check_arguments(&call.arguments)?;
    let mut arguments = call.arguments.clone();
    capability.fill_in(&mut arguments);
    let action = tool.plan(arguments)?;
    door.refuse_masks(&action)?;
    Ok(action)
}

async fn look(house: &House, door: &Door, session: &str, action: &Action, screened: &Screened) -> Result<(Vec<Opened>, Facts), End> {
    let accesses: Vec<_> = action.touches().into_iter().map(|touch| touch.access).collect();
    let opened = house.sandbox().look(session, &screened.targets, &accesses, door.manifest().files.symlinks)?;
    let addresses = match &screened.url {
        Some(url) => house.sandbox().resolve(url).await?,
        None => Vec::new(),
    };
    let facts = Facts { paths: opened.iter().map(|opened| opened.fact.clone()).collect(), addresses, redirects: Vec::new() };
    Ok((opened, facts))
}
