"""Plays scripts against servers with the Python client `mcp`, 1.x or 2.x, whichever this interpreter has.

Reads one JSON object a line on stdin and prints one a line on stdout, until stdin ends:
  {"transport": "stdio|http|sse", "url", "command", "args", "env", "mode": "legacy|auto|2026-07-28", "answers": [...] or null, "slow_s", "steps": [...]}
  -> {"protocol", "server", "questions": [...], "progress": [...], "steps": [{"ok"} | {"error"} | {"cancelled"}]}
  or {"fault": the traceback} where the client did not get through the script
An answer is the name of what a person does: see `answered`. `answers: null` is a client that cannot ask anybody.
"""

import asyncio
import json
import os
import re
import sys
import time
import traceback

import mcp
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

MODERN_PACKAGE = hasattr(mcp, "Client")
if MODERN_PACKAGE:
    import mcp_types as types
    from mcp import MCPError as Refused
else:
    from mcp import McpError as Refused
    from mcp import types


def plain(value):
    return value.model_dump(by_alias=True, mode="json", exclude_none=True) if hasattr(value, "model_dump") else value


def answered(kind, message):
    """What a person of this kind makes of the question."""
    code = re.search(r"^code: (\S{4})$", message, re.MULTILINE)
    content = {"decision": "session" if kind == "session" else "deny" if kind == "deny" else "once"}
    if code:
        content["confirm"] = "????" if kind == "wrong_code" else code.group(1)
    if kind in ("decline", "cancel"):
        return types.ElicitResult(action=kind)
    return types.ElicitResult(action="accept", content={} if kind == "bare_accept" else content)


class Player:
    def __init__(self, script):
        self.script = script
        self.answers = list(script.get("answers") or [])
        self.questions, self.progress = [], []

    async def on_question(self, _context, params):
        self.questions.append(plain(params))
        kind = self.answers.pop(0) if self.answers else "decline"
        if kind == "slow":
            await asyncio.sleep(self.script["slow_s"])
        return answered(kind, params.message)

    async def on_progress(self, progress, total, message):
        self.progress.append([progress, total, message])

    async def run(self):
        asks = self.on_question if self.script.get("answers") is not None else None
        if MODERN_PACKAGE:
            async with mcp.Client(self.transport(), mode=self.script["mode"], elicitation_callback=asks) as client:
                steps = [await self.guarded(client, client.session, step) for step in self.script["steps"]]
                return self.told(client.protocol_version, plain(client.server_info), steps)
        async with self.transport() as (read, write, *_), mcp.ClientSession(read, write, elicitation_callback=asks) as session:
            hello = await session.initialize()
            steps = [await self.guarded(session, session, step) for step in self.script["steps"]]
            return self.told(hello.protocolVersion, plain(hello.serverInfo), steps)

    def transport(self):
        match self.script["transport"]:
            case "stdio":
                return stdio_client(StdioServerParameters(command=self.script["command"], args=self.script["args"], env=self.script["env"]))
            case "http":
                return streamable_http_client(self.script["url"])
            case "sse":
                return sse_client(self.script["url"])

    def told(self, protocol, server, steps):
        return {"protocol": protocol, "server": server, "questions": self.questions, "progress": self.progress, "steps": steps}

    async def guarded(self, client, session, step):
        try:
            return await self.step(client, session, step)
        except Refused as fault:
            return {"error": {"code": fault.error.code, "message": fault.error.message}}
        except Exception as fault:  # what a client makes of an answer that is not as its schema says, for one
            return {"raised": f"{type(fault).__name__}: {fault}"}

    async def step(self, client, session, step):
        match step["op"]:
            case "list_tools":
                return {"ok": plain(await client.list_tools())}
            case "list_prompts":
                return {"ok": plain(await session.list_prompts())}
            case "list_resources":
                return {"ok": plain(await client.list_resources())}
            case "read_resource":
                return {"ok": plain(await client.read_resource(step["uri"]))}
            case "quiet":
                return {"ok": await quiet(step["file"])}
            case "call" if "cancel_when" in step:
                return await self.cancelled(client, session, step)
            case "call":
                progress = self.on_progress if step.get("progress") else None
                return {"ok": plain(await client.call_tool(step["name"], step["arguments"], progress_callback=progress))}
            case other:
                raise ValueError(other)

    async def cancelled(self, client, session, step):
        """Takes a running call back once it has left its first sign."""
        request = getattr(session, "_request_id", None)
        call = asyncio.create_task(client.call_tool(step["name"], step["arguments"]))
        started = time.monotonic()
        while not (os.path.exists(step["cancel_when"]) and os.path.getsize(step["cancel_when"])):
            if call.done() or time.monotonic() - started > 20:
                return {"ok": plain(call.result())} if call.done() else {"raised": "the call left no sign within 20 s"}
            await asyncio.sleep(0.02)
        if not MODERN_PACKAGE:  # 1.x leaves the notification to its user
            note = types.CancelledNotification(method="notifications/cancelled", params=types.CancelledNotificationParams(requestId=request))
            await session.send_notification(types.ClientNotification(note))
        call.cancel()
        await asyncio.wait([call], timeout=10)
        return {"cancelled": call.cancelled()}


async def quiet(path):
    """Waits until a file has not grown for a second; false when it still grows after ten."""
    started, size, since = time.monotonic(), -1, time.monotonic()
    while time.monotonic() - started < 10:
        now = os.path.getsize(path)
        if now != size:
            size, since = now, time.monotonic()
        elif time.monotonic() - since > 1:
            return True
        await asyncio.sleep(0.05)
    return False


def play_all(player):
    """Plays each script with a player of its own."""
    for line in sys.stdin:
        try:
            result = asyncio.run(player(json.loads(line)).run())
        except Exception:
            result = {"fault": traceback.format_exc()}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    play_all(Player)
