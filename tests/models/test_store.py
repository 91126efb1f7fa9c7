"""The store: what is there is told without hashing, what is damaged is moved aside, nothing is lost silently."""

import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from paceline.errors import ModelError
from paceline.models.catalogue import ModelFile
from paceline.models.store import Store, replace, set_aside
from support.recorder import Recorder

CONTENT = b"GGUF" + bytes(range(256)) * 40
SHA = hashlib.sha256(CONTENT).hexdigest()
FILE = ModelFile(id="tiny", repository="owner/repo", file="q4/tiny.gguf", bytes=len(CONTENT), sha256=SHA)
UNKNOWN = ModelFile(id="tiny", repository="owner/repo", file="q4/tiny.gguf")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "models")


def put(store: Store, content: bytes = CONTENT) -> Path:
    path = store.path(FILE)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_asking_about_a_model_creates_nothing(store):
    assert store.status(FILE).state == "missing"
    assert store.list() == []
    assert not store.root.exists()


def test_repositories_of_other_owners_have_other_folders(store):
    paths = {store.path(ModelFile(id="x", repository=name, file="m.gguf")) for name in ("a/b-c", "a-b/c", "a.b/c")}
    assert len(paths) == 3


def test_a_file_placed_by_hand_is_hashed_once_and_then_ready(store):
    path = put(store)
    assert store.status(FILE).state == "unverified"
    progress = Recorder()
    assert store.verify(FILE, progress).ok
    assert progress.done == len(CONTENT)
    assert (store.status(FILE).state, store.status(FILE).bytes) == ("ready", len(CONTENT))
    assert store.manifest(FILE).sha256 == SHA and path.read_bytes() == CONTENT


def test_a_file_that_nobody_knows_a_hash_for_is_accepted_as_it_is(store):
    put(store)
    outcome = store.verify(UNKNOWN)
    assert outcome.ok and outcome.expected == ""
    assert store.status(UNKNOWN).state == "ready"


def test_a_file_touched_since_it_was_verified_is_not_taken_on_trust(store):
    path = put(store)
    store.verify(FILE)
    os.utime(path, ns=(1, 1))
    assert store.status(FILE).state == "unverified"
    path.write_bytes(CONTENT[:-1])
    assert store.status(FILE).state == "unverified"


def test_a_verified_file_is_not_ready_for_who_wants_other_bytes(store):
    put(store)
    store.verify(UNKNOWN)
    other = ModelFile(id="tiny", repository="owner/repo", file="q4/tiny.gguf", sha256="0" * 64)
    assert store.status(other).state == "unverified"


def test_a_damaged_file_is_moved_aside_and_never_deleted(store):
    for number in range(1, 3):
        path = put(store, CONTENT[:-1] + b"!")
        outcome = store.verify(FILE)
        assert not outcome.ok and outcome.expected == SHA
        assert outcome.moved_to.name == ("tiny.gguf.damaged" if number == 1 else "tiny.gguf.damaged2")
        assert outcome.moved_to.read_bytes() == CONTENT[:-1] + b"!"
        assert not path.exists() and store.status(FILE).state == "missing"


def test_damage_is_found_by_the_manifest_where_the_catalogue_knows_no_hash(store):
    path = put(store)
    store.verify(UNKNOWN)
    path.write_bytes(CONTENT[::-1])
    assert not store.verify(UNKNOWN).ok


def test_a_person_s_own_file_is_used_in_place_and_never_moved_or_removed(store, tmp_path):
    own = tmp_path / "own.gguf"
    own.write_bytes(CONTENT)
    file = ModelFile(id="own", path=str(own), sha256="0" * 64)
    assert store.status(file).state == "ready" and store.path(file) == own
    outcome = store.verify(file)
    assert not outcome.ok and outcome.moved_to is None
    with pytest.raises(ModelError, match="your own file"):
        store.remove(file)
    assert own.read_bytes() == CONTENT and not store.root.exists()


def test_a_broken_manifest_counts_as_none(store):
    path = put(store)
    store.verify(FILE)
    path.with_name("tiny.gguf.json").write_text("{ half a manif")
    assert store.status(FILE).state == "unverified" and store.manifest(FILE) is None


def test_an_unfinished_download_is_told_with_its_size(store):
    put(store).replace(store.part(FILE))
    assert (store.status(FILE).state, store.status(FILE).bytes) == ("partial", len(CONTENT))


def test_the_list_tells_finished_and_unfinished_models(store):
    put(store)
    store.verify(FILE)
    half = ModelFile(id="half", repository="owner/repo-two", file="half.gguf")
    store.part(half).parent.mkdir(parents=True)
    store.part(half).write_bytes(b"12345")
    assert [(item.repository, item.file, item.state, item.bytes) for item in store.list()] == [
        ("owner/repo", "q4/tiny.gguf", "ready", len(CONTENT)),
        ("owner/repo-two", "half.gguf", "partial", 5),
    ]


def test_removing_frees_the_model_and_all_that_lies_beside_it(store):
    put(store, b"bad")
    store.verify(FILE)
    put(store)
    store.verify(FILE)
    store.part(FILE).write_bytes(b"123")
    set_aside(store.part(FILE))
    store.part(FILE).write_bytes(b"123")
    store.wheels(FILE).mkdir()
    assert store.remove(FILE) >= len(CONTENT) + 9
    assert store.status(FILE).state == "missing"
    assert not (store.root / "owner--repo").exists()
    assert store.remove(FILE) == 0


def test_verifying_what_is_not_there_says_how_to_get_it(store):
    with pytest.raises(ModelError) as caught:
        store.verify(FILE)
    assert "models pull tiny" in caught.value.hint


def test_two_who_write_the_same_small_file_do_not_meet(tmp_path):
    path = tmp_path / "config.toml"
    path.write_text("old")
    path.chmod(0o600)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda n: replace(path, bytes([65 + n]) * 1000), range(4)))
    content = path.read_bytes()
    assert content == content[:1] * 1000
    assert path.stat().st_mode & 0o777 == 0o600
    assert [other.name for other in tmp_path.iterdir()] == ["config.toml"]
