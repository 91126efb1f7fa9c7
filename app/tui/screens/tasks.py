"""A screen of which things are asked that take several steps, and that says what becomes of them."""

from collections.abc import Callable, Coroutine
from typing import Any

from textual import work
from textual.screen import Screen

from paceline.errors import PacelineError
from paceline.text import strip_controls
from paceline.tui.screens.confirm import ConfirmScreen, Question


class TaskScreen(Screen[None]):
    """What fails is said, and nothing else of it is lost."""

    def __init__(self) -> None:
        super().__init__()
        self._busy = False  # with what is done once only

    def tell(self, text: str, *, error: bool = False) -> None:
        """A line for the person, which goes away by itself."""
        self.notify(
            strip_controls(text), severity="error" if error else "information", timeout=8 if error else 4, markup=False
        )

    async def ask(self, question: Question) -> bool:
        """A yes from the person. In a worker only."""
        answer: bool | None = await self.app.push_screen_wait(ConfirmScreen(question))
        return bool(answer)

    @work(group="task")
    async def do(self, task: Coroutine[Any, Any, None]) -> None:
        """Something that takes several steps; what fails is said."""
        try:
            await task
        except PacelineError as error:
            self.tell(str(error), error=True)
        except Exception as error:  # a fault of ours must not take the conversation with it
            self.tell(
                f"{type(error).__name__}: {error}\nhint: this is a fault of Paceline's: please report it", error=True
            )

    def act(self, what: Any) -> None:  # noqa: ANN401 - a callable without arguments
        """Something that takes one step; what fails is said."""
        try:
            what()
        except PacelineError as error:
            self.tell(str(error), error=True)

    async def once(self, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """A key that is pressed twice does it once."""
        if self._busy:
            return
        self._busy = True
        try:
            await act()
        finally:
            self._busy = False
