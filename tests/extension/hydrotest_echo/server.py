"""The server: `server.py ADDRESS PORT GAUGES_PORT`. What is under test."""

from __future__ import annotations

import asyncio
import sys

CONNECTIONS_MAX = 100
CHUNK_BYTES = 64 << 10


class Server:
    """Sends back what it is sent, and counts."""

    def __init__(self) -> None:
        self.connections = 0

    async def echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection; one too many is closed at once."""
        self.connections += 1
        try:
            while self.connections <= CONNECTIONS_MAX and (data := await reader.read(CHUNK_BYTES)):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass  # its client is gone
        finally:
            self.connections -= 1
            writer.close()

    async def gauges(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A page of gauges, as Prometheus reads them."""
        await reader.readuntil(b"\r\n\r\n")
        body = f"echo_connections {self.connections}\n"
        writer.write(
            f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode()
        )
        await writer.drain()
        writer.close()


async def main(address: str, port: int, gauges_port: int) -> None:
    """Serves until it is ended."""
    server = Server()
    serving = await asyncio.start_server(server.echo, address, port)
    await asyncio.start_server(server.gauges, address, gauges_port)
    await serving.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
