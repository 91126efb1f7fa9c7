"""The terminal that the app runs in, on Linux and macOS: Textual's driver, but for how it takes what comes in."""

import os
import selectors
import signal
from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence

from textual import events
from textual._xterm_parser import XTermParser
from textual.constants import ESCAPE_DELAY
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from paceline.tui.incoming import Came, Incoming, Keys, Pasted

READ = 65536  # bytes; terminals of Linux give 4,096 at once
IDLE = 0.1  # seconds after which is looked whether the app leaves
QUICK = 0.05  # seconds that a quick typist needs for a key
ALT_ENTER = ("\x1b\r", "\x1b\n")
APART = 0.03  # seconds between keys that came at once, as a key repeats that is held down


class Terminal(LinuxDriver):
    """Hands on as one paste what comes as one, whether the terminal marks it or not.

    Textual makes a key of each character of one that is not marked: 5,000 lines then take many seconds of processor,
    and each key does what it does wherever the focus is. Of one that is marked it types what follows an escape
    character in it, line ends too.
    """

    def run_input_thread(self) -> None:
        """Reads, and posts events, until the app leaves or is suspended."""
        incoming = Events(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:  # the kind that knows terminals on macOS, too
            selector.register(self.fileno, selectors.EVENT_READ)
            left = incoming.patience
            while not self.exit_event.is_set():
                step = min(left, IDLE)
                if selector.select(step):
                    data = self._read()
                    if not data:  # nobody is there any more
                        os.kill(os.getpid(), signal.SIGHUP)
                        self.exit_event.wait()
                        return
                    found = incoming.of(decode(data))
                elif step < left:
                    left -= step
                    continue
                else:
                    found = incoming.rest()
                for event in found:
                    self.process_message(event)
                left = incoming.patience
        for event in incoming.rest():
            self.process_message(event)

    def _read(self) -> bytes:
        try:
            return os.read(self.fileno, READ)
        except OSError:  # as Linux says it of a terminal that has gone
            return b""


class Events:
    """Textual's events for what a terminal sends."""

    def __init__(self, debug: bool = False) -> None:
        """debug: write down what comes, as Textual does."""
        self._parser = XTermParser(debug)
        self._incoming = Incoming(ESCAPE_DELAY)
        self._pressed = 0.0  # when the last key was

    @property
    def patience(self) -> float:
        """Seconds to wait for more, before there may be events although nothing comes."""
        patience = self._incoming.patience
        return IDLE if patience is None else patience

    def of(self, text: str) -> Iterator[Message]:
        """What came now made of it, and of what came before."""
        came = self._incoming.feed(text)
        if self._incoming.patience == 0:
            came += self._incoming.settle()
        yield from self._made(came)

    def rest(self) -> Iterator[Message]:
        """What is made of what came before, as nothing has followed it."""
        yield from self._made(self._incoming.settle())

    def _made(self, came: Sequence[Came]) -> Iterator[Message]:
        for each in came:
            if isinstance(each, Pasted):
                yield events.Paste(each.text.replace("\x00", ""))
            elif isinstance(each, Keys):
                yield from self._apart(list(self._parser.feed(each.text)))
            elif each.text in ALT_ENTER:
                yield events.Key("alt+enter", None)  # for Textual's parser it is Enter
            else:  # a parser of its own can be told that nothing follows
                alone = XTermParser()
                yield from alone.feed(each.text)
                yield from alone.feed("")
        yield from self._parser.tick()

    def _apart(self, found: Sequence[Message]) -> Sequence[Message]:
        """Keys that came at once get times as if pressed one by one, where a person may have done so since the last.

        The prompt takes keys that come faster than anybody types for a paste that comes in small pieces, and does not
        send it; a line that was typed while the link stood still is none.
        """
        keys = [each for each in found if isinstance(each, events.Key)]
        if keys:
            last = keys[-1].time
            if last - self._pressed >= QUICK * len(keys):
                for before, key in enumerate(reversed(keys)):
                    key.time = last - APART * before
            self._pressed = last
        return found
