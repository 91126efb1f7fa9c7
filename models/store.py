"""The folder of models: where each file lies, what is known about it, and that it is what it should be.

Layout: `<root>/<owner>--<repository>/<file>`. The Hub forbids `--` in names, so no two repositories share a folder.
Beside a model lie its manifest (`.json`), an unfinished download (`.part`) and what failed verification (`.damaged`);
locks are kept apart in `<root>/.locks`.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Literal

import msgspec

from paceline.errors import ModelError, ResourceError
from paceline.models.catalogue import ModelFile
from paceline.models.progress import Progress, Silent

State = Literal["missing", "partial", "unverified", "ready"]
BLOCK = 1 << 20  # bytes read or hashed at once


class Manifest(msgspec.Struct, frozen=True):
    """What was verified about a model file, and when. Keys of later versions are let pass."""

    bytes: int
    sha256: str
    source: str  # where the bytes came from, in words
    revision: str  # commit that the Hub reported, else the catalogue's
    licence: str
    verified: str  # UTC, ISO 8601
    mtime_ns: int  # the file's time of change when it was verified: a file touched since is hashed again


@dataclass(frozen=True)
class Status:
    """What is there of a model: nothing, a part, a file nobody has verified yet, or a verified one. Size in bytes."""

    state: State
    bytes: int = 0


@dataclass(frozen=True)
class Verification:
    """The outcome of hashing a file again."""

    path: Path
    sha256: str
    expected: str  # "" where nothing was known to compare with
    moved_to: Path | None = None  # a damaged file was moved out of the way to here

    @property
    def ok(self) -> bool:
        """The file is what it should be, as far as anything is known."""
        return self.expected in ("", self.sha256)


@dataclass(frozen=True)
class Stored:
    """A model file found in the store."""

    path: Path
    repository: str
    file: str
    state: State
    bytes: int
    manifest: Manifest | None


@dataclass(frozen=True)
class Store:
    """A folder of model files. Nothing is created before something is stored."""

    root: Path

    def path(self, file: ModelFile) -> Path:
        """Where this model lies, or would lie."""
        if file.path:
            return Path(file.path)
        return self.root.joinpath(file.repository.replace("/", "--"), *file.file.split("/"))

    def part(self, file: ModelFile) -> Path:
        """Where its unfinished download lies."""
        return _beside(self.path(file), ".part")

    def wheels(self, file: ModelFile) -> Path:
        """A folder for what a download needs for a time."""
        return _beside(self.path(file), ".wheels")

    def manifest(self, file: ModelFile) -> Manifest | None:
        """What is on record about it, or None."""
        return _read_manifest(self.path(file))

    def status(self, file: ModelFile) -> Status:
        """What is there, told from sizes, times and the manifest, without hashing or network."""
        path = self.path(file)
        if file.path:
            return Status("ready", path.stat().st_size) if path.is_file() else Status("missing")
        return _status(path, file.sha256)

    def list(self) -> list[Stored]:
        """All model files in the store, finished or not, by path."""
        found = {path for path in self.root.glob("*/**/*") if path.suffix.lower() == ".gguf" and path.is_file()}
        found |= {path.with_suffix("") for path in self.root.glob("*/**/*.part") if path.is_file()}
        return [self._stored(path) for path in sorted(found)]

    def _stored(self, path: Path) -> Stored:
        folder, *parts = path.relative_to(self.root).parts
        status = _status(path, None)
        manifest = _read_manifest(path)
        return Stored(path, folder.replace("--", "/", 1), "/".join(parts), status.state, status.bytes, manifest)

    def record(self, file: ModelFile, sha256: str, source: str, revision: str) -> Manifest:
        """Write down that the file in place has this hash. The caller has computed it from the file's bytes."""
        path = self.path(file)
        stat = path.stat()
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        manifest = Manifest(stat.st_size, sha256, source, revision, file.licence, now, stat.st_mtime_ns)
        try:
            replace(_beside(path, ".json"), msgspec.json.format(msgspec.json.encode(manifest)))
        except OSError as error:
            raise ResourceError(
                f"cannot write the manifest of {path}: {error.strerror}", "free some space and check the permissions"
            ) from error
        return manifest

    def verify(self, file: ModelFile, progress: Progress | None = None) -> Verification:
        """Hash the file in place again and compare with the catalogue's hash, else with the manifest's.

        A store file with the wrong hash is moved to `….damaged`, never deleted; a person's own file is left alone.
        Raises ModelError when there is no file.
        """
        path = self.path(file)
        if not path.is_file():
            raise ModelError(f"{file.id} is not here: {path}", f"paceline models pull {file.id}")
        manifest = None if file.path else self.manifest(file)
        digest = hash_file(path, progress or Silent())
        expected = file.sha256 or (manifest.sha256 if manifest else "")
        if expected not in ("", digest):
            return Verification(path, digest, expected, None if file.path else set_aside(path))
        if not file.path:
            source = manifest.source if manifest else "placed by hand"
            self.record(file, digest, source, manifest.revision if manifest else "")
        return Verification(path, digest, expected)

    def remove(self, file: ModelFile) -> int:
        """Delete the model, its unfinished download and its manifest; bytes freed. `….damaged` files go too.

        Raises ModelError for a person's own file, and while another process is downloading it.
        """
        if file.path:
            raise ModelError(f"{file.path} is your own file, not one of the store", "delete it yourself if you want to")
        path = self.path(file)
        freed = 0
        with self.lock(file, timeout=0):
            for victim in (path, self.part(file), _beside(path, ".json"), *_damaged(path)):
                if victim.is_file():
                    freed += victim.stat().st_size
                    victim.unlink()
            shutil.rmtree(self.wheels(file), ignore_errors=True)
        folder = path.parent
        while folder != self.root and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent
        return freed

    @contextmanager
    def lock(self, file: ModelFile, timeout: float = -1, progress: Progress | None = None) -> Iterator[None]:
        """Hold this model's lock, released by the system even after kill -9. Seconds to wait; -1: as long as needed.

        A wait is told through `progress.note`. Raises ModelError when the time is over.
        """
        from filelock import FileLock, Timeout

        folder = self.root / ".locks"
        make_folder(folder)
        name = str(self.path(file).relative_to(self.root)).replace(os.sep, "--")
        lock = FileLock(folder / f"{name}.lock")
        try:
            try:
                lock.acquire(timeout=0)
            except Timeout:
                if timeout != 0:
                    (progress or Silent()).note(f"waiting for another paceline that is downloading {file.id}")
                lock.acquire(timeout=timeout, poll_interval=0.2)
        except Timeout:
            raise ModelError(f"another process is downloading {file.id}", "wait for it, or stop it") from None
        except (OSError, NotImplementedError) as error:
            raise ResourceError(f"cannot lock {lock.lock_file}: {error}", "check the folder's permissions") from error
        try:
            yield
        finally:
            lock.release()


def hash_file(path: Path, progress: Progress) -> str:
    """SHA-256 of a file, in lower-case hexadecimal, with progress in bytes. Raises ModelError when it is unreadable."""
    digest = hashlib.sha256()
    try:
        with path.open("rb") as source:
            progress.start(path.stat().st_size, 0)
            while block := source.read(BLOCK):
                digest.update(block)
                progress.advance(len(block))
    except OSError as error:
        raise ModelError(
            f"cannot read {path}: {error.strerror}", "check the file's permissions and the disk"
        ) from error
    finally:
        progress.stop()
    return digest.hexdigest()


def set_aside(path: Path) -> Path:
    """Move a file that failed verification to a free `….damaged` name, and forget its manifest; the new name."""
    target, number = _beside(path, ".damaged"), 1
    while target.exists():
        number += 1
        target = _beside(path, f".damaged{number}")
    path.replace(target)
    _beside(path, ".json").unlink(missing_ok=True)
    return target


def make_folder(folder: Path) -> None:
    """Create a folder and those above it. Raises ResourceError when that cannot be done."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ResourceError(
            f"cannot create {folder}: {error.strerror}", "choose another folder: models.directory in the configuration"
        ) from error


def replace(path: Path, content: bytes) -> None:
    """Write a small file so that after a crash either the old or the new content is there, whole."""
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".new")  # two writers do not meet
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~_umask()
        Path(draft).chmod(mode)
        Path(draft).replace(path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def _umask() -> int:
    """The process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def sync_folder(folder: Path) -> None:
    """Make a rename in this folder last through a power cut, where the system lets folders be synced."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def _damaged(path: Path) -> Iterator[Path]:
    """Copies of this model, finished or not, that failed verification."""
    prefixes = (f"{path.name}.damaged", f"{path.name}.part.damaged")
    if path.parent.is_dir():
        yield from [other for other in path.parent.iterdir() if other.name.startswith(prefixes)]


def _status(path: Path, sha256: str | None) -> Status:
    """Ready only if the manifest still fits the file's size and time, and the hash that is wanted now."""
    for _ in range(3):  # again, if another process renames the file just now
        try:
            if not path.is_file():
                part = _beside(path, ".part")
                return Status("partial", part.stat().st_size) if part.is_file() else Status("missing")
            manifest, stat = _read_manifest(path), path.stat()
            if manifest is None or (manifest.bytes, manifest.mtime_ns) != (stat.st_size, stat.st_mtime_ns):
                return Status("unverified", stat.st_size)
            return Status("ready" if sha256 in (None, manifest.sha256) else "unverified", stat.st_size)
        except FileNotFoundError:
            continue
    return Status("missing")


def _read_manifest(path: Path) -> Manifest | None:
    """A manifest that cannot be read counts as none: the file is hashed again."""
    try:
        return msgspec.json.decode(_beside(path, ".json").read_bytes(), type=Manifest)
    except (OSError, msgspec.DecodeError):
        return None
