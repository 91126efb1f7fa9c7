"""Downloads against a server that misbehaves: whatever happens, the right file or a clear error, and nothing twice."""

import hashlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from paceline.errors import ModelError, NetworkError, ResourceError
from paceline.models.catalogue import ModelFile
from paceline.models.download import Options, fetch, human
from paceline.models.store import Store
from support.http_server import COMMIT, Hub, Served, running_hub
from support.recorder import Recorder

NAME = "owner/repo:tiny.gguf"
UNPINNED = ModelFile(id="tiny", repository="owner/repo", file="tiny.gguf", licence="Apache-2.0")
CONTENT = random.Random(1).randbytes(300_000)  # 18 blocks and a bit


def pinned(content: bytes = CONTENT) -> ModelFile:
    return msgspec.structs.replace(UNPINNED, bytes=len(content), sha256=hashlib.sha256(content).hexdigest())


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running_hub() as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "models")


class Waits(list):
    """Remembers the waits instead of waiting."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


def quick(hub: Hub, **changes) -> Options:
    defaults = Options(endpoint=hub.url, stall_timeout=0.3, attempts=4, sleep=Waits(), free_space=lambda _: 1 << 40)
    return replace(defaults, **changes)


def ranges(hub: Hub) -> list[int]:
    """Where each GET began."""
    return [int(h.get("range", "bytes=0-").removeprefix("bytes=").rstrip("-")) for h in hub.of("GET")]


def left_over(store: Store) -> list[str]:
    return sorted(p.name for p in store.root.glob("*/**/*") if p.is_file() and ".locks" not in p.parts)


# --- the straight way -------------------------------------------------------------------------------------------------


def test_a_download_is_verified_recorded_and_leaves_nothing_behind(hub, store):
    hub.add(NAME, Served(CONTENT))
    progress = Recorder()
    path = fetch(UNPINNED, store, progress=progress, options=quick(hub))
    assert path == store.path(UNPINNED) and path.read_bytes() == CONTENT
    assert left_over(store) == ["tiny.gguf", "tiny.gguf.json"]
    assert progress.starts == [(len(CONTENT), 0)] and progress.done == len(CONTENT) and progress.stops
    manifest = store.manifest(UNPINNED)
    assert (manifest.revision, manifest.bytes, manifest.licence) == (COMMIT, len(CONTENT), "Apache-2.0")
    assert manifest.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert store.status(UNPINNED).state == "ready"


def test_what_is_there_and_verified_is_used_without_any_network(hub, store):
    hub.add(NAME, Served(CONTENT))
    fetch(UNPINNED, store, options=quick(hub))
    asked = len(hub.requests)
    for file in (UNPINNED, pinned()):
        assert fetch(file, store, options=quick(hub)) == store.path(file)
        assert fetch(file, store, offline=True, options=quick(hub)) == store.path(file)
    assert len(hub.requests) == asked


def test_a_new_upload_under_the_same_name_changes_nothing_here(hub, store):
    served = hub.add(NAME, Served(CONTENT))
    fetch(UNPINNED, store, options=quick(hub))
    served.content = CONTENT[::-1]
    assert fetch(UNPINNED, store, options=quick(hub)).read_bytes() == CONTENT


def test_a_file_placed_by_hand_is_hashed_and_not_fetched(hub, store):
    store.path(pinned()).parent.mkdir(parents=True)
    store.path(pinned()).write_bytes(CONTENT)
    progress = Recorder()
    fetch(pinned(), store, progress=progress, options=quick(hub))
    assert hub.requests == [] and progress.said("not verified yet")


def test_a_wrong_file_placed_by_hand_is_moved_aside_and_the_right_one_fetched(hub, store):
    hub.add(NAME, Served(CONTENT))
    store.path(pinned()).parent.mkdir(parents=True)
    store.path(pinned()).write_bytes(b"something else")
    progress = Recorder()
    assert fetch(pinned(), store, progress=progress, options=quick(hub)).read_bytes() == CONTENT
    assert progress.said("tiny.gguf.damaged")
    assert store.path(pinned()).with_name("tiny.gguf.damaged").read_bytes() == b"something else"


def test_a_person_s_own_file_is_used_where_it_lies(store, tmp_path):
    own = tmp_path / "own.gguf"
    own.write_bytes(CONTENT)
    assert fetch(ModelFile(id="own", path=str(own)), store, offline=True) == own
    with pytest.raises(ModelError, match=r"no file .*gone\.gguf"):
        fetch(ModelFile(id="gone", path=str(tmp_path / "gone.gguf")), store)
    assert not store.root.exists()


# --- offline ----------------------------------------------------------------------------------------------------------


def test_offline_says_what_is_missing_and_what_forbids_it(hub, store, monkeypatch):
    from huggingface_hub import constants

    with pytest.raises(ModelError, match=r"tiny is not here.*--offline") as caught:
        fetch(UNPINNED, store, offline=True, options=quick(hub))
    assert "models pull tiny" in caught.value.hint
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="HF_HUB_OFFLINE"):
        fetch(UNPINNED, store, options=quick(hub))
    assert hub.requests == [] and not store.root.exists()


# --- interruptions ----------------------------------------------------------------------------------------------------


def test_a_dropped_connection_goes_on_from_where_it_was(hub, store):
    hub.add(NAME, Served(CONTENT, drops=[100_000, 50_000]))
    progress = Recorder()
    options = quick(hub)
    assert fetch(pinned(), store, progress=progress, options=options).read_bytes() == CONTENT
    assert ranges(hub) == [0, 100_000, 150_000]
    assert hub.sent == len(CONTENT) == progress.done
    assert options.sleep == [1, 2]


def test_a_stalled_connection_is_given_up_and_gone_on_with(hub, store):
    hub.add(NAME, Served(CONTENT, stalls=[65_536]))
    progress = Recorder()
    assert fetch(pinned(), store, progress=progress, options=quick(hub)).read_bytes() == CONTENT
    assert ranges(hub) == [0, 65_536] and progress.said("sends nothing any more")


def test_attempts_are_bounded_and_the_part_is_kept_for_the_next_run(hub, store):
    served = hub.add(NAME, Served(CONTENT, drops=[1000] * 4))
    with pytest.raises(NetworkError) as caught:
        fetch(pinned(), store, options=quick(hub))
    assert "kept" in caught.value.hint
    assert store.status(pinned()).bytes == 4000
    served.drops = []
    progress = Recorder()
    assert fetch(pinned(), store, progress=progress, options=quick(hub)).read_bytes() == CONTENT
    assert progress.starts == [(len(CONTENT), 4000)] and hub.sent == len(CONTENT)


def test_headway_earns_new_attempts(hub, store):
    content = random.Random(2).randbytes(7 << 20)
    hub.add(NAME, Served(content, drops=[1 << 20] * 6, block=1 << 18))
    assert fetch(pinned(content), store, options=quick(hub, attempts=2)).read_bytes() == content


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(0, 40_000), max_size=6), ignore=st.booleans(), kept=st.integers(0, 50_000))
def test_any_sequence_of_interruptions_gives_the_same_file(hub, tmp_path_factory, cuts, ignore, kept):
    content = CONTENT[:50_000]
    store = Store(tmp_path_factory.mktemp("store"))
    hub.add(NAME, Served(content, drops=list(cuts), ignore_range=ignore, block=700))
    if kept:
        store.part(UNPINNED).parent.mkdir(parents=True)
        store.part(UNPINNED).write_bytes(content[:kept])
    path = fetch(pinned(content), store, options=quick(hub, attempts=9))
    assert path.read_bytes() == content
    assert left_over(store) == ["tiny.gguf", "tiny.gguf.json"]


def test_a_complete_part_needs_no_bytes_any_more(hub, store):
    hub.add(NAME, Served(CONTENT))
    store.part(pinned()).parent.mkdir(parents=True)
    store.part(pinned()).write_bytes(CONTENT)
    assert fetch(pinned(), store, options=quick(hub)).read_bytes() == CONTENT
    assert hub.of("GET") == []


# --- servers that lie -------------------------------------------------------------------------------------------------


def test_a_server_that_ignores_the_range_costs_bytes_but_not_the_file(hub, store):
    hub.add(NAME, Served(CONTENT, drops=[100_000], ignore_range=True))
    assert fetch(pinned(), store, options=quick(hub)).read_bytes() == CONTENT


def test_bytes_beyond_the_announced_size_are_not_taken(hub, store):
    hub.add(NAME, Served(CONTENT, extra=b"and more"))
    assert fetch(pinned(), store, options=quick(hub)).read_bytes() == CONTENT


def test_another_size_is_found_before_any_byte_is_fetched(hub, store):
    hub.add(NAME, Served(CONTENT, size=len(CONTENT) - 1))
    with pytest.raises(ModelError, match="another file"):
        fetch(pinned(), store, options=quick(hub))
    assert hub.of("GET") == [] and left_over(store) == []


def test_another_hash_is_found_before_any_byte_is_fetched(hub, store):
    hub.add(NAME, Served(CONTENT[::-1]))
    with pytest.raises(ModelError, match="SHA-256"):
        fetch(pinned(), store, options=quick(hub))
    assert hub.of("GET") == []


@pytest.mark.parametrize("length", [len(CONTENT) - 5, len(CONTENT) + 5])
def test_a_transfer_of_another_length_than_announced_is_refused(hub, store, length):
    hub.add(NAME, Served(CONTENT, length=length))
    with pytest.raises(ModelError, match="announced"):
        fetch(pinned(), store, options=quick(hub))
    assert store.status(pinned()).state == "missing"


def test_a_file_that_ends_before_our_part_does_is_told_and_the_part_is_kept(hub, store):
    hub.add(NAME, Served(CONTENT, length=1000))
    store.part(pinned()).parent.mkdir(parents=True)
    store.part(pinned()).write_bytes(CONTENT[:2000])
    with pytest.raises(ModelError, match="ends before byte 2000"):
        fetch(pinned(), store, options=quick(hub))
    assert store.status(pinned()).bytes == 2000


def test_wrong_bytes_once_are_put_aside_and_fetched_again(hub, store):
    hub.add(NAME, Served(CONTENT, wrong=CONTENT[::-1], wrong_answers=1))
    progress = Recorder()
    assert fetch(pinned(), store, progress=progress, options=quick(hub)).read_bytes() == CONTENT
    assert ranges(hub) == [0, 0] and progress.said("tiny.gguf.part.damaged")


def test_wrong_bytes_twice_are_an_error_and_never_a_model(hub, store):
    hub.add(NAME, Served(CONTENT, wrong=CONTENT[::-1]))
    with pytest.raises(ModelError, match="damaged twice"):
        fetch(pinned(), store, options=quick(hub))
    assert store.status(pinned()).state == "missing" and len(hub.of("GET")) == 2


def test_a_part_of_another_file_is_found_out_by_the_hash_and_replaced(hub, store):
    hub.add(NAME, Served(CONTENT))
    store.part(pinned()).parent.mkdir(parents=True)
    store.part(pinned()).write_bytes(b"x" * 1000)
    assert fetch(pinned(), store, options=quick(hub)).read_bytes() == CONTENT
    assert ranges(hub) == [1000, 0]


def test_a_part_longer_than_the_file_is_put_aside(hub, store):
    hub.add(NAME, Served(CONTENT))
    store.part(pinned()).parent.mkdir(parents=True)
    store.part(pinned()).write_bytes(CONTENT + b"x")
    assert fetch(pinned(), store, options=quick(hub)).read_bytes() == CONTENT


def test_without_any_known_hash_nothing_is_fetched(hub, store):
    hub.add(NAME, Served(CONTENT, sha256=None))
    with pytest.raises(ModelError, match="no SHA-256") as caught:
        fetch(UNPINNED, store, options=quick(hub))
    assert "catalogue" in caught.value.hint and hub.of("GET") == []


# --- refusals ---------------------------------------------------------------------------------------------------------


def test_a_rate_limit_is_waited_for_as_long_as_the_server_asks(hub, store):
    hub.add(NAME, Served(CONTENT, statuses=[429, 429], retry_after="7"))
    options = quick(hub)
    assert fetch(pinned(), store, options=options).read_bytes() == CONTENT
    assert options.sleep == [7, 7]


def test_a_rate_limit_that_would_take_too_long_is_told_instead(hub, store):
    hub.add(NAME, Served(CONTENT, statuses=[429], retry_after="3600"))
    options = quick(hub)
    with pytest.raises(NetworkError, match=r"cannot download tiny: .*rate"):
        fetch(pinned(), store, options=options)
    assert options.sleep == []


def test_a_gated_repository_says_how_to_get_in_and_is_not_asked_again(hub, store):
    hub.add(NAME, Served(CONTENT, statuses=[403], error_code="GatedRepo"))
    with pytest.raises(ModelError) as caught:
        fetch(pinned(), store, options=quick(hub))
    assert "HF_TOKEN" in caught.value.hint and f"{hub.url}/owner/repo" in caught.value.hint
    assert len(hub.requests) == 1 and left_over(store) == []


def test_the_token_goes_to_the_hub_and_not_to_the_storage_it_redirects_to(hub, store, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    elsewhere = hub.url.replace("127.0.0.1", "localhost")
    hub.add(NAME, Served(CONTENT, redirect=f"{elsewhere}/cdn/blob"))
    hub.add("blob", Served(CONTENT, drops=[1000]))
    assert fetch(pinned(), store, options=quick(hub)).read_bytes() == CONTENT
    to_hub = [headers for _, path, headers in hub.requests if path.startswith("/owner")]
    to_storage = [headers for _, path, headers in hub.requests if path.startswith("/cdn")]
    assert all(headers["authorization"] == "Bearer hf_secret" for headers in to_hub)
    assert len(to_storage) == 2 and not any("authorization" in headers for headers in to_storage)
    assert to_storage[1]["range"] == "bytes=1000-"


def test_no_network_is_an_error_that_names_the_cause_and_the_next_step(store):
    with pytest.raises(NetworkError) as caught:
        fetch(pinned(), store, options=Options(endpoint="http://127.0.0.1:9", attempts=2, sleep=Waits()))
    assert "refused" in caught.value.message and "HF_ENDPOINT" in caught.value.hint
    assert left_over(store) == []


# --- the disk ---------------------------------------------------------------------------------------------------------


def test_too_little_space_is_told_before_any_byte_is_fetched(hub, store):
    hub.add(NAME, Served(CONTENT))
    with pytest.raises(ResourceError, match="300 kB are free") as caught:
        fetch(pinned(), store, options=quick(hub, free_space=lambda _: 300_001))
    assert "models.directory" in caught.value.hint and hub.of("GET") == []


def test_only_the_missing_bytes_need_space(hub, store):
    hub.add(NAME, Served(CONTENT))
    store.part(pinned()).parent.mkdir(parents=True)
    store.part(pinned()).write_bytes(CONTENT[:200_000])
    options = quick(hub, free_space=lambda _: 100_000, space_margin=0)
    assert fetch(pinned(), store, options=options).read_bytes() == CONTENT


def test_a_folder_that_cannot_be_made_is_told(hub, tmp_path):
    (tmp_path / "models").write_text("a file is in the way")
    with pytest.raises(ResourceError, match="cannot create"):
        fetch(pinned(), Store(tmp_path / "models"), options=quick(hub))


# --- other processes --------------------------------------------------------------------------------------------------

CHILD = """
import sys, resource
from pathlib import Path
from paceline.errors import PacelineError
from paceline.models.catalogue import ModelFile
from paceline.models.download import Options, fetch
from paceline.models.store import Store

class Say:
    def start(self, total, done): print(f"start {total} {done}", flush=True)
    def advance(self, count): pass
    def note(self, text): print(text, flush=True)
    def stop(self): pass

root, size, sha256, limit = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
if limit:
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
file = ModelFile(id="tiny", repository="owner/repo", file="tiny.gguf", bytes=size, sha256=sha256)
try:
    print("path", fetch(file, Store(root), progress=Say(), options=Options(space_margin=0)), flush=True)
except PacelineError as error:
    print("error", type(error).__name__, error, flush=True)
"""


def child(hub: Hub, store: Store, content: bytes, limit: int = 0) -> subprocess.Popen[str]:
    sha256 = hashlib.sha256(content).hexdigest()
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(store.root), str(len(content)), sha256, str(limit)],
        env={**os.environ, "HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": ""},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_download_killed_midway_goes_on_and_does_not_start_from_zero(hub, store):
    content = random.Random(3).randbytes(4 << 20)
    served = hub.add(NAME, Served(content, pause=0.003))
    process = child(hub, store, content)
    while store.status(pinned(content)).bytes < 1 << 20:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    kept = store.status(pinned(content))
    assert kept.state == "partial" and (1 << 20) <= kept.bytes < len(content)
    served.pause = 0.0
    assert fetch(pinned(content), store, options=quick(hub)).read_bytes() == content
    assert ranges(hub) == [0, kept.bytes]


def test_two_processes_at_once_fetch_the_file_once(hub, store):
    content = random.Random(4).randbytes(1 << 20)
    hub.add(NAME, Served(content, pause=0.003))
    processes = [child(hub, store, content) for _ in range(2)]
    said = [process.communicate(timeout=60)[0] for process in processes]
    assert all(f"path {store.path(pinned(content))}" in text for text in said)
    assert hub.sent == len(content) and len(hub.of("GET")) == 1


def test_a_process_that_waits_says_so_and_uses_what_the_other_has_made(hub, store):
    with store.lock(pinned()):
        process = child(hub, store, CONTENT)
        assert process.stdout.readline() == "waiting for another paceline that is downloading tiny\n"
        store.path(pinned()).parent.mkdir(parents=True)
        store.path(pinned()).write_bytes(CONTENT)
        store.verify(pinned())
    assert f"path {store.path(pinned())}" in process.communicate(timeout=60)[0]
    assert hub.requests == []


def test_a_model_that_is_being_downloaded_cannot_be_removed(hub, store):
    content = random.Random(5).randbytes(1 << 20)
    hub.add(NAME, Served(content, stalls=[100_000]))
    process = child(hub, store, content)
    while store.status(pinned(content)).state != "partial":
        assert process.poll() is None
        time.sleep(0.01)
    with pytest.raises(ModelError, match="another process is downloading tiny"):
        store.remove(pinned(content))
    process.kill()
    process.communicate()
    assert store.remove(pinned(content)) >= 0  # the lock died with the process


def test_a_disk_that_fills_up_midway_keeps_what_has_arrived(hub, store):
    content = random.Random(6).randbytes(1 << 20)
    hub.add(NAME, Served(content))
    said = child(hub, store, content, limit=300_000).communicate(timeout=60)[0]
    assert "error ResourceError the disk is full" in said and "are kept" in said
    assert store.status(pinned(content)).bytes == 300_000
    assert fetch(pinned(content), store, options=quick(hub)).read_bytes() == content
    assert ranges(hub) == [0, 300_000]


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 bytes"), (999, "999 bytes"), (491_400_064, "491 MB"), (4_683_073_536, "4.7 GB")]
)
def test_sizes_read_as_people_write_them(count, text):
    assert human(count) == text
