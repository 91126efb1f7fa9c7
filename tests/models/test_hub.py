"""The Hub's metadata and its refusals, against a real local server."""

import socket
import threading
from collections.abc import Iterator

import httpx
import pytest

from paceline.errors import ModelError, NetworkError
from paceline.models import hub as subject
from paceline.models.catalogue import ModelFile
from paceline.models.hub import TemporaryError, locate, refusal
from support.http_server import COMMIT, Hub, Served, running_hub

FILE = ModelFile(id="tiny", repository="owner/repo", file="tiny.gguf")
PINNED = ModelFile(id="tiny", repository="owner/repo", file="tiny.gguf", revision="f" * 40, sha256="0" * 64)


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running_hub() as running:
        yield running


def test_the_metadata_gives_size_hash_and_commit_and_the_address_of_that_commit(hub):
    hub.add("owner/repo:tiny.gguf", Served(b"x" * 100))
    remote = locate(FILE, hub.url, 5)
    assert (remote.bytes, remote.revision, len(remote.sha256)) == (100, COMMIT, 64)
    assert remote.url == f"{hub.url}/owner/repo/resolve/{COMMIT}/tiny.gguf"


def test_a_tag_that_is_no_sha256_is_not_taken_for_one(hub):
    hub.add("owner/repo:tiny.gguf", Served(b"x", sha256="a" * 40))
    assert locate(FILE, hub.url, 5).sha256 is None


@pytest.mark.parametrize(
    ("status", "code", "error", "said"),
    [
        (401, "", ModelError, "HF_TOKEN"),
        (403, "GatedRepo", ModelError, "licence"),
        (404, "EntryNotFound", ModelError, "no owner/repo:tiny.gguf"),
        (429, "", TemporaryError, "rate"),
        (500, "", TemporaryError, "500"),
        (503, "", TemporaryError, "503"),
        (418, "", NetworkError, "418"),
    ],
)
def test_a_refusal_says_what_it_means_and_what_to_do(hub, status, code, error, said):
    hub.add("owner/repo:tiny.gguf", Served(b"x", statuses=[status], error_code=code))
    with pytest.raises(error) as caught:
        locate(FILE, hub.url, 5)
    assert said in str(caught.value) and caught.value.hint


def test_a_vanished_commit_is_looked_up_on_main_where_the_hash_is_known(hub):
    hub.add("owner/repo:tiny.gguf", Served(b"x", statuses=[404], error_code="RevisionNotFound"))
    assert locate(PINNED, hub.url, 5).revision == COMMIT
    assert [path.split("/")[4] for _, path, _ in hub.requests] == ["f" * 40, "main"]


def test_nobody_listening_is_told_as_temporary():
    with pytest.raises(TemporaryError) as caught:
        locate(FILE, "http://127.0.0.1:9", 5)
    assert "HF_ENDPOINT" in caught.value.hint


def test_an_address_that_is_none_is_told_at_once():
    with pytest.raises(NetworkError, match="address"):
        locate(FILE, "nonsense", 5)


def test_silence_ends_at_the_limit(hub):
    hub.silent.set()
    with pytest.raises(TemporaryError):
        locate(FILE, hub.url, 0.2)


def test_name_resolution_that_hangs_ends_at_the_limit_too(monkeypatch):
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: over.wait(30))
    try:
        with pytest.raises(TemporaryError, match="does not answer within"):
            locate(FILE, "http://hub.invalid", 0.2)
    finally:
        over.set()


@pytest.mark.parametrize(("value", "seconds"), [("7", 7), ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("soon", None)])
def test_retry_after_is_read_as_seconds_or_date(value, seconds):
    error = refusal(429, httpx.Headers({"retry-after": value}), FILE, "http://hub")
    assert isinstance(error, TemporaryError) and error.after == seconds


def test_the_token_is_not_shown_when_a_remote_is_printed(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.add("owner/repo:tiny.gguf", Served(b"x"))
    remote = locate(FILE, hub.url, 5)
    assert hub.of("HEAD")[0]["authorization"] == "Bearer hf_secret"
    assert "hf_secret" not in repr(remote)


def test_nothing_but_the_file_is_asked_for(hub):
    hub.add("owner/repo:tiny.gguf", Served(b"x"))
    locate(FILE, hub.url, 5)
    assert [(verb, path) for verb, path, _ in hub.requests] == [("HEAD", "/owner/repo/resolve/main/tiny.gguf")]


def test_the_offline_switch_is_huggingface_hub_s_own(monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert subject.offline()
