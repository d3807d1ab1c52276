"""A TCP proxy whose connections can be cut, and can fall silent."""

import asyncio
import threading

CHUNK = 1 << 16  # bytes


class Connection:
    """Passes bytes between a client and a server until one of them closes. Once
    it is frozen it loses all bytes, and only the client can end it."""

    def __init__(self, client, server):
        # Both are a pair of a reader and a writer.
        self._client = client
        self._server = server
        self.frozen = False

    async def run(self):
        try:
            await asyncio.gather(
                self._pump(self._client[0], self._server[1]),
                self._pump(self._server[0], self._client[1]))
        except OSError:
            pass
        finally:
            self.cut()

    def cut(self):
        for _, writer in (self._client, self._server):
            writer.transport.abort()

    async def _pump(self, reader, writer):
        try:
            while data := await reader.read(CHUNK):
                if not self.frozen:
                    writer.write(data)
                    await writer.drain()
        except OSError:
            if not self.frozen:
                raise
        if not self.frozen:
            writer.write_eof()
        elif reader is self._client[0]:
            self.cut()


class Proxy:
    """Passes connections on to a port on this machine, while the context lasts.
    `port` is where it listens. All functions may be called from any thread."""

    def __init__(self, target):
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._connections = set()
        self._blocked = False
        self.port = None

    def __enter__(self):
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = self._server.sockets[0].getsockname()[1]
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.block()
        asyncio.run_coroutine_threadsafe(self._stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def cut(self):
        """Resets all connections. Returns their number."""
        def cut(connections):
            for connection in connections:
                connection.cut()
            return len(connections)
        return self._on_connections(cut)

    def block(self):
        """Resets all connections, and new ones until unblock()."""
        self._blocked = True
        return self.cut()

    def unblock(self):
        self._blocked = False

    def freeze(self):
        """Passes no more bytes on the connections that there are, and keeps
        them open. Returns their number."""
        def freeze(connections):
            for connection in connections:
                connection.frozen = True
            return len(connections)
        return self._on_connections(freeze)

    def frozen(self):
        """Returns the number of frozen connections that the clients have not
        closed yet."""
        return self._on_connections(lambda all: sum(c.frozen for c in all))

    def _on_connections(self, function):
        """Calls the function in the loop. Returns its result."""
        async def call():
            return function(list(self._connections))
        return asyncio.run_coroutine_threadsafe(call(), self._loop).result()

    async def _stop(self):
        """Waits for the connections, which have been cut."""
        self._server.close()
        await asyncio.gather(
            *(asyncio.all_tasks() - {asyncio.current_task()}))

    async def _serve(self, reader, writer):
        try:
            server = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        connection = Connection((reader, writer), server)
        if self._blocked:
            connection.cut()
            return
        self._connections.add(connection)
        try:
            await connection.run()
        finally:
            self._connections.remove(connection)
