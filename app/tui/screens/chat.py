"""The conversation: transcript, what goes with the next message, prompt, footer."""

import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import DescendantFocus
from textual.widget import Widget

from paceline.chat.conversation import Conversation
from paceline.chat.services import Services
from paceline.chat.turns import Attached, Turn
from paceline.config import Config
from paceline.tui.keeping import Keeping
from paceline.tui.measuring import Measuring
from paceline.tui.opening import Opening
from paceline.tui.palette import CommandChosen, SlashProvider
from paceline.tui.placeholders import Placeholders
from paceline.tui.reaching import Reaching
from paceline.tui.ready import Ready
from paceline.tui.screens.finder import Finder
from paceline.tui.screens.tasks import TaskScreen
from paceline.tui.showing import Showing
from paceline.tui.stopping import Stopping
from paceline.tui.suggesting import Suggesting
from paceline.tui.widgets.attachments import AttachmentBar
from paceline.tui.widgets.footer import Footer
from paceline.tui.widgets.legend import Legend
from paceline.tui.widgets.output import Output
from paceline.tui.widgets.prompt import Prompt
from paceline.tui.widgets.rounds import Rounds
from paceline.tui.widgets.transcript import Transcript
from paceline.tui.widgets.waiting import Waiting

if TYPE_CHECKING:
    from paceline.client.async_client import AsyncClient
    from paceline.tui.acting import Acting
    from paceline.tui.commands import Commands
    from paceline.tui.editing import Editing
    from paceline.tui.sending import Going, Sending

GREETING = """Ask something. Enter sends, Shift-Enter or Ctrl-J begins a new line.

@ attaches files, symbols, the git diff · ! runs a command · / lists what else there is · ? shows all keys"""
TURN_KEYS = "j/k move · e edit · t again · g go on · h/l branch · C copy · Esc back"
WIDE = 110  # cells, in which all keys of a turn have room


class ChatScreen(TaskScreen):
    """One conversation at a time. What takes several steps is done by sending, acting, commands and suggesting."""

    CSS_PATH = "chat.tcss"
    AUTO_FOCUS = "#prompt"
    conversation: Conversation
    COMMANDS: ClassVar = {SlashProvider}
    VERTICAL_BREAKPOINTS = [(0, "-short"), (18, "-high")]  # noqa: RUF012 - as Textual has it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop", id="chat.stop"),
        Binding("ctrl+c", "interrupt", "Copy, stop, or leave", show=False, priority=True, id="chat.interrupt"),
        Binding("f1", "slash('help')", "Keys", id="chat.help"),
        Binding("f2", "drafts", "Drafts in colour", id="chat.drafts"),
        Binding("f3", "rounds", "Rounds", id="chat.rounds"),
        Binding("f4", "slash('sessions')", "Sessions", id="chat.sessions"),
        Binding("f5", "slash('model')", "Models", id="chat.models"),
        Binding("f6", "slash('context')", "Context", priority=True, id="chat.context"),
        Binding("f7", "show_now", "Show what is ready", show=False, priority=True, id="chat.ready"),
        Binding("question_mark", "slash('help')", show=False, id="chat.keys"),
        Binding("ctrl+n", "slash('new')", "New session", id="chat.new"),
        Binding("ctrl+z", "undo", "Undo the last change to files", priority=True, id="chat.undo"),
        Binding("ctrl+r", "recall", "Search earlier inputs", id="chat.recall"),
        Binding("ctrl+o", "write", "Write in $EDITOR", id="chat.write"),
        Binding("ctrl+up", "into_transcript", "Choose a turn or block", id="chat.transcript"),
        Binding("alt+left", "branch(-1)", "Earlier branch", id="chat.branch_left"),
        Binding("alt+right", "branch(1)", "Later branch", id="chat.branch_right"),
    ]

    def __init__(self, services: Services, session: str = "") -> None:
        """session: the id of the one to open; empty: a new one, kept once something is said."""
        super().__init__()
        self.services = services
        self.config = services.config
        self._wanted = session
        self.typed_at = float("-inf")  # when something was typed last
        self.attached: tuple[Attached, ...] = ()  # with the next message
        self.going: list[Going] = []  # messages that are measured, and not said yet
        self._editing: int | None = None
        self.output: Attached | None = None  # of the last command
        self.suggesting = Suggesting(self)
        self.showing = Showing(self)
        self.keeping = Keeping(self)
        self.opening = Opening(self)
        self.reaching = Reaching(self)
        self.measuring = Measuring(self)
        self.stopping = Stopping(self)
        self.placeholders = Placeholders(self)
        self.ready = Ready(self)

    # each is loaded when it is used first: the first picture comes before

    @cached_property
    def sending(self) -> "Sending":
        """From the prompt to a message."""
        from paceline.tui.sending import Sending

        return Sending(self)

    @cached_property
    def acting(self) -> "Acting":
        """What can be done with turns and blocks."""
        from paceline.tui.acting import Acting

        return Acting(self)

    @cached_property
    def files(self) -> "Editing":
        """What changes files."""
        from paceline.tui.editing import Editing

        return Editing(self)

    @cached_property
    def commands(self) -> "Commands":
        """What begins with a slash."""
        from paceline.tui.commands import Commands

        return Commands(self)

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        with Vertical(id="above"):  # where all of it has no room, the prompt still has
            yield Transcript(id="transcript", greeting=GREETING, drafts=self.config.chat.drafts)
            yield Rounds(id="rounds")
            yield Legend(id="legend")
            yield Output(id="output")
            yield Waiting(id="waiting")
            yield AttachmentBar(id="attachments")
        yield self.suggesting.popup
        yield Prompt(
            id="prompt",
            previous=self._previous,
            following=self._following,
            paste_lines=self.config.chat.paste_lines,
        )
        yield Footer(id="footer")

    def on_mount(self) -> None:
        """Open the session; whatever is slow comes after the first picture."""
        self.query_one(Rounds).display = False
        self.show_drafts(self.config.chat.drafts)
        self.show_figures(hint="? keys")
        if self._wanted:
            self.opening.open(self.services.store.session(self._wanted))
        else:
            self.opening.begin()
        self.call_after_refresh(self.after_first_picture)

    def after_first_picture(self) -> None:
        """Set up what is not set up, and look at the workspace."""
        if self.services.store.note:
            self.tell(self.services.store.note)
        if not self.services.is_set_up(self.config):
            self.commands.set_up()
        self.suggesting.refresh_workspace()
        from paceline.tui.settings import wrong

        for fault in wrong(self.config.chat):
            self.tell(fault, error=True)

    # --- the conversation ---------------------------------------------------------------------------------------------

    @property
    def output_panel(self) -> Output:
        """What the last command printed."""
        return self.query_one(Output)

    @property
    def client(self) -> "AsyncClient":
        """Whoever answers now."""
        return self.reaching.client

    async def reconfigured(self, config: Config) -> None:
        """Another configuration, such as other models: the next message goes to them."""
        self.config = config
        await self.reaching.close()
        self.sending.forget()
        self.show_figures(model="")

    async def leave(self) -> None:
        """Stop and keep everything, and end the app."""
        self.keeping.close()
        await self.conversation.close()
        await self.reaching.close()
        self.app.exit()

    # --- what happens -------------------------------------------------------------------------------------------------

    def moved(self) -> None:
        """Show the branch from its beginning to its end."""
        self.query_one(Transcript).show(self.conversation.path, self.conversation.branches())
        self.measuring.soon()

    def show_figures(self, **changed: Any) -> None:  # noqa: ANN401 - fields of Figures
        """Change some of what the footer says."""
        self.showing.figures(**changed)

    def show_drafts(self, shown: bool) -> None:
        """Colour what was drafted, and say by whom, or no longer."""
        self.query_one(Transcript).drafts = shown
        legend = self.query_one(Legend)
        (legend.show if shown else legend.hide)()

    @property
    def editing(self) -> int | None:
        """The turn that the next message takes the place of."""
        return self._editing

    @editing.setter
    def editing(self, turn: int | None) -> None:
        self._editing = turn
        self.show_figures(replaces=turn is not None)

    def begin_editing(self, turn: Turn) -> None:
        """The next message takes the place of this one."""
        self.editing = turn.id
        self.attach(turn.attached)

    def end_editing(self) -> None:
        """The next message is a new one."""
        if self.editing is not None:
            self.editing = None
            self.attach(())

    # --- what a person does -------------------------------------------------------------------------------------------

    def attach(self, attached: tuple[Attached, ...]) -> None:
        """These go with the next message."""
        self.attached = attached
        bar = self.query_one(AttachmentBar)
        if bar.has_focus and not attached:  # it goes; what is typed next is meant for the message
            self.query_one(Prompt).focus()
        bar.show(attached)
        self.measuring.soon()

    @on(Prompt.Submitted)
    def _submitted(self, event: Prompt.Submitted) -> None:
        self.do(self.sending.submit(event.text))

    @on(Prompt.Pasted)
    def _pasted(self, event: Prompt.Pasted) -> None:
        self.sending.pasted(event.text)

    @on(Prompt.EditorWanted)
    def _editor_wanted(self) -> None:
        self.action_write()

    @on(Prompt.Typing)
    def _typing(self, event: Prompt.Typing) -> None:
        self.suggesting.typed(event.word)

    @on(Prompt.Popup)
    def _popup(self, event: Prompt.Popup) -> None:
        self.suggesting.key(event.key)

    @on(Prompt.Changed)
    def _changed(self) -> None:
        prompt = self.query_one(Prompt)
        self.typed_at = time.monotonic()
        self.placeholders.changed()
        if prompt.text == "?":
            prompt.replace_all("")
            self.action_slash("help")
            return
        self.suggesting.changed()
        self.measuring.soon()

    @on(DescendantFocus)
    def _focused(self, event: DescendantFocus) -> None:
        turns = TURN_KEYS if self.size.width >= WIDE else "? keys · Esc back"
        self.show_figures(hint=turns if isinstance(event.widget, Transcript) else "? keys")

    def focus_next(self, selector: str | type[Widget] = "*") -> Widget | None:
        """Not away from a message that is being written: what is typed next would be commands."""
        prompt = self.query_one(Prompt)
        return prompt if prompt.has_focus and prompt.text.strip() else super().focus_next(selector)

    @on(Prompt.Paged)
    def _paged(self, event: Prompt.Paged) -> None:
        transcript = self.query_one(Transcript)
        (transcript.action_page_up if event.by < 0 else transcript.action_page_down)()

    @on(Finder.Picked)
    def _picked(self, event: Finder.Picked) -> None:
        self.suggesting.picked(event.choice, tab=event.tab)

    @on(Finder.Closed)
    def _no_list(self) -> None:
        self.suggesting.closed()

    @on(CommandChosen)
    def _chosen(self, event: CommandChosen) -> None:
        if event.command.needs_argument:
            self.query_one(Prompt).replace_all(f"/{event.command.name} ")
        else:
            self.action_slash(event.command.name)

    @on(AttachmentBar.Removed)
    def _removed(self, event: AttachmentBar.Removed) -> None:
        if not self.placeholders.remove(event.attached):
            self.attach(tuple(each for each in self.attached if each is not event.attached))

    @on(Transcript.BlockAction)
    def _block(self, event: Transcript.BlockAction) -> None:
        self.do(self.once(lambda: self.acting.block(event.action, event.turn, event.block)))

    @on(Transcript.TurnAction)
    def _turn(self, event: Transcript.TurnAction) -> None:
        if all(turn.id != event.turn for turn in self.conversation.path):
            return  # a key that was meant for what has gone
        if event.action == "apply":
            self.do(self.once(lambda: self.acting.turn(event.action, event.turn)))
        else:
            self.do(self.acting.turn(event.action, event.turn))

    def action_show_now(self) -> None:
        """Open what waits until nothing is written."""
        self.ready.show()

    def action_stop(self) -> None:
        """Stop what runs; otherwise go back to the prompt, and from an edit of an earlier message to a new one."""
        self.stopping.stop()

    def action_interrupt(self) -> None:
        """Copy what is selected in the prompt; else stop what runs; else leave, at the second time."""
        self.stopping.interrupt()

    def action_slash(self, name: str) -> None:
        """What the command of this name does."""
        self.do(self.commands.run(f"/{name}"))

    def action_drafts(self) -> None:
        """Colour what was drafted, or no longer."""
        self.show_drafts(not self.query_one(Transcript).drafts)

    def action_rounds(self) -> None:
        """Show how the last rounds went, or no longer."""
        rounds = self.query_one(Rounds)
        rounds.display = not rounds.display
        if rounds.display and "-short" in self.classes:
            self.tell("the rounds are shown once the terminal is higher")

    def action_undo(self) -> None:
        """Undo in the prompt while there is text in it; else take back the last change to files."""
        prompt = self.query_one(Prompt)
        if self.files.undoing.at > self.typed_at:
            self.do(self.files.undoing.own())
        elif prompt.history.undo_stack:
            prompt.undo()
        else:
            self.tell("/undo takes back the last change to files")

    def action_write(self) -> None:
        """Write the message in the person's editor."""
        self.do(self.acting.write_message())

    def action_recall(self) -> None:
        """Search what was entered before."""
        self.suggesting.recall()

    def action_into_transcript(self) -> None:
        """Choose a turn or a block with the keyboard."""
        transcript = self.query_one(Transcript)
        transcript.focus()
        transcript.action_previous()

    def action_branch(self, by: int) -> None:
        """Another branch at the selected turn, or at the last that has any."""
        self.act(lambda: self.acting.branch(by))

    def _previous(self, now: str) -> str | None:
        """A message that waits is taken back first."""
        waiting = None if now or self.editing is not None else self.conversation.unqueue()
        if waiting is None:
            return self.services.history.previous(now)
        self.attach(tuple(dict.fromkeys((*self.attached, *waiting.attached))))
        return waiting.text

    def _following(self) -> str | None:
        return self.services.history.next(self.query_one(Prompt).text)
