"""Templates from strangers: nothing gets out, nothing goes on for ever, nothing fills the memory."""

from datetime import datetime

import pytest

from paceline.errors import ModelError
from paceline.prompts.chat import MAX_TEMPLATE, Message, render_chat
from paceline.prompts.meter import Meter, OverBudgetError


def outcome(template):
    """What the template gives: its text, or the error's message."""
    try:
        segments = render_chat(template, [Message("user", "hello")], now=datetime(2026, 1, 31))
    except ModelError as error:
        assert error.hint
        assert "\n" not in error.message
        return error.message
    return "".join(segment.text for segment in segments)


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ ''['__class__']['__mro__'] }}",
        "{{ ''|attr('__class__') }}",
        "{{ ['']|map(attribute='__class__')|list }}",
        "{{ ['']|map('attr', '__class__')|list }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ dict.__base__.__subclasses__() }}",
        "{{ dict.mro() }}",
        "{{ namespace.__init__.__globals__ }}",
        "{{ raise_exception.__globals__ }}",
        "{{ strftime_now.__closure__ }}",
        "{{ range.__self__ }}",
        "{{ self.__init__.__globals__ }}",
        "{{ self._TemplateReference__context }}",
        "{{ messages.__init__.__globals__ }}",
        "{{ '{0.__class__}'.format(1) }}",
        "{{ '{0.__class__.__mro__}'.format('') }}",
        "{{ '{x.__class__}'.format_map({'x': 1}) }}",
        "{{ ''.format.__self__.__class__ }}",
        "{% set f = ''.join %}{{ f.__self__.__class__ }}",
        "{{ ('%s' % messages).__class__ }}",
        "{% for x in messages %}{{ loop.__class__ }}{% endfor %}",
        "{% macro m() %}{% endmacro %}{{ m._environment }}{{ m._func.__globals__ }}",
        "{% set ns = namespace() %}{{ ns.__class__ }}{{ ns._Namespace__attrs }}",
        "{% include '/etc/passwd' %}",
        "{% import 'os' as os %}{{ os }}",
        "{% extends 'x' %}",
    ],
)
def test_no_way_leads_to_pythons_insides(template):
    said = outcome(template)
    assert not any(
        inside in said for inside in ("<class", "built-in", "__main__", "__builtins__", "root:", "subclasses")
    )


@pytest.mark.parametrize(
    "template",
    [
        "{{ messages.append(1) }}",
        "{{ messages.clear() }}",
        "{{ messages[0].update({'role': 'system'}) }}",
        "{{ messages[0].pop('role') }}",
    ],
)
def test_the_conversation_cannot_be_changed(template):
    assert "unsafe" in outcome(template)


TWICE = "{% set ns = namespace(x='ab', y='ab') %}{% for i in range(64) %}BODY{% endfor %}{{ ns.x }}"


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'x' * 10**9 }}",
        "{{ 10**9 * 'x' }}",
        "{{ [1] * 10**9 }}",
        "{{ [] * 10**9 }}",
        "{{ [['x'] * 1000] * 10000 }}",
        "{{ 10 ** (10 ** 9) }}",
        "{{ 2 ** 4000 * 2 ** 4000 }}",
        "{{ 'x'.ljust(10**9) }}",
        "{{ 'x'.center(10**9) }}",
        "{{ 'x'.zfill(10**9) }}",
        "{{ '\t'.expandtabs(10**9) }}",
        "{{ 'x'|center(10**9) }}",
        "{{ 'x'|wordwrap(1) }}",
        "{{ lipsum(10**6) }}",
        "{{ (5).to_bytes(10**9) }}",
        "{{ '{:>1000000000}'.format(1) }}",
        "{{ '{:{w}}'.format(1, w=10**9) }}",
        "{{ '{0[}]:>99999999}'.format({'}': 1}) }}",
        "{{ '{:>99999999}'.format_map({'': 1}) }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ '%*d' % (10**9, 1) }}",
        "{{ '%(a)99999999d' % {'a': 1} }}",
        "{{ '%.99999999f' % 1.5 }}",
        "{{ strftime_now('%1000000000d') }}",
        "{{ 1.5|round(10**9, 'ceil') }}",
        "{{ range(10**9)|list }}",
        "{{ ('x' * 1000000).join(range(1000)|map('string')) }}",
        "{{ range(1000)|join('x' * 1000000) }}",
        "{{ ('a' * 1000000)|replace('', 'b' * 1000000) }}",
        "{{ ('a' * 1000000).replace('a', 'b' * 1000000) }}",
        "{{ ('\n' * 1000000)|indent('x' * 1000000) }}",
        TWICE.replace("BODY", "{% set ns.x = ns.x ~ ns.x %}"),
        TWICE.replace("BODY", "{% set ns.x = ns.x + ns.x %}"),
        TWICE.replace("BODY", "{% set ns.x = ns.x * 2 %}"),
        TWICE.replace("BODY", "{% set ns.x = [ns.x, ns.x]|join %}"),
        TWICE.replace("BODY", "{% set ns.x = ''.join([ns.x, ns.x]) %}"),
        TWICE.replace("BODY", "{% set ns.x = ns.x|replace('b', ns.x) %}"),
        TWICE.replace("BODY", "{% set ns.x = '%s%s' % (ns.x, ns.x) %}"),
        TWICE.replace("BODY", "{% set ns.x = '{0}{0}'.format(ns.x) %}"),
        TWICE.replace("BODY", "{% set t %}{{ ns.x }}{{ ns.x }}{% endset %}{% set ns.x = t %}"),
        TWICE.replace("BODY", "{% set ns.x = [ns.x, ns.x] %}"),
        TWICE.replace("BODY", "{% set ns.x = (ns.x, ns.x) %}"),
        TWICE.replace("BODY", "{% set ns.x = {'a': ns.x, 'b': ns.x} %}"),
        TWICE.replace("BODY", "{% set ns.x = dict(a=ns.x, b=ns.x) %}"),
        TWICE.replace("BODY", "{% set ns.x = namespace(a=ns.x, b=ns.x) %}"),
        TWICE.replace("BODY", "{% set ns.x = [ns.x, ns.x] %}{% set ns.y = [ns.y, ns.y] %}") + "{{ ns.x == ns.y }}",
        TWICE.replace("BODY", "{% macro m() %}{% set ns.x = varargs %}{% endmacro %}{{ m(ns.x, ns.x) }}"),
        "{% set ns = namespace() %}{% set ns.a = ns %}{{ ns }}",
        "{% set ns = namespace() %}{% set ns.a = [ns, ns] %}{{ ns.a|string }}",
    ],
)
def test_nothing_grows_without_bound(template):
    said = outcome(template)
    assert said.startswith("the model's chat template"), said[:200]


NESTED = "{% for a in range(9999) %}" * 3 + "BODY" + "{% endfor %}" * 3


@pytest.mark.parametrize(
    "template",
    [
        NESTED.replace("BODY", ""),
        NESTED.replace("BODY", "text"),
        NESTED.replace("BODY", "{% set x = a %}"),
        NESTED.replace("BODY", "{% continue %}"),
        "{% for a in range(9999) %}{% for b in range(9999) if b < 0 %}{% endfor %}{% endfor %}",
        "{% for a in range(9999) %}{% set x = range(9999)|list|sort|unique|list %}{% endfor %}",
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(64) }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% for x in messages recursive %}{{ loop([x]) }}{% endfor %}",
        "{% block a %}{{ self.a() }}{% endblock %}",
    ],
)
def test_nothing_goes_on_for_ever(template):
    said = outcome(template)
    assert said.startswith("the model's chat template"), said[:200]


@pytest.mark.parametrize(
    "template",
    [
        "{{",
        "{% if %}",
        "{% endfor %}",
        "{{ 1 / 0 }}",
        "{{ none.x.y }}",
        "{{ messages[0] + 1 }}",
        "{{ undefined_function() }}",
        "{{ raise_exception('no') }}",
        "{{ raise_exception() }}",
        "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
        "{% if 1 %}" * 500 + "{% endif %}" * 500,
        "{{ " + "+".join(["a"] * 20_000) + " }}",
        "{{ a }}" * 20_000,
        "x" * (MAX_TEMPLATE + 1),
    ],
)
def test_a_broken_template_is_an_error_of_the_model(template):
    with pytest.raises(ModelError, match="the model's chat template"):
        render_chat(template, [Message("user", "hello")])


def test_what_a_template_says_in_its_refusal_cannot_steer_the_terminal():
    said = outcome("{{ raise_exception('a\x1b[2J\nb' ~ 'c' * 1000) }}")
    assert "\x1b" not in said
    assert "a bc" in said
    assert len(said) < 300


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ 'a' ~ 1 ~ none ~ [1, 'x'] }}", "a1None[1, 'x']"),
        ("{{ ' x '.strip() + 'a,b'.split(',')[1] }}", "xb"),
        ("{{ 'abc'[1:] + 'abc'[::-1] }}", "bccba"),
        ("{{ [1, 2, 3][:2] }}", "[1, 2]"),
        ("{{ 'x' * 3 }}{{ [0] * 2 }}", "xxx[0, 0]"),
        ("{{ 'a-a'.replace('a', 'b', 1) }}{{ 'a'|replace('a', 'c') }}", "b-ac"),
        ("{{ ['a', 'b']|join(', ') }}{{ '-'.join(['c', 'd']) }}", "a, bc-d"),
        ("{{ [{'n': 'a'}, {'n': 'b'}]|join('+', attribute='n') }}", "a+b"),
        ("{{ [{'n': 'a'}, {'n': 'b'}]|map(attribute='n')|list|last }}", "b"),
        ("{{ messages|selectattr('role', 'equalto', 'user')|list|length }}", "1"),
        ("{{ messages|rejectattr('role', 'equalto', 'user')|list|length }}", "0"),
        ("{{ {'b': 1, 'a': '<é>'}|tojson }}", '{"b": 1, "a": "<é>"}'),
        ("{{ {'a': [1]}|tojson(indent=2) }}", '{\n  "a": [\n    1\n  ]\n}'),
        ("{{ 'a\nb'|indent(2) }}", "a\n  b"),
        ("{{ 'a\nb'|indent(2, first=true) }}", "  a\n  b"),
        ("{{ 2.567|round(1) }}", "2.6"),
        ("{{ '%s is %d' % ('x', 3) }}", "x is 3"),
        ("{{ '{} {a:>3} December 2023'.format(1, a=2) }}", "1   2 December 2023"),
        ("{{ strftime_now('%d %b %Y, %-d') }}", "31 Jan 2026, 31"),
        ("{{ missing }}{{ missing is defined }}{{ tools is none }}", "FalseTrue"),
        ("{% for k, v in {'a': 1}.items() %}{{ k }}={{ v }}{% endfor %}", "a=1"),
        ("{% for k, v in {'a': 1}|items %}{{ k }}={{ v }}{{ loop.last }}{% endfor %}", "a=1True"),
        (
            "{% macro m(a, b=2) %}{{ a }}{{ b }}{{ caller() if caller }}{% endmacro %}"
            "{{ m(1) }}{% call m(3) %}!{% endcall %}",
            "1232!",
        ),
        ("{% set ns = namespace(n=0) %}{% for i in range(3) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}", "3"),
        ("{% set t %}a{{ 1 }}{% endset %}{{ t }}{% filter upper %}b{% endfilter %}", "a1B"),
        ("{{ messages[0].content if 1000000 == 1000000 else 'no' }}", "hello"),
        ("{{ 2 ** 10 + 7 % 4 }}", "1027"),
        ("{{ (1, 2) == (1, 2) and 1 in [1] }}", "True"),
    ],
)
def test_what_honest_templates_use_works(template, expected):
    assert outcome(template) == expected


def test_a_meter_has_an_end_of_time():
    with pytest.raises(OverBudgetError, match="too long"):
        Meter(0, seconds=-1).charge(1)


def test_a_meter_counts_shared_values_as_often_as_they_are_met():
    meter, value = Meter(0, seconds=60), ["x" * 10]
    single = meter.weigh(value)
    assert meter.weigh([value, value]) == 2 * single + 1
    for _ in range(40):
        value = [value, value]
    with pytest.raises(OverBudgetError, match="too large"):
        meter.weigh(value)
