# ruff: noqa: N802, N815 - Jinja finds visitors by the names of its nodes
"""Where a chat template runs. It comes with the model's file, so it is a program from a stranger.

Jinja's immutable sandbox keeps it away from Python's insides (CVE-2024-34359 is what happens without). What the
sandbox leaves open is time and memory: so everything that repeats, copies or builds goes through a Meter. Loops and
literals are made to do so by rewriting the syntax tree before it is compiled; operators, calls and filters by the
hooks that Jinja has for them. Only filters and methods that templates use are there, each with a bound.
"""

import functools
import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from string import Formatter
from typing import Any, cast

from jinja2 import nodes, pass_context
from jinja2.exceptions import SecurityError, TemplateError
from jinja2.ext import Extension
from jinja2.filters import FILTERS
from jinja2.parser import Parser
from jinja2.runtime import Context, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace
from jinja2.visitor import NodeTransformer

from paceline.prompts.meter import STEP, Meter, OverBudgetError

MAX_NODES = 20_000  # of a template's syntax tree; large real ones have a quarter of it
MAX_RANGE = 10_000
MAX_INDENT = 64
MAX_PRECISION = 32

_FILTERS = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "e", "escape", "first", "float", "groupby", "int",
    "items", "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse",
    "safe", "select", "selectattr", "sort", "string", "title", "trim", "truncate", "unique", "upper",
)  # fmt: skip
_STRING_METHODS = frozenset(
    {
        "capitalize", "count", "endswith", "find", "format", "index", "isalnum", "isalpha", "isdecimal", "isdigit",
        "islower", "isnumeric", "isspace", "isupper", "join", "lower", "lstrip", "partition", "removeprefix",
        "removesuffix", "replace", "rfind", "rindex", "rpartition", "rsplit", "rstrip", "split", "splitlines",
        "startswith", "strip", "swapcase", "title", "upper",
    }
)  # fmt: skip
# In a text for `%`: a width of four digits, one taken from an argument, or a name, which could hide either
_PERCENT_BOMB = re.compile(r"%(?:\(|[^A-Za-z%]*(?:\d{4}|\*))")
# In the part after the colon of a field of `str.format`: the same, with other fields inside
_FIELD_BOMB = re.compile(r"\d{4}|\{")
_DATE_FORMAT = re.compile(r"(?:[^%]|%-?[A-Za-z%]){0,64}")

_WIDTH = "a text format with a large or computed width"
_SCOPE = ("_loop_vars", "_block_vars")  # what compiled templates pass along with every call
# Names of our own filters begin with a blank: no template can write them
_CHARGE, _STEP, _BUILT, _JOINED = " charge", " step", " built", " joined"


class TemplateRefusalError(TemplateError):
    """The template called `raise_exception`: it does not take this conversation."""


class GenerationBlock(Extension):
    """`{% generation %}…{% endgeneration %}` marks the assistant's words for training; here only its body counts."""

    tags = {"generation"}  # noqa: RUF012 - Jinja declares it so

    def parse(self, parser: Parser) -> list[nodes.Node]:
        """The body's statements."""
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class Metering(NodeTransformer):
    """Rewrites a template so that loops, static text, literals, slices and comparisons are counted."""

    def visit_For(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        node.body.insert(0, _charge(STEP))
        return node

    def visit_Output(self, node: nodes.Output) -> nodes.Node | list[nodes.Node]:
        self.generic_visit(node)
        size = sum(len(part.data) for part in node.nodes if isinstance(part, nodes.TemplateData))
        return [_charge(size), node] if size else node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        self.generic_visit(node)
        return _through(_JOINED, node.nodes[0], node.nodes[1:])

    def visit_List(self, node: nodes.List | nodes.Dict) -> nodes.Node:
        self.generic_visit(node)
        return _through(_BUILT, node)

    visit_Dict = visit_List

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        self.generic_visit(node)
        return _through(_BUILT, node) if node.ctx == "load" else node

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        return _through(_BUILT, node) if isinstance(node.arg, nodes.Slice) else node

    def visit_Compare(self, node: nodes.Compare) -> nodes.Node:
        self.generic_visit(node)
        node.expr = _through(_STEP, node.expr)
        return node


def _through(name: str, value: nodes.Expr, others: list[nodes.Expr] | None = None) -> nodes.Filter:
    return nodes.Filter(value, name, others or [], [], None, None)


def _charge(units: int) -> nodes.Node:
    return nodes.ExprStmt(_through(_CHARGE, nodes.Const(units)))


class TemplateSandbox(ImmutableSandboxedEnvironment):
    """Renders one template once. `now` is what the template's clock shows."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, meter: Meter, now: datetime) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,  # the optimiser would compute constants before anything is counted
            extensions=["jinja2.ext.loopcontrols", GenerationBlock],
            finalize=_shown,
        )
        self.meter = meter
        own: dict[str, Callable[..., object]] = {
            "indent": self._indent,
            "join": self._join,
            "replace": self._replace,
            "round": self._round,
            "tojson": self._tojson,
        }
        functions = {name: FILTERS[name] for name in _FILTERS} | own
        self.filters = {name: self._metered(function) for name, function in functions.items()} | {
            _CHARGE: meter.charge,
            _STEP: self._step,
            _BUILT: meter.checked,
            _JOINED: self._joined,
        }
        self.globals = {
            "dict": dict,
            "namespace": Namespace,
            "raise_exception": _refuse,
            "range": _bounded_range,
            "strftime_now": _clock(now),
        }

    def render(self, source: str, variables: Mapping[str, Any]) -> str:
        """The template's output.

        Raises whatever the template makes Jinja or Python raise; OverBudgetError for too much of anything.
        """
        tree = self.parse(source)
        if sum(1 for _ in tree.find_all(nodes.Node)) > MAX_NODES:
            raise OverBudgetError("it is too long")
        tree = Metering().visit(tree)
        tree.set_environment(self)
        tree.set_lineno(1)
        template = self.template_class.from_code(self, self.compile(tree), self.make_globals(None))
        return "".join(template.generate(dict(variables)))

    # Jinja's hooks

    def is_safe_attribute(self, obj: object, attr: str, value: object) -> bool:
        """Of strings and numbers only what templates need; of the rest what Jinja's sandbox allows."""
        if isinstance(obj, str):
            return attr in _STRING_METHODS
        return not isinstance(obj, (int, float, bytes)) and super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        """The operator's result, if it is small enough."""
        if isinstance(left, int) and isinstance(right, int):
            self._allow_number(operator, left, right)
        elif operator == "*":
            times, value = (left, right) if isinstance(left, int) else (right, left)
            if isinstance(times, int):
                self.meter.room(max(0, times) * self.meter.weigh(value))
        elif operator == "%" and isinstance(left, str):
            if _PERCENT_BOMB.search(left):
                raise SecurityError(_WIDTH)
            self.meter.weigh(right)
        elif isinstance(left, str) and isinstance(right, str):
            self.meter.room(len(left) + len(right))
        return self.meter.checked(super().call_binop(context, operator, left, right))

    def _allow_number(self, operator: str, left: int, right: int) -> None:
        if operator == "*":
            self.meter.bits(left.bit_length() + right.bit_length())
        elif operator == "**":
            self.meter.bits(left.bit_length() * max(0, right))

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> object:  # noqa: N805, ANN401
        """The result of calling a macro, a method or a function, if it is small enough."""
        meter = __self.meter
        meter.charge(STEP)
        scope = {key: kwargs.pop(key) for key in _SCOPE if key in kwargs}
        owner, name, form = getattr(__obj, "__self__", None), getattr(__obj, "__name__", ""), _wrapped_form(__obj)
        if isinstance(owner, str) or isinstance(__obj, Macro) or form is not None:
            meter.weigh([args, kwargs])
        if isinstance(owner, str) and name == "join" and args:
            return __self._join(args[0], owner)
        if isinstance(owner, str) and name == "replace":
            return __self._replace(owner, *args, **kwargs)
        if form is not None and any(_FIELD_BOMB.search(spec or "") for _, _, spec, _ in Formatter().parse(form)):
            raise SecurityError(_WIDTH)
        return meter.checked(super().call(__context, __obj, *args, **kwargs, **scope))

    # what templates call

    def _metered(self, function: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(function)
        def run(*args: object, **kwargs: object) -> object:
            self.meter.charge(STEP)
            for value in args:
                self.meter.checked(value)
            return self.meter.checked(function(*args, **kwargs))

        return run

    def _step(self, value: object) -> object:
        self.meter.charge(STEP)
        return value

    def text(self, value: object) -> str:
        """The value as it is written, if it is small enough."""
        self.meter.checked(value)
        return str(value)

    def _joined(self, *parts: object) -> str:
        texts = [self.text(part) for part in parts]
        self.meter.room(sum(map(len, texts)))
        return "".join(texts)

    def _join(self, value: Iterable[object], separator: str = "", attribute: str | int | None = None) -> str:
        items = list(value)
        if attribute is not None:
            items = [self.getitem(item, attribute) for item in items]
        texts = [self.text(item) for item in items]
        self.meter.room(sum(map(len, texts)) + len(separator) * len(texts))
        return str(separator).join(texts)

    def _replace(self, text: object, old: str, new: str, count: int | None = None) -> str:
        whole, old, new = str(text), str(old), str(new)
        self.meter.room(len(whole) + whole.count(old) * len(new))
        return whole.replace(old, new, -1 if count is None else count)

    def _indent(self, text: str, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
        pad = width if isinstance(width, str) else " " * min(width, MAX_INDENT)
        lines = str(text).splitlines()
        self.meter.room(len(text) + len(pad) * len(lines))
        padded = [pad + line if line or blank else line for line in lines]
        return "\n".join(padded if first else lines[:1] + padded[1:])

    def _tojson(
        self,
        value: object,
        ensure_ascii: bool = False,
        indent: int | None = None,
        separators: tuple[str, str] | None = None,
        sort_keys: bool = False,
    ) -> str:
        """JSON as it is, since no browser reads it: `<` and `&` stay."""
        depth = None if indent is None else min(int(indent), MAX_INDENT)
        encoder = json.JSONEncoder(
            ensure_ascii=ensure_ascii, indent=depth, separators=separators, sort_keys=sort_keys, check_circular=False
        )
        parts = []
        for part in encoder.iterencode(value):
            self.meter.room(len(part))
            parts.append(part)
        return "".join(parts)

    def _round(self, value: float, precision: int = 0, method: str = "common") -> float:
        if abs(precision) > MAX_PRECISION:
            raise OverBudgetError("it rounds to too many digits")
        return cast(float, FILTERS["round"](value, precision, method))


@pass_context  # which also keeps Jinja from writing constants out before anything is counted
def _shown(context: Context, value: object) -> str:
    return cast(TemplateSandbox, context.environment).text(value)


def _refuse(message: object = "") -> None:
    raise TemplateRefusalError(str(message))


def _bounded_range(*bounds: int) -> range:
    numbers = range(*bounds)
    if len(numbers) > MAX_RANGE:
        raise OverBudgetError("it counts too far")
    return numbers


def _clock(now: datetime) -> Callable[[str], str]:
    def strftime_now(form: str) -> str:
        if not _DATE_FORMAT.fullmatch(form):
            raise SecurityError("a date format with a width")
        return now.strftime(form)

    return strftime_now


def _wrapped_form(function: object) -> str | None:
    """The text of a `str.format` or `str.format_map`, which Jinja's sandbox wraps; None for anything else."""
    method = getattr(function, "__wrapped__", None)
    form = getattr(method, "__self__", None)
    return form if isinstance(form, str) else None
