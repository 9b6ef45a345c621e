"""Plays scripts with a client that others built on the Python SDK: `driver_more.py fastmcp` or `driver_more.py langchain`.

Scripts and results are those of driver.py.
"""

import sys

import driver


class Fastmcp(driver.Player):
    """fastmcp's client, both eras; its raw verbs, which give errors as they came."""

    async def run(self):
        from fastmcp import Client
        from fastmcp.client.transports import SSETransport, StdioTransport, StreamableHttpTransport

        async def on_elicitation(_message, _kind, params, context):
            return await self.on_question(context, params)

        way = self.script["transport"]
        if way == "stdio":
            transport = StdioTransport(self.script["command"], self.script["args"], env=self.script["env"])
        else:
            transport = (StreamableHttpTransport if way == "http" else SSETransport)(self.script["url"])
        asks = on_elicitation if self.script.get("answers") is not None else None
        async with Client(transport, mode=self.script["mode"], elicitation_handler=asks) as client:
            self.client = client
            steps = [await self.guarded(self, client.session, step) for step in self.script["steps"]]
            session = client.session
            return self.told(session.protocol_version, driver.plain(session.server_info), steps)

    async def list_tools(self):
        return await self.client.list_tools_mcp()

    async def list_resources(self):
        return await self.client.list_resources_mcp()

    async def read_resource(self, uri):
        return await self.client.read_resource_mcp(uri)

    async def call_tool(self, name, arguments, progress_callback=None):
        return await self.client.call_tool_mcp(name, arguments, progress_handler=progress_callback)


class Langchain(driver.Player):
    """langchain-mcp-adapters: its connections and callbacks, and its tools where they are listed."""

    async def run(self):
        from langchain_mcp_adapters.callbacks import Callbacks
        from langchain_mcp_adapters.client import MultiServerMCPClient

        async def on_elicitation(context, params, _where):
            return await self.on_question(context, params)

        way = self.script["transport"]
        if way == "stdio":
            connection = {"transport": "stdio", **{name: self.script[name] for name in ("command", "args", "env")}}
        else:
            connection = {"transport": "streamable_http" if way == "http" else "sse", "url": self.script["url"]}
        callbacks = Callbacks(on_elicitation=on_elicitation) if self.script.get("answers") is not None else None
        client = MultiServerMCPClient({"toolgate": connection}, callbacks=callbacks)
        async with client.session("toolgate", auto_initialize=False) as session:
            hello = await session.initialize()
            steps = [await self.guarded(session, session, step) for step in self.script["steps"]]
            return self.told(hello.protocolVersion, driver.plain(hello.serverInfo), steps)

    async def step(self, client, session, step):
        if step["op"] == "list_tools":
            from langchain_mcp_adapters.tools import load_mcp_tools

            return {"ok": {"tools": [{"name": tool.name, "description": tool.description} for tool in await load_mcp_tools(session)]}}
        return await super().step(client, session, step)


if __name__ == "__main__":
    driver.play_all({"fastmcp": Fastmcp, "langchain": Langchain}[sys.argv[1]])
