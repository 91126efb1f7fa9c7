"""The commands that begin with a slash: what each does. Their names and help are in chat.slash."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from paceline.chat.slash import FORMATS, Slash, parse
from paceline.chat.turns import Turn
from paceline.chat.words import many
from paceline.errors import InputError
from paceline.tui import switches
from paceline.tui.screens.confirm import Question
from paceline.tui.widgets.prompt import Prompt
from paceline.tui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from paceline.tui.screens.chat import ChatScreen

CHANGING = ("rename", "fork", "delete", "continue", "system")  # sessions, at once


class Commands:
    """One screen's commands: a method for each, named after it."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen

    async def run(self, line: str) -> None:
        """Obey a line that is known to be a command. Raises PacelineError."""
        found = parse(line)
        assert isinstance(found, Slash), f"{line} is a command"
        await self.obey(found)

    async def obey(self, asked: Slash) -> None:
        """Do what a command says. Raises PacelineError."""
        if asked.missing:
            raise InputError(f"/{asked.command.name} needs more", f"write {asked.command.usage}")
        if asked.command.name in CHANGING:
            await self._screen.sending.free()
        await getattr(self, f"_{asked.command.name}")(asked.argument)

    def themes(self) -> tuple[str, ...]:
        """Names that /theme takes."""
        from paceline.tui.themes import names

        return names()

    def set_up(self) -> None:
        """Offer to fetch models, since there are none."""
        self._screen.do(self.set_up_now())

    async def set_up_now(self) -> None:
        """The same, and wait for it."""
        from paceline.tui.screens.setup import SetupScreen

        if await self._screen.app.push_screen_wait(SetupScreen(self._screen.services.models)):
            await self._reload()

    async def _reload(self) -> None:
        await self._screen.reconfigured(self._screen.services.reload())

    # --- sessions -----------------------------------------------------------------------------------------------------

    async def _new(self, title: str) -> None:
        self._screen.opening.begin(title)
        self._screen.query_one(Prompt).focus()

    async def _sessions(self, words: str) -> None:
        from paceline.tui.screens.sessions import SessionsScreen

        screen = self._screen
        here = screen.conversation.session
        title = screen.services.store.session(here.id).title if here.id else ""
        asked = SessionsScreen(screen.services.store, here.id, words, screen.services.root)
        chosen = await screen.app.push_screen_wait(asked)
        if chosen and chosen != here.id:
            screen.opening.open(screen.services.store.session(chosen))
        elif here.id and (now := screen.services.store.session(here.id).title) != title:
            screen.conversation.renamed(now)

    async def _resume(self, session: str) -> None:
        if not session:
            await self._sessions("")
            return
        found = self._screen.services.store.session(session)
        if found.id != self._screen.conversation.session.id:
            self._screen.opening.open(found)

    async def _rename(self, title: str) -> None:
        screen = self._screen
        screen.services.store.rename(screen.conversation.keep().id, title)
        screen.conversation.renamed(title)

    async def _fork(self, title: str) -> None:
        screen = self._screen
        leaf = screen.conversation.session.leaf
        if leaf is None:
            raise InputError("there is nothing to copy yet", "say something first")
        copy = screen.services.store.fork(screen.conversation.session.id, leaf)
        if title:
            screen.services.store.rename(copy.id, title)
        screen.opening.open(screen.services.store.session(copy.id))
        screen.tell("this is the copy; /sessions has both")

    async def _export(self, argument: str) -> None:
        from paceline.tui.exporting import Exporting

        screen, store = self._screen, self._screen.services.store
        word, _, name = argument.strip().partition(" ")
        kind, name = (word, name.strip()) if word in FORMATS else ("", argument.strip())
        session, path = screen.conversation.session, screen.conversation.path
        if not session.id:
            raise InputError("there is nothing to export yet", "say something first")
        found = Exporting(store.session(session.id), store.turns(session.id), path, screen.services.root)
        if name:
            await found.write(screen.app, name, kind)
        else:
            await found.ask(screen.app, kind)

    async def _delete(self, _: str) -> None:
        screen = self._screen
        session = screen.conversation.session
        title = screen.services.store.session(session.id).title if session.id else session.title
        waiting = len(screen.conversation.queued)
        what = [title or "this session", many(len(screen.conversation.path), "message")]
        if waiting:
            what.append(f"and {many(waiting, 'message')} that wait{'s' * (waiting == 1)}")
        if await screen.ask(Question("Delete this session?", tuple(what), yes="Delete")):
            screen.conversation.stop()
            screen.conversation.drop_waiting()
            screen.end_editing()
            if session.id:
                screen.services.store.delete(session.id)
            screen.opening.begin()

    # --- this conversation --------------------------------------------------------------------------------------------

    async def _retry(self, _: str) -> None:
        path = self._screen.conversation.path
        if not path:
            raise InputError("there is no answer yet", "ask something")
        await self._screen.sending.retry(path[-1].id)

    async def _continue(self, _: str) -> None:
        self._screen.conversation.go_on()

    async def _system(self, text: str) -> None:
        screen = self._screen
        if text:
            screen.conversation.set_system(text)
            screen.tell("used from the next message on")
            screen.measuring.soon()
        else:
            prompt = screen.query_one(Prompt)
            prompt.replace_all(f"/system {screen.conversation.session.system}")

    async def _compact(self, keep: str) -> None:
        screen = self._screen
        draft, conversation = screen.sending.draft("", ()), screen.conversation
        at = _older(draft.path)
        if at <= draft.skipped:
            raise InputError("there is nothing to shorten yet", "it helps once a conversation is long")
        if conversation.answering:
            raise InputError("cannot shorten a conversation while an answer is written", "stop it first, or wait")
        turns = [turn.id for turn in conversation.path]
        shorter = await screen.sending.fitting.shortened(draft, at, keep)
        if conversation is not screen.conversation:
            raise InputError("nothing was shortened: another session is open now", "/compact it again there")
        if [turn.id for turn in conversation.path][: len(turns)] != turns:
            raise InputError("nothing was shortened: another branch is shown now", "/compact it again there")
        conversation.forget(shorter.skipped, shorter.summary)
        screen.measuring.soon()
        screen.tell(f"the model is shown a summary of the first {many(shorter.skipped, 'message')} from now on")

    async def _context(self, _: str) -> None:
        from paceline.tui.screens.context import ContextScreen

        screen = self._screen
        draft = await screen.sending.begun()
        await screen.app.push_screen_wait(ContextScreen(await screen.sending.sizes(draft)))

    async def _copy(self, number: str) -> None:
        screen = self._screen
        turn, block = self._chosen(number)
        if block is None:
            await screen.acting.turn("copy", turn)
        else:
            await screen.acting.block("copy", turn, block)

    async def _save(self, argument: str) -> None:
        word, _, name = argument.partition(" ")
        turn, block = self._chosen(word if _is_number(word) else "")
        found = self._screen.acting.text_of(turn, block)
        await self._screen.acting.save(found, name.strip() if _is_number(word) else argument)

    def _chosen(self, number: str) -> tuple[int, int | None]:
        """A turn, and a block of it: by number, or what is selected, or the last answer. A number is one of what is
        selected, or else of the last answer that has such a block. Raises InputError.
        """
        screen = self._screen
        if number and not (_is_number(number) and int(number)):
            raise InputError(f"{number!r} is no number of a code block", "blocks are numbered from 1")
        turn, block = screen.query_one(Transcript).selected
        answers = [each for each in reversed(screen.conversation.path) if each.role == "assistant"]
        if turn is None and not answers:
            raise InputError("there is no answer yet", "ask something")
        if not number:
            return (answers[0].id, block) if turn is None else (turn, block)
        if turn is not None:
            answers = [screen.acting.turn_of(turn)]
        found = next((each.id for each in answers if len(screen.acting.blocks_of(each.id)) >= int(number)), None)
        if found is None and turn is not None:
            raise InputError(f"what is selected has no code block {int(number)}", "Esc takes the selection away")
        if found is None:
            raise InputError(f"no answer has a code block {int(number)}", "each answer's blocks are numbered from 1")
        return found, int(number) - 1

    # --- files and commands -------------------------------------------------------------------------------------------

    async def _edit(self, argument: str) -> None:
        name, _, wish = argument.strip().partition(" ")
        if name.startswith('"') and argument.count('"') > 1:
            name, _, wish = argument[1:].partition('"')
        if not wish.strip():
            raise InputError("what is to be changed?", "write /edit FILE INSTRUCTION")
        await self._screen.files.edit(name.removeprefix("@"), wish.strip())

    async def _run(self, line: str) -> None:
        await self._screen.acting.run(line)

    async def _undo(self, _: str) -> None:
        await self._screen.files.undoing.last()

    # --- the app ------------------------------------------------------------------------------------------------------

    async def _help(self, command: str) -> None:
        from paceline.tui.screens.help import HelpScreen, keys_in, keys_of

        screen = self._screen
        help_screen = HelpScreen(
            keys_of(screen), command=command.removeprefix("/"), turns=keys_in(screen.query_one(Transcript))
        )
        await screen.app.push_screen_wait(help_screen)

    async def _model(self, _: str) -> None:
        from paceline.tui.screens.models import ModelsScreen

        screen = self._screen
        if screen.config.engine.url:
            raise InputError(f"{screen.config.engine.url} answers, with its own model", "engine.url names it")
        chosen = await screen.app.push_screen_wait(ModelsScreen(screen.services.models))
        if chosen:
            await self._reload()
            screen.tell(f"{chosen} answers from now on")

    async def _bench(self, workload: str) -> None:
        await self._report("bench", workload)

    async def _stats(self, _: str) -> None:
        await self._report("stats", "")

    async def _report(self, name: str, argument: str) -> None:
        from paceline.tui.screens.report import ReportScreen

        program = self._screen.services.programs[name](argument)
        await self._screen.app.push_screen_wait(ReportScreen(program))

    async def _theme(self, name: str) -> None:
        from textual.command import CommandPalette

        from paceline.tui.palette import ThemeProvider
        from paceline.tui.themes import choose, colourless, fault

        app = self._screen.app
        if not name:
            app.push_screen(CommandPalette([ThemeProvider], placeholder="Search for themes…"))
            return
        if wrong := fault(name):
            raise InputError(wrong, "Tab behind /theme lists them")
        environ = self._screen.services.environ
        app.theme = choose(name, environ)
        if colourless(environ):
            self._screen.tell(
                "NO_COLOR is set, so nothing is coloured, and this choice is not kept when you leave\n"
                f'hint: to see it, set theme = "{name}" under [chat], and start Paceline without NO_COLOR'
            )

    async def _drafts(self, switch: str) -> None:
        self._screen.show_drafts(_switched(switch, self._screen.query_one(Transcript).drafts))

    async def _mouse(self, switch: str) -> None:
        app = self._screen.app
        on = _switched(switch, switches.has_mouse(app))
        switches.use_mouse(app, on)
        self._screen.tell("the mouse is the app's" if on else "the terminal selects text by itself")

    async def _motion(self, switch: str) -> None:
        app = self._screen.app
        on = _switched(switch, switches.moves(app))
        switches.let_move(app, on)
        self._screen.tell("what is scrolled moves" if on else "nothing moves that need not")

    async def _quit(self, _: str) -> None:
        await self._screen.leave()


def _switched(word: str, now: bool) -> bool:
    """On, off, or the other way round. Raises InputError."""
    if word not in ("", "on", "off"):
        raise InputError(f"{word!r} is neither on nor off", "write on, off or nothing")
    return not now if not word else word == "on"


def _older(path: Sequence[Turn]) -> int:
    """How many turns a summary is to stand for: all before the last question; all, where that is the first."""
    questions = [at for at, turn in enumerate(path) if turn.role == "user"]
    return (questions[-1] if questions else 0) or len(path)


def _is_number(word: str) -> bool:
    """Whether it is one of a code block."""
    return word.isascii() and word.isdecimal() and len(word) < 6
