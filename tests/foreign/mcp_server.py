"""A server by the protocol's own SDK (1.x or 2.x), on pipes or over HTTP, with or without a sign-in.

Usage: mcp_server.py stdio | http | protected. The last two print their port.
"""

import socket
import sys

try:
    from mcp.server.mcpserver import MCPServer as Server
except ImportError:
    from mcp.server.fastmcp import FastMCP as Server


def made(**options):
    server = Server("notes", **options)

    @server.tool()
    def note(text: str) -> str:
        """Keeps a note."""
        return f"kept {text}"

    return server


def protected(port):
    from mcp.server.auth.provider import AccessToken, TokenVerifier
    from mcp.server.auth.settings import AuthSettings

    class Verifier(TokenVerifier):
        async def verify_token(self, token):
            return AccessToken(token=token, client_id="c1", scopes=["notes"]) if token == "good" else None

    address = f"http://127.0.0.1:{port}"
    auth = AuthSettings(issuer_url=address, resource_server_url=f"{address}/mcp", required_scopes=["notes"])
    return made(token_verifier=Verifier(), auth=auth)


def serve(make):
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    app = make(port).streamable_http_app()
    print(port, flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


if sys.argv[1] == "stdio":
    made().run("stdio")
elif sys.argv[1] == "http":
    serve(lambda port: made())
else:
    serve(protected)
