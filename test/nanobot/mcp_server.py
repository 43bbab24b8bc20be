"""An MCP server over standard input and output: one tool, under the name that it is given."""

import sys

from mcp.server.fastmcp import FastMCP

server = FastMCP("double")


@server.tool(name=sys.argv[1], description="Says what it was asked.")
def answer(question: str) -> str:
    return f"{sys.argv[1]} heard: {question}"


server.run()
