"""A completion by a server that does not trim: what is made of it here."""

import pytest

from paceline.client.calls import Call, Infilling, trimming
from paceline.client.events import Options, Text
from paceline.client.gather import Gathering


@pytest.mark.parametrize(("name", "ends"), [("src/a.py", True), ("notes.md", False), ("", False)])
def test_nothing_more_is_taken_behind_a_fence_in_code(name, ends):
    infilling = Infilling(Call("POST", "/infill"), trimming("a = 1\n\n", ""), Options(filename=name))
    gathering = Gathering(infilling, lambda _: None)
    assert not gathering.take(Text("b = 2\n``"))
    assert gathering.take(Text("`")) == ends
