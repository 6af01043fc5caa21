"""A server on loopback that speaks as much of the OpenAI API as a language model behind Hearth's door needs."""

from __future__ import annotations

import http.server
import json
import threading
from typing import Any


class ModelServer:
    """Keeps the bodies it was sent and answers each with what `reply` makes of it; a subclass says what."""

    def __init__(self) -> None:
        self.received: list[bytes] = []
        self.statuses: list[int] = []
        """Of the next answers; 200 when there are none."""
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.received.append(body)
                said = json.dumps(outer.reply(json.loads(body)["messages"])).encode()
                self.send_response(outer.statuses.pop(0) if outer.statuses else 200)
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def reply(self, messages: list[dict[str, Any]]) -> dict[str, Any]:
        """The whole answer to a conversation."""
        raise NotImplementedError

    def completion(self, content: str) -> dict[str, Any]:
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        usage = {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42}
        return {"id": "c", "choices": [choice], "usage": usage}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
