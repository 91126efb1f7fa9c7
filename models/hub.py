"""The Hub as a source: where a file is, what it must be, and its bytes from any offset.

huggingface_hub supplies addresses, tokens and the switches HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE. The requests are
ours, because its own downloads start from zero in every run (and its HTTP library differs between versions).
"""

import email.utils
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, TypeVar

from paceline.errors import ModelError, NetworkError, PacelineError
from paceline.models.catalogue import ModelFile

if TYPE_CHECKING:
    import httpx

_Answer = TypeVar("_Answer")
_REDIRECTS = (301, 302, 303, 307, 308)


class TemporaryError(NetworkError):
    """The same request may succeed later. `after`: seconds the server asked for, or None."""

    def __init__(self, message: str, hint: str = "", after: float | None = None) -> None:
        super().__init__(message, hint)
        self.after = after


class WrongBytesError(ModelError):
    """The source does not have the bytes that were asked for: another size or another hash."""


@dataclass(frozen=True)
class Remote:
    """A file on the Hub at one commit, as the Hub's metadata describes it."""

    url: str
    bytes: int
    sha256: str | None  # the Hub names it for files in LFS or Xet storage, which models are
    revision: str
    headers: dict[str, str] = field(repr=False)  # holds the token, which goes to the Hub's own host only


def offline() -> bool:
    """HF_HUB_OFFLINE is set."""
    from huggingface_hub import constants

    return bool(constants.HF_HUB_OFFLINE)


def endpoint() -> str:
    """The Hub's address: HF_ENDPOINT or the public one."""
    from huggingface_hub import constants

    return constants.ENDPOINT


def locate(file: ModelFile, base: str, timeout: float) -> Remote:
    """Ask the Hub at `base` for the file's commit, size and SHA-256, within `timeout` seconds in all.

    The limit holds for name resolution too. Raises TemporaryError, NetworkError, ModelError.
    """
    return _within(timeout, lambda: _locate(file, base, timeout), f"the Hub does not answer within {timeout:.0f} s")


def _locate(file: ModelFile, base: str, timeout: float) -> Remote:
    import httpx
    from huggingface_hub import hf_hub_url

    headers = _headers()

    def address(revision: str) -> str:
        try:
            return hf_hub_url(file.repository, file.file, revision=revision, endpoint=base)
        except ValueError as error:  # huggingface_hub's own idea of a valid name
            raise ModelError(f"{file.repository!r} cannot be a Hub repository: {error}") from error

    with httpx.Client(timeout=httpx.Timeout(timeout, connect=min(4.0, timeout))) as client, _explained(base):
        answer = _head(client, address(file.revision), headers)
        if answer.headers.get("x-error-code") == "RevisionNotFound" and file.sha256 and file.revision != "main":
            answer = _head(client, address("main"), headers)  # rewritten history; the hash says whether it is the file
    if answer.status_code not in (200, *_REDIRECTS):
        raise refusal(answer.status_code, answer.headers, file, base)
    etag = answer.headers.get("x-linked-etag") or answer.headers.get("etag") or ""
    digest = etag.removeprefix("W/").strip('"').lower()
    size = answer.headers.get("x-linked-size") or (answer.headers.get("content-length") if answer.is_success else None)
    if size is None or not size.isdigit():
        raise ModelError(f"the Hub does not tell the size of {file.repository}:{file.file}", "is HF_ENDPOINT right?")
    revision = answer.headers.get("x-repo-commit") or file.revision
    sha256 = digest if re.fullmatch(r"[0-9a-f]{64}", digest) else None
    return Remote(address(revision), int(size), sha256, revision, headers)


def _headers() -> dict[str, str]:
    """Who asks, and the person's token. Not huggingface_hub's own headers: making those asks the Hub on the way."""
    from huggingface_hub import constants, get_token

    headers = {
        "user-agent": f"paceline/{metadata.version('paceline')}",
        "accept-encoding": "identity",  # sizes and offsets must be those of the file
    }
    token = None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()
    if token:
        headers["authorization"] = f"Bearer {token}"
    return headers


def _head(client: "httpx.Client", url: str, headers: dict[str, str]) -> "httpx.Response":
    """HEAD, following redirects only on the Hub's own host: the one to the storage carries the metadata itself."""
    import httpx

    here = httpx.URL(url)
    for _ in range(5):
        answer = client.head(here, headers=headers)
        location = answer.headers.get("location")
        if answer.status_code not in _REDIRECTS or not location or "x-linked-etag" in answer.headers:
            return answer
        there = here.join(location)
        if (there.scheme, there.host, there.port) != (here.scheme, here.host, here.port):
            return answer
        here = there
    raise NetworkError("the Hub redirects in a circle", "is HF_ENDPOINT right?")


def stream(client: "httpx.Client", remote: Remote, offset: int, file: ModelFile) -> Iterator[bytes]:
    """The file's bytes from `offset` on, in chunks as they come; may end early and may give too many.

    A server that ignores the offset is read from its beginning and the bytes before are dropped. Raises TemporaryError
    when going on later makes sense, WrongBytesError when the server has another file, else NetworkError or ModelError.
    """
    headers = remote.headers | ({"range": f"bytes={offset}-"} if offset else {})
    base = remote.url.partition(file.repository)[0].rstrip("/")
    # httpx drops the authorization header when a redirect leads to another host.
    with _explained(base), client.stream("GET", remote.url, headers=headers, follow_redirects=True) as answer:
        skip = 0
        if answer.status_code == 206:
            _check_range(answer.headers.get("content-range", ""), offset, remote.bytes)
        elif answer.status_code == 200:
            skip = offset
            length = answer.headers.get("content-length", "")
            if length.isdigit() and int(length) != remote.bytes:
                raise WrongBytesError(f"the server has {length} bytes where {remote.bytes} were announced")
        elif answer.status_code == 416:
            raise WrongBytesError(f"the server's file ends before byte {offset} of the {remote.bytes} announced")
        else:
            raise refusal(answer.status_code, answer.headers, file, base)
        for chunk in answer.iter_raw():
            if skip >= len(chunk):
                skip -= len(chunk)
                continue
            yield chunk[skip:]
            skip = 0


def new_client(connect: float, stall: float) -> "httpx.Client":
    """A client for `stream`: seconds to connect, and seconds without a byte that count as a stall."""
    import httpx

    return httpx.Client(timeout=httpx.Timeout(stall, connect=connect), max_redirects=5)


def refusal(status: int, headers: "httpx.Headers", file: ModelFile, base: str) -> PacelineError:
    """The error that an HTTP status means for the person who wants this file."""
    name = f"{file.repository}:{file.file}"
    page = f"{base}/{file.repository}"
    if status in (401, 403):
        gated = headers.get("x-error-code") == "GatedRepo"
        what = "asks for its licence to be accepted first" if gated else "is private, gated or does not exist"
        return ModelError(
            f"the Hub refuses {name} ({status}): the repository {what}",
            f"accept the licence at {page} with your account, then set HF_TOKEN or run `hf auth login`",
        )
    if status == 404:
        return ModelError(
            f"the Hub has no {name} at revision {file.revision!r} (404)", f"look for the file's exact name at {page}"
        )
    if status == 429:
        return TemporaryError(
            "the Hub limits the rate of requests (429)", "try again later; HF_TOKEN raises the limit", _after(headers)
        )
    if status in (408, 425) or status >= 500:
        return TemporaryError(f"the Hub fails for {name} ({status})", "try again later", _after(headers))
    return NetworkError(f"the Hub answers {status} for {name}", "is HF_ENDPOINT right?")


def _check_range(content_range: str, offset: int, total: int) -> None:
    """RFC 9110, 14.4: `bytes first-last/complete` or `bytes first-last/*`."""
    match = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", content_range.strip())
    if match is None or int(match.group(1)) != offset:
        raise NetworkError(f"the server answers with the wrong range: {content_range!r} for byte {offset}")
    if match.group(2) not in ("*", str(total)):
        raise WrongBytesError(f"the server has {match.group(2)} bytes where {total} were announced")


def _after(headers: "httpx.Headers") -> float | None:
    """Retry-After in seconds (RFC 9110, 10.2.3: a number of seconds or a date)."""
    value = headers.get("retry-after", "").strip()
    if value.isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


@contextmanager
def _explained(base: str) -> Iterator[None]:
    """Say in our words what went wrong on the wire."""
    import httpx

    hint = f"check the network, the proxy settings and HF_ENDPOINT (now {base}); what has arrived is kept"
    host = base.partition("://")[2] or base
    try:
        yield
    except httpx.ConnectTimeout as error:
        raise TemporaryError(f"no connection to {host} within the time allowed", hint) from error
    except httpx.TimeoutException as error:
        raise TemporaryError(f"{host} sends nothing any more", hint) from error
    except httpx.TooManyRedirects as error:
        raise NetworkError("the server redirects in a circle", hint) from error
    except (httpx.InvalidURL, httpx.UnsupportedProtocol) as error:
        raise NetworkError(f"no usable address: {error}", hint) from error
    except httpx.NetworkError as error:
        raise TemporaryError(f"cannot reach {host}: {error}", hint) from error
    except httpx.TransportError as error:
        raise TemporaryError(f"{host} broke off: {error}", hint) from error


def _within(seconds: float, work: Callable[[], _Answer], late: str) -> _Answer:
    """The work's answer, or TemporaryError when it takes too long. Name resolution knows no timeout of its own,
    so the work runs in a thread, which is left behind when it is late.
    """
    answers: list[_Answer] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(work())
        except BaseException as error:  # handed to whoever waits
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True, name="paceline-hub")
    thread.start()
    thread.join(seconds)
    if answers:
        return answers[0]
    if errors:
        raise errors[0]
    raise TemporaryError(late, "check the network, the proxy settings and HF_ENDPOINT")
