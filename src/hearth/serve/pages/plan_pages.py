"""Forms that say a plan: what should have been done, and what should be done in place of what is asked about.

A correction teaches and does nothing. A plan put in the place of a question's is checked, ruled on and asked about like
any other: the form is no yes.

Covered: corrections in words, by form, or that nothing should have been done. Not covered: who may come in
(`serve.door`).
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from hearth.errors import RequestError
from hearth.formats.plan_validation import check_plan
from hearth.learning.demonstration_store import Entry
from hearth.serve.desk import Desk
from hearth.serve.pages.page_parts import Home, Templates, caller_of, done_soon, fields
from hearth.serve.pages.plan_form import parts_of, plan_in, shaped
from hearth.terminal import clean
from hearth.types import Plan

_OVER = "That was answered already, or is asked no more."


class PlanPages:
    """The routes of these forms, over one desk."""

    def __init__(self, desk: Desk, home: Home, templates: Templates) -> None:
        self._desk = desk
        self._home = home
        self._templates = templates

    def routes(self) -> list[BaseRoute]:
        """Return the routes."""
        return [
            Route("/correct", self.correct, methods=["POST"]),
            Route("/correct/form", self.correction_form, methods=["POST"]),
            Route("/correct/plan", self.correct_by_form, methods=["POST"]),
            Route("/change/form", self.change_form, methods=["POST"]),
            Route("/change", self.change, methods=["POST"]),
        ]

    # ── Corrections ───────────────────────────────────────────────────────────────────────────────────────

    async def correct(self, request: Request) -> Response:
        """Learn what should have been understood, in other words; without any, that nothing should have been done."""
        given = await fields(request)
        return _learnt(await done_soon(self._desk.correct(given.get("id", ""), given.get("say", ""))))

    async def correction_form(self, request: Request) -> Response:
        """What should have been done, as a form: at first, what was."""
        given = await fields(request)
        episode = self._home.trace.episode(given.get("id", ""))
        return self._form(given, episode.plan, f"wrong-{episode.id}", "/correct/plan", "Learn that")

    async def correct_by_form(self, request: Request) -> Response:
        """Learn the plan that the form says."""
        given = await fields(request)
        plan = check_plan(plan_in(given, self._home.specs), self._home.specs)
        return _learnt(await done_soon(self._desk.correct(given.get("id", ""), "", plan)))

    # ── In the place of what is asked about ───────────────────────────────────────────────────────────────

    async def change_form(self, request: Request) -> Response:
        """What is asked about, as a form."""
        given = await fields(request)
        asked = self._desk.view.asked
        if asked is None or asked.id != given.get("id", ""):
            return JSONResponse({"says": _OVER}, 409)
        if asked.plan is None:
            raise RequestError("this question is answered with yes or no; say anew what you want")
        return self._form(given, asked.plan, "change", "/change", "Do it this way")

    async def change(self, request: Request) -> Response:
        """Do this in the place of what is asked about, which is answered with no."""
        given = await fields(request)
        plan = check_plan(plan_in(given, self._home.specs), self._home.specs)
        done = self._desk.change(given.get("id", ""), plan, caller_of(request))
        if done is None:
            return JSONResponse({"says": _OVER}, 409)
        done.add_done_callback(lambda ended: None if ended.cancelled() else ended.exception())
        return JSONResponse({"says": "Changed."})

    def _form(self, given: dict[str, str], plan: Plan | None, into: str, to: str, does: str) -> Response:
        """Return a plan's form, or the form that was sent in the shape that was asked for."""
        if "tool-0" in given:
            plan = shaped(plan_in(given, self._home.specs), given.get("shape", ""))
        is_change = to == "/change"
        html = self._templates.fragment(
            "plan_form.html", parts=parts_of(plan or Plan(()), self._home.specs), tools=sorted(self._home.specs),
            id=given["id"], into=into, to=to, to_shape="/change/form" if is_change else "/correct/form", does=does,
            heading="What should I do?" if is_change else "What should I have done?",
            about="You are asked again before it is done." if is_change else "This teaches, and does nothing now.",
        )  # fmt: skip
        return JSONResponse({"html": html})


def _learnt(entry: Entry) -> Response:
    did = ", then ".join(step.tool.replace("_", " ") for step in entry.demonstration.plan.steps) or "do nothing"
    return JSONResponse({"says": clean(f"Learnt: I will {did} next time.")})
