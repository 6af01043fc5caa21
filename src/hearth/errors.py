"""The errors that Hearth raises on purpose.

A message says what happened (with the value), what was expected or known, and what to do. The tree:

* HearthError
    * ConfigError            `hearth.toml` is missing, unreadable or wrong
    * StoreError             the home's database
        * StoreCorruptError      not a database, or damaged; it was backed up first
        * StoreLockedError       another process holds it
        * StoreFullError         no space left; nothing was half-written
        * StoreVersionError      written by a newer Hearth
        * HomeKeyError           the home is encrypted, and its key is not to be had
    * HomeBusyError          another agent runs on this home
    * RegistryError          a tool or part cannot be registered
    * RequestError           the request cannot be read (empty, binary, too long)
    * PlanError              a plan is not runnable; one subclass per fault, see `formats.plans`
        * UnknownTool, UnknownArgument, MissingArgument, WrongType, NotInEnum, Cycle, BadReference, EmptyPlan,
          PlanTooLong
    * PlannerError           a planner could not answer (model unreachable, output unusable)
        * UnknownStandInError    a model's answer names a stand-in that it was not given
    * ToolError              a tool could not do its work; the owner's data are as before the call
        * TransientToolError     worth trying again (network, lock)
        * NotFound               nothing matches what was asked for
        * Ambiguous              several things match; the owner must say which
        * ToolTimeout            no answer in time; a sending tool's effect is unknown
        * ToolCrashed            the tool failed in a way it does not declare; what it sent before is unknown
        * BadResult              the tool returned a wrong type or too much
        * Unreadable             a file or mail cannot be read, or not within the bounds set for strangers' bytes
        * SandboxError           a path leaves the owner's folder
        * Conflict               the record changed since it was read
    * DeniedError            the guard said no; nothing was called
    * EgressError            the egress gateway is closed for this host
    * LinkError              the cloud was not reached, or refused a message; messages keep waiting
    * WireError              what came from the cloud, or from an edge, is not what the protocol says
    * StatisticsError        statistics cannot be added or taken: damaged, of other features, out of bounds
    * MissingExtraError      an optional part is not installed; the message holds the pip command
    * CancelledError         the owner stopped it
"""

from __future__ import annotations


class HearthError(Exception):
    """Root of the errors that Hearth raises on purpose; `str(error)` is fit for the owner to read."""


class ConfigError(HearthError): ...


class StoreError(HearthError): ...


class StoreCorruptError(StoreError): ...


class StoreLockedError(StoreError): ...


class StoreFullError(StoreError): ...


class StoreVersionError(StoreError): ...


class HomeKeyError(StoreError): ...


class HomeBusyError(HearthError): ...


class RegistryError(HearthError): ...


class RequestError(HearthError): ...


class PlanError(HearthError):
    """A plan is not runnable. `step` is the index of the faulty step, or -1 for the whole plan."""

    def __init__(self, message: str, *, step: int = -1, parameter: str = "") -> None:
        super().__init__(message)
        self.step = step
        self.parameter = parameter


class UnknownTool(PlanError): ...


class UnknownArgument(PlanError): ...


class MissingArgument(PlanError): ...


class WrongType(PlanError): ...


class NotInEnum(PlanError): ...


class Cycle(PlanError): ...


class BadReference(PlanError): ...


class EmptyPlan(PlanError): ...


class PlanTooLong(PlanError): ...


class PlannerError(HearthError): ...


class UnknownStandInError(PlannerError):
    """A model's answer names a stand-in that it was not given; the answer is not used."""


class ToolError(HearthError): ...


class TransientToolError(ToolError): ...


class NotFound(ToolError): ...


class Ambiguous(ToolError): ...


class ToolTimeout(ToolError): ...


class ToolCrashed(ToolError): ...


class BadResult(ToolError): ...


class Unreadable(ToolError): ...


class SandboxError(ToolError): ...


class Conflict(ToolError): ...


class DeniedError(HearthError): ...


class EgressError(HearthError): ...


class StatisticsError(HearthError): ...


class LinkError(HearthError):
    """The cloud was not reached, or refused a message."""

    def __init__(self, message: str, *, code: str, status: int = 0, retry_after_s: float | None = None) -> None:
        """`code`: of `edge_protocol.Problem`; or `away` (not reached, or an unintelligible answer), `closed` (our own
        egress gateway).

        Args:
            status: HTTP status of the answer; 0 where there was none.
            retry_after_s: Time after which to try again, if the cloud gave one.
        """
        super().__init__(message)
        self.code = code
        self.status = status
        self.retry_after_s = retry_after_s


class WireError(HearthError): ...


class MissingExtraError(HearthError):
    """An optional part is not installed."""

    def __init__(self, feature: str, command: str) -> None:
        super().__init__(f"{feature} needs a part that is not installed; install it with: {command}")


class CancelledError(HearthError): ...
