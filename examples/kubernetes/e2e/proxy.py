"""A TCP proxy whose connections can be cut."""

import asyncio
import threading

CHUNK = 1 << 16  # bytes


class Proxy:
    """Passes connections on to a port on this machine, while the context lasts.
    `port` is where it listens. All functions may be called from any thread."""

    def __init__(self, target):
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._writers = set()
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
        async def abort():
            writers = list(self._writers)
            for writer in writers:
                writer.transport.abort()
            return len(writers) // 2
        return asyncio.run_coroutine_threadsafe(abort(), self._loop).result()

    def block(self):
        """Resets all connections, and new ones until unblock()."""
        self._blocked = True
        return self.cut()

    def unblock(self):
        self._blocked = False

    async def _stop(self):
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _serve(self, reader, writer):
        if self._blocked:
            writer.transport.abort()
            return
        try:
            to_reader, to_writer = await asyncio.open_connection(
                "127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        writers = {writer, to_writer}
        self._writers |= writers
        try:
            await asyncio.gather(self._pump(reader, to_writer),
                                 self._pump(to_reader, writer))
        except OSError:
            pass
        finally:
            self._writers -= writers
            for w in writers:
                w.transport.abort()

    @staticmethod
    async def _pump(reader, writer):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
        writer.write_eof()
