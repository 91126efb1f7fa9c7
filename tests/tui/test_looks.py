"""How the conversation looks, at several sizes and in several themes.

After a change that is meant: pytest tests/tui/test_looks.py --snapshot-update, and look at what has changed.
"""

import pytest
from textual.app import ComposeResult

from paceline.chat.turns import Attached, Run
from paceline.tui.widgets.attachments import AttachmentBar
from paceline.tui.widgets.footer import Figures, Footer
from paceline.tui.widgets.prompt import Prompt
from paceline.tui.widgets.rounds import Rounds
from paceline.tui.widgets.transcript import Transcript
from support.transcripts import Stage, answer, question

TEXT = """Use **sum**, or a loop:

```python
total = 0
for value in values:  # each of them
    total += value
```

- `sum(values)` is faster
- 日本語 and emoji 🚀 stay in line

| way  | ms |
|------|---:|
| loop | 41 |
| sum  |  7 |
"""


class Conversation(Stage):
    """All the widgets of a conversation, as the main screen has them."""

    def compose(self) -> ComposeResult:
        yield Transcript()
        yield Rounds()
        yield AttachmentBar()
        yield Prompt()
        yield Footer()

    def on_mount(self) -> None:
        super().on_mount()
        attached = Attached("file", "src/values.py", "values = []\n")
        asked = question("How do I add up [these]?", attached=(attached,))
        runs = (Run("", 10), Run("ngram", 30), Run("draft", 40), Run("edit", 30), Run("lookahead", 20))
        transcript = self.query_one(Transcript)
        transcript.styles.height = "1fr"
        transcript.show([asked, answer(TEXT, runs=runs, state="length")], {2: (2, 3)})
        transcript.select(2, 0)
        self.query_one(AttachmentBar).show([attached])
        self.query_one(Prompt).replace_all("And the mean?\nIn one line.")
        self.query_one(Footer).show(Figures("qwen-1.5b", "writing", 41.3, 0.71, 1.8, 3100, 8192, False, 1, "? keys"))
        for at in range(40):
            self.query_one(Rounds).add(30 + at % 7, (at % 5) / 5)
        self.query_one(Rounds).display = self.size.height > 20


@pytest.mark.parametrize(
    ("size", "theme"),
    [
        ((40, 12), "paceline-dark"),
        ((80, 24), "paceline-dark"),
        ((120, 40), "paceline-light"),
        ((80, 24), "paceline-contrast"),
        ((80, 24), "paceline-ansi"),
        ((80, 24), "paceline-plain"),
    ],
    ids=lambda value: "x".join(map(str, value)) if isinstance(value, tuple) else value,
)
def test_a_conversation(snap_compare, size, theme):
    assert snap_compare(Conversation(theme=theme), terminal_size=size)


def test_drafts(snap_compare):
    async def show_drafts(pilot) -> None:
        pilot.app.query_one(Transcript).drafts = True
        await pilot.pause()

    assert snap_compare(Conversation(), terminal_size=(80, 30), run_before=show_drafts)


async def test_nothing_runs_while_nothing_happens():
    app = Conversation()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause(0.3)
        widgets = [app, app.screen, *app.screen.walk_children()]
        running = [timer for widget in widgets for timer in widget._timers if timer._active.is_set()]
        assert [timer.name for timer in running] == []
