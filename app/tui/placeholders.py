"""What stands in the prompt for a paste, and the paste itself: one goes with the other, and comes back with it."""

from typing import TYPE_CHECKING

from paceline.chat.pastes import placeholder, shown
from paceline.chat.turns import Attached
from paceline.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from paceline.tui.screens.chat import ChatScreen


class Placeholders:
    """Those of one screen's prompt."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._shown: tuple[Attached, ...] = ()  # attached, with its placeholder in the prompt
        self._gone: dict[str, Attached] = {}  # by placeholder: went with it, and would come back with it
        self._twice: set[str] = set()  # placeholders that have stood for two pastes: nobody knows which comes back

    @property
    def names(self) -> tuple[str, ...]:
        """Names of pastes that may come back: another one does not get them."""
        return tuple(each.name for each in self._gone.values())

    def remove(self, attached: Attached) -> bool:
        """Take a paste's placeholder out of the prompt, and the paste with it, as one step that can be undone.

        Returns whether there was one; not where it stands for another paste of the same name as well.
        """
        prompt, mark = self._screen.query_one(Prompt), placeholder(attached)
        if not shown([attached], prompt.text) or any(_clash(attached, each) for each in self._screen.attached):
            return False
        before = prompt.text[: prompt.cursor]
        prompt.replace_all(prompt.text.replace(mark, ""), len(before.replace(mark, "")))
        self.changed()
        return True

    def changed(self) -> None:
        """The prompt's text is another one: pastes whose placeholders have gone go, those that are back come back."""
        screen, prompt = self._screen, self._screen.query_one(Prompt)
        text, attached = prompt.text, screen.attached
        if not prompt.history.undo_stack and not prompt.history.redo_stack:
            self._gone.clear()  # nothing brings them back
            self._twice.clear()
        self._twice |= {mark for mark, each in self._gone.items() if any(_clash(each, other) for other in attached)}
        there = shown(attached, text)
        gone = [each for each in self._shown if each in attached and each not in there]
        self._gone.update((placeholder(each), each) for each in gone)
        kept = tuple(each for each in attached if each not in gone)
        taken = {placeholder(each) for each in kept} | self._twice
        back = shown([each for mark, each in self._gone.items() if mark not in taken], text)
        for each in back:
            del self._gone[placeholder(each)]
        self._shown = (*there, *back)
        prompt.wholes = tuple(map(placeholder, self._shown))
        if gone or back:
            screen.attach((*kept, *back))


def _clash(one: Attached, other: Attached) -> bool:
    return one != other and one.name == other.name
