"""simcord, an in-memory Discord written by others, served over HTTP and a WebSocket on loopback.

simcord normally replaces the transport of a bot that runs in the same process. Here its backend, its REST routes and
its gateway filter answer a bot in another process: REST v10 requests go to `simcord.http.router.dispatch`, events of
the backend pass `simcord.gateway.FakeGateway` (intents, hidden content) and leave as dispatches of a gateway session.

simcord 3.2.1 lacks these parts, which the wire adds:

- GET /gateway and /gateway/bot: where the gateway is.
- GET /applications/@me: like GET /oauth2/applications/@me, with the user of the test as the owner.
- `nonce` with `enforce_nonce` on a new message: a repeat returns the first message; the nonce is echoed.
- The gateway session itself: hello, identify, heartbeats, sequence numbers, resume, invalid session, close codes.
- Downloads: the addresses of attachments point to this server.
"""

import asyncio
import copy
import datetime
import io
import json
import threading
import types

import discord
import simcord
from aiohttp import WSMsgType, web
from simcord import _clock, gateway
from simcord.backend import Backend, errors, serializers
from simcord.backend.cdn import CDN_BASE
from simcord.http import router, routes  # noqa: F401  (importing `routes` registers the handlers)

TOKEN = "simcord.loopback.token"
HEARTBEAT = 41250
PATIENCE = 60


class Clock(_clock.Clock):
    """The time of the machine, so that deadlines and identifiers mean what they say."""

    def now(self):
        return datetime.datetime.now(datetime.UTC)


class Env(simcord.Env):
    """The environment that simcord's users act in. The bot runs elsewhere, so nothing is attached or settled."""

    def __init__(self):
        super().__init__(discord.Client(intents=discord.Intents.none()), check_errors=False)
        self.backend = Backend(clock=Clock())
        self._started = True
        self._message_states.add(self.bot._connection)

    async def _settle_internal(self, **_):
        await asyncio.sleep(0)


class Parsers:
    """Looks like the table of event parsers that `FakeGateway` calls; every event is sent to the session."""

    def __init__(self, session):
        self.session = session

    def __getitem__(self, event):
        return lambda payload: self.session.send(event, payload)


class Session:
    """One gateway session: what was sent in it, and the connection it has now, if any."""

    def __init__(self, server, identity, intents):
        self.server, self.identity = server, identity
        self.intents = discord.Intents._from_value(intents)
        self.parsers = Parsers(self)
        self.filter = gateway.FakeGateway(server.env.backend, self)
        self.sent = []
        self.socket = None

    def send(self, event, payload):
        if event == "MESSAGE_CREATE" and self.server.nonce is not None:
            payload = payload | {"nonce": self.server.nonce}
        frame = {"op": 0, "s": len(self.sent) + 1, "t": event, "d": payload}
        self.sent.append(frame)
        self.push(frame)

    def push(self, frame):
        if self.socket is not None:
            self.socket.put_nowait(self.server.wired(frame))


class Server:
    """The server and its one user. Use it in a `with`; its methods may be called from any thread."""

    def __enter__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self._run(self._start())
        return self

    def __exit__(self, *_):
        self._run(self._stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def _run(self, work):
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(PATIENCE + 10)

    async def _start(self):
        self.env = Env()
        self.env._loop = asyncio.get_running_loop()
        self.backend = self.env.backend
        self.user = self.env.create_user("owner")
        self.channel = self.backend.get_dm_channel(self.user.id)
        self.sessions, self.connected, self.nonces, self.nonce = {}, [], {}, None
        self.identifies = self.resumes = 0
        self.gaps, self.refused = [], []
        self.changed = asyncio.Condition()
        self.backend.subscribers.append(self._feed)
        application = web.Application(client_max_size=64 << 20)
        application.router.add_get("/gw", self._gateway)
        application.router.add_get("/gw/", self._gateway)
        application.router.add_get("/cdn/{path:.*}", self._download)
        application.router.add_route("*", "/api/v10/{path:.*}", self._rest)
        self.runner = web.AppRunner(application, shutdown_timeout=1)
        await self.runner.setup()
        site = web.TCPSite(self.runner, "127.0.0.1", 0)
        await site.start()
        port = self.runner.addresses[0][1]
        self.address = f"http://127.0.0.1:{port}"
        self.api = f"{self.address}/api/v10"
        self.socket_address = f"ws://127.0.0.1:{port}/gw"

    async def _stop(self):
        for session in self.sessions.values():
            if session.socket is not None:
                session.socket.put_nowait(None)
        await self.runner.cleanup()

    def _feed(self, event, payload):
        for session in self.sessions.values():
            session.filter.feed(event, payload)

    async def _moved(self):
        async with self.changed:
            self.changed.notify_all()

    def wired(self, value):
        return json.dumps(value).replace(CDN_BASE, f"{self.address}/cdn")

    # ------------------------------------------------------------------ REST

    async def _rest(self, request):
        path = request.raw_path.split("?", 1)[0].removeprefix("/api/v10")
        public = path.startswith(("/interactions/", "/webhooks/"))
        if not public and request.headers.get("authorization") != f"Bot {TOKEN}":
            return self._json(401, {"message": "401: Unauthorized", "code": 0})
        body, files = await self._body(request)
        try:
            answer = self._answer(request.method, path, body, dict(request.query), files)
        except (router.RouteNotImplemented, router.UnsupportedField) as gap:
            self.gaps.append(str(gap))
            return self._json(501, {"message": str(gap), "code": 0})
        except errors.BackendError as refused:
            self.refused.append(f"{request.method} {path}: {refused}")
            return self._json(refused.status, refused.to_json())
        finally:
            await self._moved()
        silent = path.endswith("/callback") and request.query.get("with_response") != "true"
        if answer is None or silent:
            return web.Response(status=204)
        return self._json(200, answer)

    def _json(self, status, value):
        return web.Response(status=status, body=self.wired(value).encode(), content_type="application/json")

    async def _body(self, request):
        if not request.body_exists:
            return None, []
        if not request.content_type.startswith("multipart/"):
            text = await request.text()
            return (json.loads(text) if text else None), []
        body, found = None, {}
        async for part in await request.multipart():
            content = await part.read()
            if part.name == "payload_json":
                body = json.loads(content)
            else:
                found[part.name.removeprefix("files[").removesuffix("]")] = (part.filename, bytes(content))
        holder = body.get("data") or body
        described = {str(item["id"]): item.get("description") for item in holder.get("attachments") or []}
        files = [
            types.SimpleNamespace(fp=io.BytesIO(content), filename=name, description=described.get(key))
            for key, (name, content) in found.items()
        ]
        return body, files

    def _answer(self, method, path, body, query, files):
        if method == "GET" and path in ("/gateway", "/gateway/bot"):
            limit = {"total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1}
            return {"url": self.socket_address, "shards": 1, "session_start_limit": limit}
        if method == "GET" and path == "/applications/@me":
            own = router.dispatch(self.backend, "GET", "/oauth2/applications/@me")
            return own | {"owner": dict(serializers.user_payload(self.backend.get_user(self.user.id)))}
        nonce = (body or {}).get("nonce") if isinstance(body, dict) else None
        if nonce is None or not body.get("enforce_nonce"):
            return router.dispatch(self.backend, method, path, json=body, params=query, files=files)
        if (path, nonce) in self.nonces:
            return self.nonces[path, nonce]
        self.nonce = nonce
        try:
            answer = router.dispatch(self.backend, method, path, json=body, params=query, files=files)
        finally:
            self.nonce = None
        self.nonces[path, nonce] = answer | {"nonce": nonce}
        return self.nonces[path, nonce]

    async def _download(self, request):
        blob = self.backend.cdn.get(f"{CDN_BASE}/{request.match_info['path']}")
        return web.Response(status=404) if blob is None else web.Response(body=blob)

    # --------------------------------------------------------------- gateway

    async def _gateway(self, request):
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        queue = asyncio.Queue()
        session, dropped = None, asyncio.Event()
        writer = asyncio.create_task(self._write(socket, queue, dropped))
        queue.put_nowait(self.wired({"op": 10, "s": None, "t": None, "d": {"heartbeat_interval": HEARTBEAT}}))
        try:
            async for message in socket:
                if message.type != WSMsgType.TEXT:
                    continue
                if len(message.data) > 4096:
                    await socket.close(code=4002)
                    break
                session, code = self._frame(json.loads(message.data), session, queue)
                await self._moved()
                if code is not None:
                    await socket.close(code=code)
                    break
        finally:
            if session is not None and session.socket is queue:
                session.socket = None
                # Only a client that closes the connection properly ends its session; after a drop
                # by the server it can resume.
                if socket.close_code in (1000, 1001) and not dropped.is_set():
                    self.sessions.pop(session.identity, None)
            queue.put_nowait(None)
            await writer
            await self._moved()
        return socket

    async def _write(self, socket, queue, dropped):
        while (text := await queue.get()) is not None:
            try:
                await socket.send_str(text)
            except ConnectionError:
                return
        dropped.set()
        await socket.close(code=4000)

    def _frame(self, frame, session, queue):
        """Handles one frame of the client; returns its session and the code to close with, if any."""
        code, data = frame.get("op"), frame.get("d")
        if code == 1:
            queue.put_nowait(self.wired({"op": 11}))
            return session, None
        if code == 2:
            if session is not None:
                return session, 4005
            if data["token"] != TOKEN:
                return session, 4004
            self.identifies += 1
            session = Session(self, f"session-{self.identifies}", data["intents"])
            session.socket = queue
            self.sessions[session.identity] = session
            session.send("READY", self._ready(session))
            return session, None
        if code == 6:
            if data["token"] != TOKEN:
                return session, 4004
            known = self.sessions.get(data["session_id"])
            if known is None or data["seq"] > len(known.sent):
                queue.put_nowait(self.wired({"op": 9, "d": False}))
                return session, None
            self.resumes += 1
            known.socket = queue
            for missed in known.sent[data["seq"] :]:
                queue.put_nowait(self.wired(missed))
            known.send("RESUMED", {})
            return known, None
        return session, (None if session is not None else 4003) if code in (3, 4, 8) else 4001

    def _ready(self, session):
        return {
            "v": 10,
            "user": dict(serializers.user_payload(self.backend.bot_user)),
            "guilds": [],
            "session_id": session.identity,
            "resume_gateway_url": self.socket_address,
            "application": {"id": str(self.backend.application_id), "flags": 0},
        }

    # ------------------------------------------------------------------ the user, from any thread

    def online(self):
        """Waits until the bot is connected and its commands are registered."""
        self.until(lambda: any(s.socket for s in self.sessions.values()) and self.backend.commands.get(None), "online")

    def drop(self):
        """Breaks every connection; the sessions can be resumed."""

        async def work():
            for session in self.sessions.values():
                if session.socket is not None:
                    session.socket.put_nowait(None)

        self._run(work())

    def forget(self):
        """Breaks every connection and forgets the sessions: a resume is answered with an invalid session."""

        async def work():
            gone = list(self.sessions.values())
            self.sessions.clear()
            for session in gone:
                if session.socket is not None:
                    session.socket.put_nowait(None)

        self._run(work())

    def say(self, text, *, reply_to=None, attachments=()):
        """Sends a DM as the user; returns the message."""

        async def work():
            extra = {}
            if reply_to is not None:
                extra["reference"] = {"channel_id": str(self.channel.id), "message_id": str(reply_to.id)}
            if attachments:
                extra["attachments"] = self.backend.store_attachments(self.channel.id, attachments)
            sent = await self.user.send_dm(text, **extra)
            return self.backend.get_message(self.channel.id, sent.id)

        return self._run(work())

    def posted_before(self, content="", embeds=None):
        """A message of the bot from an earlier time, which the running program does not know."""

        async def work():
            return self.backend.create_message(self.channel.id, self.backend.bot_user.id, content, embeds=embeds)

        return self._run(work())

    def react(self, message, emoji, *, reacted=True):
        async def work():
            self.backend.set_reaction(self.channel.id, message.id, emoji, self.user.id, reacted)

        self._run(work())

    def slash(self, name, **options):
        """Uses a slash command; returns simcord's result once the bot has acknowledged it."""
        return self._interact(lambda: self.user.slash(name, **options), f"an answer to /{name}")

    def click(self, message, label):
        """Presses the button with this label."""
        seen = self._run(self._seen(message))
        return self._interact(lambda: self.user.click(seen, label=label), f"an answer to [{label}]")

    def submit(self, shown, **values):
        """Fills in the form of `shown` and sends it."""
        return self._interact(lambda: self.user.submit_modal(shown, values), "an answer to the form")

    async def _seen(self, message):
        return simcord.results.ResponseMessage(self.env, message)

    def _interact(self, act, wanted):
        async def work():
            result = await act()
            await self._until(lambda: result.acknowledged, wanted)
            return result

        return self._run(work())

    def messages(self):
        """Every message in the DM, oldest first, as simcord stores them."""

        async def work():
            return sorted(self.backend.messages[self.channel.id].values(), key=lambda message: message.id)

        return self._run(work())

    def bot_messages(self):
        return [message for message in self.messages() if message.author_id == self.backend.bot_user.id]

    def shown(self, message):
        """All words of a message: content, embeds, labels of buttons."""
        words = [message.content]
        for embed in message.embeds:
            words += [embed.get("title") or "", embed.get("description") or ""]
            words += [f"{field['name']}: {field['value']}" for field in embed.get("fields") or []]
            words.append((embed.get("footer") or {}).get("text") or "")
        words += [f"[{button.get('label')}]" for row in message.components for button in row.get("components", [])]
        return "\n".join(word for word in words if word)

    def find(self, text, after=None):
        """The first message of the bot, later than the message `after`, that shows `text`."""
        for message in self.bot_messages():
            if (after is None or message.id > after.id) and text in self.shown(message):
                return message
        return None

    def hears(self, text, after=None):
        """Waits for a message of the bot that shows `text`; returns it."""

        async def work():
            def found():
                for message in sorted(self.backend.messages[self.channel.id].values(), key=lambda one: one.id):
                    own = message.author_id == self.backend.bot_user.id
                    if own and (after is None or message.id > after.id) and text in self.shown(message):
                        return message
                return None

            return await self._until(found, f"a message with {text!r}")

        return self._run(work())

    def until(self, condition, wanted):
        """Waits until `condition` holds; it is looked at again after every request and frame."""

        async def work():
            return await self._until(condition, wanted)

        return self._run(work())

    async def _until(self, condition, wanted):
        async def work():
            async with self.changed:
                while not (found := condition()):
                    await self.changed.wait()
                return found

        try:
            return await asyncio.wait_for(work(), PATIENCE)
        except TimeoutError:
            said = [self.shown(message) for message in self.backend.messages[self.channel.id].values()]
            raise AssertionError(f"no {wanted}; gaps {self.gaps}; refused {self.refused}; said {said[-12:]}") from None

    def traffic(self):
        """The requests that the bot made, as (method, path, body)."""

        async def work():
            return [(entry.method, entry.path, copy.deepcopy(entry.json)) for entry in self.backend.http_requests]

        return self._run(work())
