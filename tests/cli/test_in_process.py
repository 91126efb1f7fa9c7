"""The models in this process, asked as a client asks: every wish reaches the service, every event comes back."""

from paceline.client.events import End, Extra, Message, Options, Progress, Text, Usage
from paceline.commands.in_process import InProcess
from paceline.daemon.service import Overrides
from paceline.engine.sequence import Delta
from support.fake_service import FakeService, saying

WHY = [Message("user", "Why?")]


def test_events_come_as_from_a_client_with_who_drafted_what():
    service = FakeService(saying(Delta("a", "ngram"), "b"))
    *events, end = InProcess(service).chat(WHY, Options(tell_drafts=True))
    assert events == [Progress(3, 9), Progress(9, 9), Text("a", "ngram"), Text("b")]
    assert isinstance(end, End)
    assert (end.reason, end.usage, end.model) == ("stop", Usage(9, 3, 3), "tiny")


def test_wishes_reach_the_service():
    service = FakeService()
    options = Options(
        max_tokens=5, temperature=0.5, seed=3, speculation="lookahead", strict=True, tell_drafts=True,
        original="x = 1", references=[Extra("a.py", "y = 2")],
    )  # fmt: skip
    list(InProcess(service).chat(WHY, options))
    assert service.asked == [
        Overrides(
            max_tokens=5, temperature=0.5, seed=3, speculation="lookahead", strict=True, tell_drafts=True,
            original="x = 1", references=(("a.py", "y = 2"),),
        )
    ]  # fmt: skip


def test_what_is_not_asked_for_is_left_to_the_configuration():
    service = FakeService()
    list(InProcess(service).chat(WHY))
    assert service.asked == [Overrides()]
