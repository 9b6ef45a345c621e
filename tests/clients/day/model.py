"""A day of work: a model that follows rules, and a person who answers questions.

The model knows only what it was told: the task, the server's instructions, its tools and its policy, and the answers so far. Each name, path, address and
passage of a call is looked up in those texts before the call is made; one that stands in none of them ends the day with a fault.

Reads one JSON object on stdin and prints one on stdout:
  {"command", "args", "env", "mode", "cwd", "task"}
  -> {"protocol", "told": {name: text}, "steps": [{"aim", "tool", "arguments", "sources", "text", "facts", "pictures", "is_error", "questions"}]}
"""

import asyncio
import json
import re
import sys

import mcp
import mcp_types as types
from mcp.client.stdio import StdioServerParameters, stdio_client

from work import work

# What of an argument is the model's own: what it writes and computes. All else must have been told.
OWN = {"content", "new_text", "code", "query", "glob", "depth", "context", "limit", "offset", "replace_all", "recursive", "session"}


class Unknown(Exception):
    """A value of a call that stands in no text the model was told."""


class Person:
    """Answers what the client shows: by the words of the question and the choices it offers."""

    def __init__(self):
        self.asked = []
        self.folders = set()

    async def answer(self, _context, question):
        schema = question.requested_schema
        decision = schema["properties"]["decision"]
        choices = {choice["const"]: choice["title"] for choice in decision.get("oneOf", [])}
        pick = self.pick(question.message, list(choices))
        content = {"decision": pick}
        code = re.search(r"^code: (\S{4})$", question.message, re.MULTILINE)
        if "confirm" in schema["required"]:
            content["confirm"] = code.group(1)
        self.asked.append({"message": question.message, "choices": choices, "pick": pick})
        return types.ElicitResult(action="accept", content=content)

    def pick(self, message, choices):
        """The folder for the first change in a root, the root where it asks again, once where nothing longer is offered."""
        root = re.search(r"([a-z]+)/\S+", message).group(1)
        wanted = ["session_root" if root in self.folders else "session_folder", "once"]
        pick = next(choice for choice in wanted if choice in choices)
        if pick == "session_folder":
            self.folders.add(root)
        return pick


class Model:
    """Makes the calls, and keeps every text it was told under the name of where it stands."""

    def __init__(self, client, person, task):
        self.client, self.person = client, person
        self.told = {"the task": task}
        self.schemas, self.steps = {}, []

    async def begin(self):
        self.told["the instructions"] = self.client.instructions
        tools = (await self.client.list_tools()).tools
        self.told["the list of tools"] = json.dumps([plain(tool) for tool in tools])
        self.schemas = {tool.name: tool.input_schema for tool in tools}

    def source(self, value):
        """The first text that holds a value, with nothing around it that would make it another name."""
        edge = r"[\w.-]"
        for name, text in self.told.items():
            if re.search(rf"(?<!{edge}){re.escape(value)}(?!\w)", text):
                return name
        return None

    def sources(self, arguments, at=""):
        """Where each argument was told, by its place."""
        found = {}
        for name, value in arguments.items():
            if isinstance(value, list):
                for number, one in enumerate(value):
                    found |= self.sources(one, f"{at}{name}[{number}].")
            elif name == "code":
                for path in sorted(set(re.findall(r"/roots/([\w./-]*\w)", value))):
                    found[f"{at}{name}: {path}"] = self.path(path)
            elif name == "old_text":
                whole = next((where for where, text in self.told.items() if value in text), None)
                if whole is None:
                    raise Unknown(f"{name}: {value!r}")
                found[at + name] = whole
            elif name not in OWN:
                found[at + name] = self.path(value)
        return found

    def path(self, value):
        """A path that was told, or a told name below a told folder."""
        if whole := self.source(value):
            return whole
        folder, _, name = value.rpartition("/")
        parts = self.source(folder), self.source(name)
        if not folder or None in parts:
            raise Unknown(f"{value!r}")
        return " and ".join(dict.fromkeys(parts))

    async def policy(self):
        """Reads what the instructions point to."""
        uri = self.first(r"toolgate://\w+", "the instructions")
        contents = (await self.client.read_resource(uri)).contents
        self.note("learn what it may do", "resources/read", {"uri": uri}, {"uri": "the instructions"}, contents[0].text, [])

    async def call(self, aim, tool, **arguments):
        """One call; gives the text of its answer."""
        schema = self.schemas[tool]
        if unknown := set(arguments) - set(schema["properties"]):
            raise Unknown(f"{tool}: {unknown}")
        sources = self.sources(arguments)
        before = len(self.person.asked)
        answer = await self.client.call_tool(tool, arguments)
        text = "\n".join(block.text for block in answer.content if block.type == "text")
        pictures = [[block.mime_type, block.data[:16]] for block in answer.content if block.type == "image"]
        self.note(aim, tool, arguments, sources, text, self.person.asked[before:], answer, pictures)
        return text

    def note(self, aim, tool, arguments, sources, text, questions, answer=None, pictures=()):
        number = len(self.steps) + 1
        self.told[f"answer {number}"] = text
        facts = (answer.structured_content or {}) if answer else {}
        self.steps.append({
            "aim": aim,
            "tool": tool,
            "arguments": arguments,
            "sources": sources,
            "text": text,
            "facts": facts,
            "pictures": list(pictures),
            "is_error": bool(answer and answer.is_error),
            "questions": questions,
        })

    def first(self, pattern, where=None):
        """What a pattern matches first, in one text or in the newest that has it; its group where it has one."""
        texts = [self.told.get(where, where)] if where else reversed(self.told.values())
        for text in texts:
            if match := re.search(pattern, text, re.MULTILINE):
                return match.group(match.lastindex or 0)
        raise Unknown(f"nothing told fits {pattern!r}")

    def all(self, pattern, text):
        """Everything in a text that a pattern matches, in order and once."""
        return list(dict.fromkeys(re.findall(pattern, text, re.MULTILINE)))


def plain(value):
    return value.model_dump(by_alias=True, mode="json", exclude_none=True)


async def main():
    script = json.loads(sys.stdin.readline())
    person = Person()
    where = StdioServerParameters(command=script["command"], args=script["args"], env=script["env"], cwd=script["cwd"])
    async with mcp.Client(stdio_client(where), mode=script["mode"], elicitation_callback=person.answer) as client:
        model = Model(client, person, script["task"])
        await model.begin()
        fault = None
        try:
            await work(model)
        except Exception as wrong:  # what the day came to until then says more
            fault = f"{type(wrong).__name__}: {wrong}"
        return {"protocol": client.protocol_version, "told": model.told, "steps": model.steps, "fault": fault}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main())))
