#!/usr/bin/env python3
"""stub.py: stands for the services that the real agents talk to, on loopback.

usage: stub.py FOLDER

Speaks as much of four protocols as the clients need: POST /v1/messages (Claude Code), /v1/responses (Codex),
/v1/chat/completions (opencode, Copilot) and …:streamGenerateContent (Gemini). The files of FOLDER:

  port      written when it listens
  script    read at each request: one scene per line; a request takes the first one, the last one stays
  requests  one JSON line per request: time, scene, prompt, the tokens that it was charged
  key       if it exists: a request without this key is refused (401), and takes no scene

Scenes:

  ok [TEXT]        an answer, and the turn is over
  tool COMMAND     the agent is asked to run a command of the shell
  mcp TOOL JSON    the agent is asked to call this tool of the server `sluice`
  429 SECONDS      refused, with retry-after
  limit SECONDS    the plan is used up: every request is refused from now on for that long; then the line is over
  minute           the same until the clock shows the next minute: one of the agents tells no seconds
  hang             begins an answer and never ends it
  fail             the service has a problem (500)
  bad              the request is refused as wrong (400): it is not tried again
  spend TOKENS     an answer that is charged that many tokens in, of which none came from a cache
  spend TOKENS COMMAND  the same, and the agent is asked to run a command
  used PERCENT [SECONDS]  an answer that reports how much of the 5-hour window of the plan is used, and when it ends: in that many
                   seconds, or when the scene before said
  agent            the agent is asked to start another one, whose prompt has the word CHILD in it
  await            and to wait for it; only where it does not do so by itself
  nest             the agent is asked to start one that starts another

A request whose prompt has the word CHILD in it takes no scene: it gets an answer. So does one that is not part of
the conversation, because it offers no tools: for a title, or for a summary of what was said so far.

Each answer is charged the same: 4312 tokens in, of which 4000 came from a cache, and 25 out. It ends by itself
after a quarter of an hour.
"""
import json
import os
import re
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

IN, CACHED, OUT = 4312, 4000, 25
CHILD = "CHILD: look around."
NEST = "NEST: let another one look around."
MOST_SECONDS = 900


class Scenes:
    """What is said next. One for all connections: the account is the same."""

    def __init__(self, folder):
        self.folder = folder
        self.lock = threading.Lock()
        self.limit = None  # which line of which script, and until when

    def take(self):
        """The scene of this request as [name, argument], and when a limit ends."""
        with self.lock:
            path = os.path.join(self.folder, "script")
            with open(path, encoding="utf-8") as script:
                lines = [line for line in script.read().splitlines() if line]
            name, _, rest = lines[0].partition(" ")
            if name in ("limit", "minute"):
                now = time.time()
                line = (os.stat(path).st_ino, lines[0])
                if not self.limit or self.limit[0] != line:
                    self.limit = (line, int(now + float(rest)) if name == "limit" else next_minute(now))
                if now < self.limit[1]:
                    return "limit", rest, self.limit[1]
                lines = lines[1:] or ["ok"]
                name, _, rest = lines[0].partition(" ")
            if len(lines) > 1:
                lines = lines[1:]
            with open(path + ".new", "w", encoding="utf-8") as script:
                script.write("\n".join(lines) + "\n")
            os.rename(path + ".new", path)
            return name, rest, 0

    def note(self, **what):
        with self.lock, open(os.path.join(self.folder, "requests"), "a", encoding="utf-8") as log:
            log.write(json.dumps({"at": time.time(), **what}) + "\n")


def next_minute(now):
    """At least two seconds ahead, so that nobody sees it pass."""
    return (int(now + 2) // 60 + 1) * 60


def texts(content):
    """The words of one message, whatever its form."""
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


class Handler(BaseHTTPRequestHandler):
    scenes = None
    number = 0
    window_ends = 0  # of the plan

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.send_response(200)
        self.end_headers()

    def do_GET(self):
        if self.path.split("?")[0].endswith("/models"):
            return self.answer(200, {"object": "list", "data": [{"id": "stub-model", "object": "model"}], "models": []})
        if "upgrade" in self.headers:
            return self.refuse_upgrade()
        return self.refuse_path()

    def refuse_upgrade(self):
        """No WebSockets: Codex then uses plain requests."""
        self.protocol_version = "HTTP/1.1"
        self.close_connection = True
        self.answer(426, {"error": {"message": "no WebSockets", "type": "invalid_request_error"}}, {"connection": "close"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            asked = json.loads(body or b"{}")
        except ValueError:
            asked = {}
        path = self.path.split("?")[0]
        if not self.has_key():
            return self.refuse_key(path)
        if path.endswith("/v1/messages"):
            return Messages(self, asked).serve()
        if path.endswith("/count_tokens"):
            return self.answer(200, {"input_tokens": 10})
        if path.endswith("/v1/responses"):
            return Responses(self, asked).serve()
        if path.endswith("/chat/completions"):
            return Chat(self, asked).serve()
        if path.lower().endswith("generatecontent"):
            return Generate(self, asked).serve()
        if path.lower().endswith(":counttokens"):
            return self.answer(200, {"totalTokens": 10})
        return self.refuse_path()

    def given_key(self):
        return self.headers.get("x-api-key") or (self.headers.get("authorization") or "").removeprefix("Bearer ")

    def has_key(self):
        path = os.path.join(self.scenes.folder, "key")
        if not os.path.exists(path):
            return True
        with open(path, encoding="utf-8") as key:
            return self.given_key() == key.read().strip()

    def refuse_key(self, path):
        self.scenes.note(scene="no key", path=path, given=bool(self.given_key()))
        if "/responses" in path:
            text = "Incorrect API key provided." if self.given_key() else "Missing bearer or basic authentication in header"
            return self.answer(401, {"error": {"message": text, "type": "invalid_request_error", "code": "invalid_api_key"}})
        return self.answer(401, {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key"}})

    def refuse_path(self):
        self.scenes.note(scene="other", path=self.path)
        self.answer(404, {"type": "error", "error": {"type": "not_found_error", "message": "no " + self.path}})

    def answer(self, code, value, headers=None):
        text = json.dumps(value).encode()
        self.send_response(code)
        for name, told in {"content-type": "application/json", "content-length": str(len(text)), **(headers or {})}.items():
            self.send_header(name, told)
        self.end_headers()
        self.wfile.write(text)

    def begin_stream(self, headers=None):
        """Its end is the end of the connection."""
        self.send_response(200)
        for name, told in {"content-type": "text/event-stream", **(headers or {})}.items():
            self.send_header(name, told)
        self.end_headers()
        self.close_connection = True

    def event(self, name, **data):
        self.wfile.write(f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n".encode())
        self.wfile.flush()

    def hang(self):
        """Until the other side goes."""
        try:
            self.rfile.read(1)
        except OSError:
            pass


class Turn:
    """One request of an agent's conversation; Messages and Responses know its form."""

    def __init__(self, http, asked):
        self.http = http
        self.asked = asked
        self.tokens_in, self.cached = IN, CACHED
        self.headers = None  # of an answer
        with Handler.scenes.lock:
            Handler.number += 1
            self.number = Handler.number

    def serve(self):
        if not self.is_main():
            Handler.scenes.note(scene="aside", model=self.asked.get("model"), tokens_in=self.tokens_in, tokens_out=OUT)
            return self.say("aside")
        is_child = CHILD in self.prompt()
        is_nest = NEST in self.prompt()
        if is_child:
            name, rest, reset_at = "child", "I have looked around.", 0
        elif is_nest:
            name, rest, reset_at = ("agent", "await", "child")[min(self.turns(), 2)], "It has looked around.", 0
        else:
            name, rest, reset_at = Handler.scenes.take()
        charged = name in ("ok", "child", "tool", "mcp", "hang", "spend", "used", "agent", "nest", "await")
        if name == "spend":
            tokens, _, command = rest.partition(" ")
            self.tokens_in, self.cached = int(tokens), 0
        if name == "used":
            percent, _, seconds = rest.partition(" ")
            if seconds:
                Handler.window_ends = int(time.time() + float(seconds))
            reset_at = Handler.window_ends
            self.headers = self.usage_headers(int(percent), reset_at)
        Handler.scenes.note(scene=name, rest=rest, model=self.asked.get("model"), turns=self.turns(), prompt=self.prompt()[-2000:],
                            reset_at=reset_at or None, tokens_in=self.tokens_in if charged else 0,
                            tokens_out=OUT if charged else 0)
        if name in ("ok", "child"):
            return self.say(rest or "Hello from the stub.")
        if name == "used":
            return self.say("That was a part of the plan.")
        if name == "spend":
            return self.call(command) if command else self.say("That was much.")
        if name in ("agent", "nest"):
            return self.start_child(CHILD if name == "agent" else NEST)
        if name == "await":
            return self.await_child()
        if name == "tool":
            return self.call(rest)
        if name == "mcp":
            tool, _, arguments = rest.partition(" ")
            return self.call_mcp(tool, arguments)
        if name == "429":
            return self.refuse(rest)
        if name == "limit":
            return self.refuse_plan(reset_at)
        if name == "bad":
            return self.http.answer(400, {"error": {"code": 400, "status": "INVALID_ARGUMENT", "type": "invalid_request_error",
                                                    "message": "This request is not valid."}})
        if name == "hang":
            self.begin()
            return self.http.hang()
        return self.http.answer(500, {"error": {"type": "api_error", "message": "unknown scene " + name}})


class Messages(Turn):
    """POST /v1/messages, as Claude Code uses it."""

    def is_main(self):
        return bool(self.asked.get("tools"))

    def turns(self):
        return sum(one.get("role") == "assistant" for one in self.asked.get("messages", []))

    def prompt(self):
        return " | ".join(texts(one.get("content")) for one in self.asked.get("messages", []) if one.get("role") == "user")

    def begin(self):
        usage = {"input_tokens": 12, "cache_creation_input_tokens": self.tokens_in - self.cached - 12,
                 "cache_read_input_tokens": self.cached, "output_tokens": 1}
        message = {"id": f"msg_{self.number}", "type": "message", "role": "assistant",
                   "model": self.asked.get("model"), "content": [], "stop_reason": None,
                   "stop_sequence": None, "usage": usage}
        self.http.begin_stream(self.headers)
        self.http.event("message_start", message=message)

    def usage_headers(self, percent, reset_at):
        unified = {"status": "allowed", "reset": str(reset_at), "representative-claim": "five_hour",
                   "5h-status": "allowed", "5h-reset": str(reset_at), "5h-utilization": str(percent / 100),
                   "7d-status": "allowed", "7d-reset": str(reset_at + 300000), "7d-utilization": "0.41"}
        return {"anthropic-ratelimit-unified-" + name: value for name, value in unified.items()}

    def block(self, block, delta):
        self.http.event("content_block_start", index=0, content_block=block)
        self.http.event("content_block_delta", index=0, delta=delta)
        self.http.event("content_block_stop", index=0)

    def end(self, reason):
        self.http.event("message_delta", delta={"stop_reason": reason, "stop_sequence": None},
                        usage={"output_tokens": OUT})
        self.http.event("message_stop")

    def say(self, text):
        self.begin()
        self.block({"type": "text", "text": ""}, {"type": "text_delta", "text": text})
        self.end("end_turn")

    def call(self, command):
        asked = json.dumps({"command": command, "description": "a step of the work"})
        self.begin()
        self.block({"type": "tool_use", "id": f"toolu_{self.number}", "name": "Bash", "input": {}},
                   {"type": "input_json_delta", "partial_json": asked})
        self.end("tool_use")

    def use(self, tool, arguments):
        self.begin()
        self.block({"type": "tool_use", "id": f"toolu_{self.number}", "name": tool, "input": {}},
                   {"type": "input_json_delta", "partial_json": arguments})
        self.end("tool_use")

    def call_mcp(self, tool, arguments):
        self.use("mcp__sluice__" + tool, arguments)

    def start_child(self, prompt=CHILD):
        self.use("Agent", json.dumps({"description": "look", "prompt": prompt, "subagent_type": "general-purpose"}))

    await_child = start_child

    def error(self, code, kind, message, headers):
        self.http.answer(code, {"type": "error", "error": {"type": kind, "message": message}}, headers)

    def refuse(self, seconds):
        self.error(429, "rate_limit_error", "This request would exceed your rate limit.", {"retry-after": seconds})

    def refuse_plan(self, reset_at):
        unified = {"status": "rejected", "reset": str(reset_at), "representative-claim": "five_hour",
                   "5h-status": "rejected", "5h-reset": str(reset_at), "5h-utilization": "1.0",
                   "7d-status": "allowed", "7d-reset": str(reset_at + 300000), "7d-utilization": "0.41"}
        headers = {"anthropic-ratelimit-unified-" + name: value for name, value in unified.items()}
        headers["retry-after"] = str(max(1, int(reset_at - time.time())))
        headers["x-should-retry"] = "false"
        self.error(429, "rate_limit_error", "You have reached your usage limit.", headers)


class Responses(Turn):
    """POST /v1/responses, as Codex uses it."""

    def __init__(self, http, asked):
        super().__init__(http, asked)
        self.id = f"resp_{self.number}"

    def is_main(self):
        """A title is asked for at a terminal. Other requests may have no tools, either: with a key of the provider."""
        return bool(self.asked.get("tools")) or "User prompt:" not in self.prompt()

    def items(self, role):
        return [one for one in self.asked.get("input", []) if isinstance(one, dict) and one.get("role") == role]

    def turns(self):
        calls = [one for one in self.asked.get("input", []) if isinstance(one, dict) and one.get("type") == "function_call"]
        return len(self.items("assistant")) + len(calls)

    def prompt(self):
        return " | ".join(texts(one.get("content")) for one in self.items("user"))

    def response(self, status, output=(), **more):
        return {"id": self.id, "object": "response", "created_at": int(time.time()), "status": status,
                "model": self.asked.get("model"), "output": list(output), "tools": [], **more}

    def begin(self):
        self.http.begin_stream(self.headers)
        self.http.event("response.created", response=self.response("in_progress"))

    def usage_headers(self, percent, reset_at):
        left = max(1, int(reset_at - time.time()))
        return {"x-codex-primary-used-percent": str(percent), "x-codex-primary-window-minutes": "300",
                "x-codex-primary-reset-at": str(reset_at), "x-codex-primary-reset-after-seconds": str(left)}

    def end(self, item):
        usage = {"input_tokens": self.tokens_in, "input_tokens_details": {"cached_tokens": self.cached},
                 "output_tokens": OUT, "output_tokens_details": {"reasoning_tokens": 7},
                 "total_tokens": self.tokens_in + OUT}
        self.http.event("response.output_item.done", output_index=0, item=item)
        self.http.event("response.completed", response=self.response("completed", [item], usage=usage))

    def say(self, text):
        item = {"type": "message", "id": f"msg_{self.number}", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}]}
        self.begin()
        self.http.event("response.output_item.added", output_index=0, item={**item, "content": []})
        self.http.event("response.output_text.delta", item_id=item["id"], output_index=0, content_index=0, delta=text)
        self.end(item)

    def call(self, command):
        item = {"type": "function_call", "id": f"fc_{self.number}", "call_id": f"call_{self.number}",
                "name": "exec_command", "status": "completed",
                "arguments": json.dumps({"cmd": command, "yield_time_ms": 30000})}
        self.begin()
        self.http.event("response.output_item.added", output_index=0, item={**item, "arguments": ""})
        self.end(item)

    def use(self, space, tool, arguments):
        item = {"type": "function_call", "id": f"fc_{self.number}", "call_id": f"call_{self.number}",
                "name": tool, "namespace": space, "status": "completed", "arguments": arguments}
        self.begin()
        self.http.event("response.output_item.added", output_index=0, item={**item, "arguments": ""})
        self.end(item)

    def call_mcp(self, tool, arguments):
        self.use("mcp__sluice", tool, arguments)

    def start_child(self, prompt=CHILD):
        self.use("multi_agent_v1", "spawn_agent", json.dumps({"message": prompt}))

    def await_child(self):
        """Its id is in the answer of the tool that has started it."""
        answers = [str(one.get("output")) for one in self.asked.get("input", [])
                   if isinstance(one, dict) and one.get("type") == "function_call_output"]
        ids = re.findall(r"[0-9a-f]{8}-[0-9a-f-]{27}", " ".join(answers))
        self.use("multi_agent_v1", "wait_agent", json.dumps({"targets": ids[-1:], "timeout_ms": 30000}))

    def refuse(self, seconds):
        error = {"message": f"Rate limit reached. Please try again in {seconds}s.", "type": "tokens",
                 "code": "rate_limit_exceeded"}
        self.http.answer(429, {"error": error}, {"retry-after": seconds})

    def refuse_plan(self, reset_at):
        left = max(1, int(reset_at - time.time()))
        error = {"type": "usage_limit_reached", "message": "The usage limit has been reached", "plan_type": "plus",
                 "resets_at": reset_at, "resets_in_seconds": left}
        headers = {"x-codex-primary-used-percent": "100", "x-codex-primary-window-minutes": "300",
                   "x-codex-primary-reset-at": str(reset_at), "x-codex-primary-reset-after-seconds": str(left)}
        self.http.answer(429, {"error": error}, headers)


class Chat(Turn):
    """POST /v1/chat/completions, as opencode and Copilot use it."""

    def is_main(self):
        return bool(self.asked.get("tools"))

    def said(self, role):
        return [one for one in self.asked.get("messages", []) if one.get("role") == role]

    def turns(self):
        return len(self.said("assistant"))

    def prompt(self):
        return " | ".join(texts(one.get("content")) for one in self.said("user"))

    def chunk(self, **more):
        chunk = {"id": f"chatcmpl-{self.number}", "object": "chat.completion.chunk", "created": int(time.time()),
                 "model": self.asked.get("model"), "choices": [], **more}
        self.http.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.http.wfile.flush()

    def delta(self, delta, reason=None):
        self.chunk(choices=[{"index": 0, "delta": delta, "finish_reason": reason}])

    def begin(self):
        self.http.begin_stream()
        self.delta({"role": "assistant", "content": ""})

    def usage(self):
        return {"prompt_tokens": self.tokens_in, "completion_tokens": OUT, "total_tokens": self.tokens_in + OUT,
                "prompt_tokens_details": {"cached_tokens": self.cached}}

    def end(self, reason):
        self.delta({}, reason)
        self.chunk(usage=self.usage())
        self.http.wfile.write(b"data: [DONE]\n\n")

    def say(self, text):
        if not self.asked.get("stream"):
            message = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            return self.http.answer(200, {"id": f"chatcmpl-{self.number}", "object": "chat.completion",
                                          "created": int(time.time()), "model": self.asked.get("model"),
                                          "choices": [message], "usage": self.usage()})
        self.begin()
        self.delta({"content": text})
        return self.end("stop")

    def use(self, tool, arguments):
        self.begin()
        self.delta({"tool_calls": [{"index": 0, "id": f"call_{self.number}", "type": "function",
                                    "function": {"name": tool, "arguments": arguments}}]})
        self.end("tool_calls")

    def call(self, command):
        self.use("bash", json.dumps({"command": command, "description": "a step of the work"}))

    def call_mcp(self, tool, arguments):
        self.use("sluice-" + tool, arguments)

    def start_child(self, prompt=CHILD):
        """Both call the tool `task`; each has members that the other does not read."""
        self.use("task", json.dumps({"description": "look", "prompt": prompt, "subagent_type": "general",
                                     "agent_type": "general-purpose", "name": "child", "mode": "sync"}))

    await_child = start_child

    def refuse(self, seconds):
        error = {"message": f"Rate limit reached. Please try again in {seconds}s.", "type": "tokens",
                 "code": "rate_limit_exceeded"}
        self.http.answer(429, {"error": error}, {"retry-after": seconds})

    def refuse_plan(self, reset_at):
        self.refuse(str(max(1, int(reset_at - time.time()) + 1)))


class Generate(Turn):
    """POST …:generateContent and …:streamGenerateContent, as Gemini uses them."""

    def is_main(self):
        return bool(self.asked.get("tools"))

    def said(self, role):
        return [one for one in self.asked.get("contents", []) if one.get("role") == role]

    def turns(self):
        return len(self.said("model"))

    def prompt(self):
        return " | ".join(texts(one.get("parts")) for one in self.said("user"))

    def begin(self):
        self.http.begin_stream()

    def send(self, part):
        """What it thinks is charged with the rest, and reported beside it."""
        answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
                  "usageMetadata": {"promptTokenCount": self.tokens_in, "cachedContentTokenCount": self.cached,
                                    "candidatesTokenCount": OUT - 7, "thoughtsTokenCount": 7,
                                    "totalTokenCount": self.tokens_in + OUT},
                  "modelVersion": "stub-model", "responseId": f"r{self.number}"}
        if "stream" not in self.http.path:
            return self.http.answer(200, answer)
        self.begin()
        return self.http.wfile.write(f"data: {json.dumps(answer)}\r\n\r\n".encode())

    def say(self, text):
        self.send({"text": text})

    def use(self, tool, arguments):
        self.send({"functionCall": {"id": f"call_{self.number}", "name": tool, "args": arguments}})

    def call(self, command):
        self.use("run_shell_command", {"command": command, "description": "a step of the work"})

    def call_mcp(self, tool, arguments):
        self.use("mcp_sluice_" + tool, json.loads(arguments))

    def start_child(self, prompt=CHILD):
        self.use("invoke_agent", {"agent_name": "generalist", "prompt": prompt})

    await_child = start_child

    def refuse(self, seconds):
        """Of a day: it tries those of a minute again by itself, for as long as it is let."""
        google = "type.googleapis.com/google.rpc."
        quota = {"quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                 "quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "25"}
        details = [{"@type": google + "QuotaFailure", "violations": [quota]},
                   {"@type": google + "RetryInfo", "retryDelay": f"{seconds}s"}]
        self.http.answer(429, {"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "details": details,
                                         "message": "You exceeded your current quota."}})

    def refuse_plan(self, reset_at):
        self.refuse(str(max(1, int(reset_at - time.time()))))


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """An agent that is killed in the middle of an answer is what some tests are about."""


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    folder = sys.argv[1]
    Handler.scenes = Scenes(folder)
    server = Server(("127.0.0.1", 0), Handler)
    with open(os.path.join(folder, "port.new"), "w", encoding="utf-8") as port:
        port.write(f"{server.server_address[1]}\n")
    os.rename(os.path.join(folder, "port.new"), os.path.join(folder, "port"))
    timer = threading.Timer(MOST_SECONDS, server.shutdown)
    timer.daemon = True
    timer.start()
    server.serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main())
