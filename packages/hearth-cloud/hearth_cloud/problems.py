"""Errors that the service answers with: a status and an `edge_protocol.Problem`, never content of the request."""

from __future__ import annotations

from starlette.responses import Response

from hearth.errors import HearthError
from hearth.formats.edge_protocol import MAX_TEXT, Problem

JSON = "application/json"
MOST_RETRY_S = 86_400.0


class Fault(HearthError):
    """Ends a request with a status; the message is for the client."""

    def __init__(self, status: int, code: str, detail: str, retry_after_s: float | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.retry_after_s = None if retry_after_s is None else min(max(retry_after_s, 0.0), MOST_RETRY_S)

    def response(self) -> Response:
        problem = Problem(code=self.code, detail=str(self)[:MAX_TEXT], retry_after_s=self.retry_after_s)
        headers = {"retry-after": str(max(1, round(self.retry_after_s)))} if self.retry_after_s is not None else {}
        if self.status == 401:
            headers["www-authenticate"] = "Bearer"
        return Response(problem.model_dump_json(), self.status, headers, JSON)
