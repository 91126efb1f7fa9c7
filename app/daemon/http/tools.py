"""Tool calls in the model's own words: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.

The format that NousResearch's Hermes models introduced and the Qwen family's templates prescribe.
"""

import uuid
from collections.abc import Sequence
from typing import Any

import msgspec

from paceline.daemon.http.answers import FunctionCall, ToolCall
from paceline.daemon.http.errors import RequestError
from paceline.daemon.http.schemas import CalledTool, ChosenTool, Object, Tool

OPEN, CLOSE = "<tool_call>", "</tool_call>"
FORCED = OPEN + "\n"  # what an answer that has to be a call begins with


def offered(tools: Sequence[Tool] | None, choice: object, template: str) -> list[Tool]:
    """The tools that the model is told of. Raises RequestError where the template or the list has no such thing."""
    if not tools or choice == "none":
        if choice == "required" or isinstance(choice, ChosenTool):
            raise RequestError(400, "tool_choice asks for a call, but there are no tools", param="tool_choice")
        return []
    if "tools" not in template:
        raise RequestError(
            400, "this model's chat template has no place for tools", "choose a model made for tools", param="tools"
        )
    if forced(choice) and OPEN not in template:
        raise RequestError(
            400, "this model's way to call tools is not known, so it cannot be forced to", param="tool_choice"
        )
    if not isinstance(choice, ChosenTool):
        return list(tools)
    chosen = [each for each in tools if each.function.name == choice.function.name]
    if not chosen:
        raise RequestError(
            400, f"tool_choice names {choice.function.name!r}, which is none of the tools", param="tool_choice"
        )
    return chosen


def forced(choice: object) -> bool:
    """Whether the answer has to be a call."""
    return choice == "required" or isinstance(choice, ChosenTool)


def call_schema(tools: Sequence[Tool]) -> Object:
    """The JSON schema of a call to one of the tools."""
    calls = [
        {
            "type": "object",
            "properties": {"name": {"const": each.function.name}, "arguments": each.function.parameters or {}},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }
        for each in tools
    ]
    return calls[0] if len(calls) == 1 else {"anyOf": calls}


def for_template(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    """The tools as plain data."""
    return [{"type": each.type, "function": msgspec.to_builtins(each.function)} for each in tools]


def as_text(calls: Sequence[CalledTool]) -> str:
    """Calls of an earlier answer, as the model wrote them."""
    return "\n".join(f"{OPEN}\n{_written(call)}\n{CLOSE}" for call in calls)


def _written(call: CalledTool) -> str:
    try:
        arguments = msgspec.json.decode(call.function.arguments)
    except (msgspec.DecodeError, RecursionError):
        arguments = call.function.arguments
    # spaces as in Python's json, which is what templates and training data have
    return msgspec.json.format(
        msgspec.json.encode({"name": call.function.name, "arguments": arguments}), indent=0
    ).decode()


class ToolCalls:
    """Takes the calls out of a stream of text. `inside`: the text begins within a call.

    Blanks between and behind calls are nothing that the model says.
    """

    def __init__(self, *, inside: bool = False) -> None:
        self._inside = inside
        self._held = ""
        self._gap = ""  # blanks since the last call
        self.calls: list[ToolCall] = []
        self._after_call = False

    def feed(self, text: str) -> tuple[str, list[ToolCall]]:
        """The text that is no call, and the calls that are complete now."""
        self._held += text
        said: list[str] = []
        made: list[ToolCall] = []
        while True:
            mark = CLOSE if self._inside else OPEN
            before, found, rest = self._held.partition(mark)
            if not found:
                break
            said.append(self._call(before, made, mark) if self._inside else self._say(before))
            self._inside, self._held = not self._inside, rest
        if not self._inside:
            keep = _beginning(self._held, OPEN)
            said.append(self._say(self._held[: len(self._held) - keep]))
            self._held = self._held[len(self._held) - keep :]
        return "".join(said), made

    def flush(self) -> tuple[str, list[ToolCall]]:
        """The end. A call that was not closed counts if it is complete."""
        held, self._held = self._held, ""
        made: list[ToolCall] = []
        said = self._call(held, made, "") if self._inside else self._say(held)
        self._inside = False
        return said, made

    def _call(self, text: str, made: list[ToolCall], mark: str) -> str:
        """Take the text for a call; what is none is said as it was written."""
        call = parse(text)
        if call is None:
            return self._say(f"{OPEN}{text}{mark}")
        self.calls.append(call)
        made.append(call)
        self._gap, self._after_call = "", True
        return ""

    def _say(self, text: str) -> str:
        """The text, unless it is blank and stands behind a call."""
        if not self._after_call:
            return text
        text, self._gap = self._gap + text, ""
        if text.strip():
            self._after_call = False
            return text
        self._gap = text
        return ""


def parse(text: str) -> ToolCall | None:
    """The call that this JSON describes, or None. Arguments may be an object, or JSON in a string."""
    try:
        call = msgspec.json.decode(text.strip())
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return None
    if not (isinstance(call, dict) and isinstance(call.get("name"), str)):
        return None
    arguments = call.get("arguments", call.get("parameters", {}))
    written = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return ToolCall(id=f"call_{uuid.uuid4().hex[:24]}", function=FunctionCall(name=call["name"], arguments=written))


def _beginning(text: str, mark: str) -> int:
    """Length of the longest end of the text that the mark begins with."""
    return next((n for n in range(min(len(text), len(mark) - 1), 0, -1) if text.endswith(mark[:n])), 0)
