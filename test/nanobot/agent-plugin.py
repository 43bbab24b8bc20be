"""What nanobot makes of the package copied into its workspace: listed, its skill loaded, its MCP server started."""

import asyncio
import os
import sys
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from nanobot.agent.plugins import (
    agent_plugin_mcp_servers,
    discover_agent_plugins,
    enabled_agent_plugin_skills,
    set_agent_plugin_enabled,
)
from nanobot.config.loader import load_config, set_config_path


async def tools_of(parameters: StdioServerParameters) -> list[str]:
    async with stdio_client(parameters) as streams, ClientSession(*streams) as session:
        await session.initialize()
        return [tool.name for tool in (await session.list_tools()).tools]


def main() -> None:
    set_config_path(Path(sys.argv[1]))
    workspace = load_config().workspace_path
    (plugin,) = discover_agent_plugins(workspace)
    print(f"listed: {plugin.name} ({plugin.display_name})")
    set_agent_plugin_enabled(workspace, plugin.name, True)
    (enabled,) = discover_agent_plugins(workspace)
    assert enabled.enabled
    for name, path in enabled_agent_plugin_skills(workspace):
        print(f"skill: {name} {path.is_file()}")
    ((_name, server),) = agent_plugin_mcp_servers(workspace).items()
    print(f"server: {Path(server.command).name} {' '.join(server.args)}")
    if Path(server.args[0]).exists():
        parameters = StdioServerParameters(
            command=server.command,
            args=server.args,
            env={**os.environ, **server.env},
            cwd=server.cwd or None,
        )
        names = asyncio.run(asyncio.wait_for(tools_of(parameters), 30))
        print(f"tools: {', '.join(sorted(names))}")


main()
