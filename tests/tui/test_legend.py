"""What the colours of drafts mean stands in a row, as much of it as there is room for."""

import pytest

from paceline.tui.widgets.legend import Legend, parts_within
from support.transcripts import Stage, seen

WHOLE = "drafted by: texts at hand, the edited file, small model, lookahead · F2 off"


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (80, WHOLE),
        (70, WHOLE.removeprefix("drafted by: ")),
        (40, "texts, file, model, lookahead · F2 off"),
    ],
)
def test_narrow_terminals_have_a_shorter_one(width, shown):
    assert "".join(text for text, _ in parts_within(width, "F2 off")) == shown


async def test_it_is_there_while_it_is_shown_each_name_in_its_own_look():
    legend = Legend()
    async with Stage(legend).run_test(size=(80, 3)) as pilot:
        assert not legend.display
        legend.show()
        await pilot.pause()
        assert seen(legend)[0].strip() == WHOLE
        segments = legend.render_line(0)
        looks = {segment.text.strip(): segment.style for segment in segments}
        names = ("texts at hand", "the edited file", "small model", "lookahead")
        assert len({looks[name].without_color for name in names}) == 4
        assert len({looks[name].color for name in names}) == 4
        legend.hide()
        await pilot.pause()
        assert not legend.display
