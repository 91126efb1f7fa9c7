"""`paceline models`: what is here, and everything that can be done with it."""

import hashlib
import json
import os
import struct
import sys

import pytest

from paceline import console
from paceline.errors import ExitCode
from support.gguf_bytes import TEXT, File, model, pair
from support.home import Home
from support.http_server import Served, running_hub
from support.tiny_model import write_tiny_model

IN_STORE = "owner--repo/tiny.gguf"


@pytest.fixture
def home(tmp_path, monkeypatch, capsys):
    return Home(tmp_path, monkeypatch, capsys)


@pytest.fixture
def hub():
    with running_hub() as running:
        yield running


def content(home: Home) -> bytes:
    return write_tiny_model(home.root / "upload.gguf").read_bytes()


def pinned(home: Home) -> bytes:
    """The model "tiny" of the catalogue, which is to have these bytes."""
    data = content(home)
    home.add(
        id="tiny", repository="owner/repo", file="tiny.gguf", bytes=len(data), sha256=hashlib.sha256(data).hexdigest(),
        licence="MIT",
    )  # fmt: skip
    return data


def place(home: Home, data: bytes, name: str = IN_STORE):
    path = home.store / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def listed(home: Home) -> dict:
    return json.loads(home.run("models", "list", "--json").out)


def by_id(entries: list[dict]) -> dict[str, dict]:
    return {entry["id"]: entry for entry in entries}


# --- list -------------------------------------------------------------------------------------------------------------


def test_the_list_shows_sizes_licences_and_for_whom(home):
    ended = home.run("models", "list")
    assert ended.code == 0 and ended.err == ""
    for part in ("qwen2.5-coder-0.5b-instruct-q4_k_m  491 MB", "Apache-2.0", "qwen2.5-coder-1.5b", "graphics card"):
        assert part in ended.out, part


def test_the_list_tells_what_is_here_and_what_is_in_use(home):
    home.tiny_pair()
    home.choose()
    whole = listed(home)
    models, pairs = by_id(whole["models"]), by_id(whole["pairs"])
    assert [models[f"tiny-{role}"]["in_use"] for role in ("target", "draft")] == ["target", "draft"]
    assert models["tiny-target"]["state"] == "ready" and pairs["tiny"]["in_use"] and pairs["tiny"]["here"]
    other = models["qwen2.5-coder-1.5b-instruct-q4_k_m"]
    assert other["state"] == "missing" and other["in_use"] == "" and other["bytes"] == 1_117_320_768
    assert "in use" in home.run("models", "list").out


def test_the_list_has_files_of_the_store_that_no_catalogue_names(home):
    place(home, content(home), "some--where/else.gguf")
    (found,) = listed(home)["other"]
    assert found["name"] == "some/where:else.gguf" and found["state"] == "unverified"
    assert "some/where:else.gguf" in home.run("models", "list").out


def test_the_list_has_the_configured_path_too(home):
    target, _ = home.tiny_pair()
    other = target.rename(home.root / "own.gguf")
    home.write(f'[models]\ntarget = "{other}"\n')
    assert by_id(listed(home)["models"])["own"]["in_use"] == "target"


def test_an_unfinished_download_shows_how_much_is_here(home):
    data = pinned(home)
    place(home, data[:100_000], IN_STORE + ".part")
    assert "100 kB of it" in home.run("models", "list").out


def test_a_configured_pair_that_nobody_knows_does_not_hide_the_list(home):
    home.choose("tinny")
    ended = home.run("models", "list")
    assert ended.code == 0 and "tinny" in ended.err and "qwen2.5-coder-1.5b" in ended.out


def test_a_broken_configuration_is_an_error(home):
    home.write("models = 3")
    assert home.run("models", "list").failed(ExitCode.CONFIG)


# --- pull and path ----------------------------------------------------------------------------------------------------


def test_pulling_a_model_prints_its_path_and_nothing_else(home, hub):
    data = pinned(home)
    hub.add("owner/repo:tiny.gguf", Served(data))
    home.use(hub)
    ended = home.run("models", "pull", "tiny")
    assert (
        ended.code == 0 and ended.out == f"{home.store / IN_STORE}\n" and (home.store / IN_STORE).read_bytes() == data
    )
    home.forbid_network()
    assert home.run("models", "pull", "tiny").out == ended.out
    assert home.run("models", "path", "tiny").out == ended.out


def test_pulling_a_pair_gets_both(home, hub):
    pinned(home)
    hub.add("owner/repo:tiny.gguf", Served(content(home)))
    hub.add("owner/repo:draft.gguf", Served(content(home)))
    home.add(id="tiny-draft", repository="owner/repo", file="draft.gguf")
    home.add_pair(id="both", target="tiny", draft="tiny-draft")
    home.use(hub)
    assert len(home.run("models", "pull", "both").out.splitlines()) == 2
    assert len(home.run("models", "path", "both").out.splitlines()) == 2


def test_any_file_of_the_hub_can_be_pulled_by_its_place(home, hub):
    hub.add("owner/repo:tiny.gguf", Served(content(home)))
    home.use(hub)
    assert home.run("models", "pull", "owner/repo:tiny.gguf").code == 0
    assert home.run("models", "path", "owner/repo:tiny.gguf").code == 0


def test_pulling_where_downloads_are_forbidden_names_who_forbids_it(home):
    pinned(home)
    ended = home.run("models", "pull", "tiny")
    assert ended.failed(ExitCode.MODEL) and "HF_HUB_OFFLINE" in ended.err
    home.write("[models]\noffline = true\n")
    ended = home.run("models", "pull", "tiny")
    assert ended.failed(ExitCode.MODEL) and str(home.settings) in ended.err and "models pull" not in ended.err


def test_what_the_hub_does_not_have_is_an_error(home, hub):
    home.use(hub)
    assert home.run("models", "pull", "owner/repo:none.gguf").failed(ExitCode.MODEL)


@pytest.mark.parametrize("name", ["qwen2.5-coder-0.5", "no-such-thing", "a/b:../c.gguf", "\0", "/none.gguf", ""])
@pytest.mark.parametrize("verb", ["pull", "path", "info", "verify", "rm"])
def test_a_name_that_is_nothing_is_an_error_with_a_hint(home, verb, name):
    assert home.run("models", verb, name).failed(ExitCode.MODEL)


def test_near_names_of_pairs_and_models_are_offered(home):
    assert "did you mean qwen2.5-coder-0.5b" in home.run("models", "pull", "qwen2.5-coder-0.5").err


def test_the_path_of_what_is_not_here_is_an_error_with_the_command_that_gets_it(home):
    pinned(home)
    ended = home.run("models", "path", "tiny")
    assert ended.failed(ExitCode.MODEL) and ended.out == "" and "paceline models pull tiny" in ended.err
    assert "pull owner/repo:other.gguf" in home.run("models", "path", "owner/repo:other.gguf").err


# --- info -------------------------------------------------------------------------------------------------------------


def test_info_tells_what_the_header_says(home):
    path = write_tiny_model(home.root / "some.gguf", context=512)
    facts = json.loads(home.run("models", "info", str(path), "--json").out)
    assert facts["architecture"] == "llama" and facts["context"] == 512 and facts["quantisation"] == "F32"
    assert facts["vocabulary"] == 278 and facts["layers"] == 1 and facts["chat_template"] is True
    assert facts["kv_bytes_per_token"] == 2 * 2 * 16 * 2  # key and value, 2 heads of 16, 2 bytes each
    shown = home.run("models", "info", str(path)).out
    assert "512 tokens" in shown and "F32" in shown and "llama" in shown


def test_info_finds_the_infilling_markers_in_the_vocabulary(home):
    with_markers = write_tiny_model(home.root / "with.gguf")
    without = write_tiny_model(home.root / "without.gguf", fim=False)
    assert json.loads(home.run("models", "info", str(with_markers), "--json").out)["fim"] == [
        "prefix",
        "suffix",
        "middle",
    ]
    assert json.loads(home.run("models", "info", str(without), "--json").out)["fim"] == []


def test_info_works_by_name_and_next_to_a_broken_configuration(home):
    target, _ = home.tiny_pair()
    assert home.run("models", "info", "tiny-target").code == 0
    home.write("nonsense")
    assert home.run("models", "info", str(target)).code == 0


def test_the_licence_is_the_catalogue_s_where_the_file_says_none(home):
    path = place(home, pinned(home))
    for words in (["tiny"], [str(path)]):
        assert "Apache" not in home.run("models", "info", *words).out
        assert "licence          MIT, by the catalogue" in home.run("models", "info", *words).out
        facts = json.loads(home.run("models", "info", *words, "--json").out)
        assert (facts["licence"], facts["licence_from"]) == ("MIT", "catalogue")
    other = write_tiny_model(home.root / "other.gguf")
    assert "not said" in home.run("models", "info", str(other)).out
    facts = json.loads(home.run("models", "info", str(other), "--json").out)
    assert (facts["licence"], facts["licence_from"]) == (None, None)


def test_info_of_what_is_not_here_names_the_command_that_gets_it(home):
    pinned(home)
    ended = home.run("models", "info", "tiny")
    assert ended.failed(ExitCode.MODEL) and "paceline models pull tiny" in ended.err


def test_what_a_stranger_wrote_into_a_header_does_not_steer_the_terminal(home):
    file = model()
    file.metadata[1] = pair("general.name", TEXT, "a\x1b]52;c;bad\x07b\nc\x9b2Jd" + "x" * 10_000)
    path = home.root / "rude.gguf"
    path.write_bytes(file.build())
    for options in ((), ("--json",)):
        out = home.run("models", "info", str(path), *options).out
        assert "\x1b" not in out and "\x9b" not in out and "bad" not in out and len(out) < 3000


def test_a_header_that_contradicts_itself_still_shows_the_rest(home):
    file = model(head_count=-1 & 0xFFFFFFFF)
    path = home.root / "odd.gguf"
    path.write_bytes(file.build())
    ended = home.run("models", "info", str(path))
    assert ended.code == 0 and "damaged" in ended.out and "A tiny model" in ended.out


def test_a_file_without_an_architecture_is_shown_as_far_as_it_goes(home):
    path = home.root / "bare.gguf"
    path.write_bytes(File().build())
    assert home.run("models", "info", str(path)).code == 0


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GGUF",
        b"not a model",
        b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1 << 60),
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1 << 63),
        b"GGUF" + struct.pack("<IQQ", 99, 0, 0),
    ],
    ids=["empty", "magic only", "text", "huge counts", "huge key", "version 99"],
)
def test_a_broken_or_crafted_file_is_an_error_with_a_hint(home, data):
    path = home.root / "bad.gguf"
    path.write_bytes(data)
    assert home.run("models", "info", str(path)).failed(ExitCode.MODEL)


def test_what_is_no_file_is_refused_without_waiting_for_it(home):
    fifo = home.root / "fifo.gguf"
    os.mkfifo(fifo)
    for path in (fifo, home.root, "/dev/zero"):
        assert home.run("models", "info", str(path)).failed(ExitCode.MODEL)


# --- verify -----------------------------------------------------------------------------------------------------------


def test_a_good_file_verifies(home):
    place(home, pinned(home))
    ended = home.run("models", "verify", "tiny")
    assert ended.code == 0 and "tiny: ok" in ended.out
    assert by_id(listed(home)["models"])["tiny"]["state"] == "ready"


def test_a_damaged_file_is_moved_aside_and_all_others_are_still_verified(home):
    data = pinned(home)
    place(home, data[:-1] + b"!")
    place(home, data, "other--repo/x.gguf")
    ended = home.run("models", "verify")
    assert ended.failed(ExitCode.MODEL) and "paceline models pull tiny" in ended.err
    assert "tiny: damaged" in ended.out and "x: nothing is known" in ended.out
    assert not (home.store / IN_STORE).exists() and (home.store / (IN_STORE + ".damaged")).exists()


def test_with_nothing_here_there_is_nothing_to_verify(home):
    ended = home.run("models", "verify")
    assert ended.code == 0 and ended.out == "" and "no models are here" in ended.err


def test_a_model_that_is_not_here_cannot_be_verified(home):
    pinned(home)
    assert home.run("models", "verify", "tiny").failed(ExitCode.MODEL)


# --- rm ---------------------------------------------------------------------------------------------------------------


def test_removing_says_how_much_was_freed(home):
    data = pinned(home)
    path = place(home, data)
    ended = home.run("models", "rm", "tiny", "--yes")
    assert ended.code == 0 and f"({len(data)} bytes)" in ended.out and not path.exists()


def test_removing_asks_and_takes_no_answer_for_no(home, monkeypatch):
    path = place(home, pinned(home))
    ended = home.run("models", "rm", "tiny")
    assert ended.failed(ExitCode.FAILURE) and "--yes" in ended.err and path.exists()
    monkeypatch.setattr(console, "can_ask", lambda: True)
    for answer in ("\n", "n\n", ""):
        ended = home.run("models", "rm", "tiny", stdin=answer)
        assert ended.code == 0 and "[y/N]" in ended.err and path.exists()
    assert home.run("models", "rm", "tiny", stdin="what?\ny\n").code == 0 and not path.exists()


def test_removing_says_that_a_model_is_in_use(home):
    place(home, pinned(home))
    home.add_pair(id="solo", target="tiny")
    home.choose("solo")
    assert "in use as target" in home.run("models", "rm", "tiny").err


def test_removing_takes_an_unfinished_download_too(home):
    path = place(home, pinned(home)[:1000], IN_STORE + ".part")
    assert "1000 bytes" in home.run("models", "rm", "tiny", "--yes").out and not path.exists()


def test_a_persons_own_file_is_never_removed(home):
    target, _ = home.tiny_pair()
    for name in ("tiny-target", "tiny", str(target)):
        assert home.run("models", "rm", name, "--yes").failed(ExitCode.MODEL) and target.exists()


def test_what_is_not_here_cannot_be_removed(home):
    pinned(home)
    assert home.run("models", "rm", "tiny", "--yes").failed(ExitCode.MODEL)


# --- start-up ---------------------------------------------------------------------------------------------------------


def test_asking_for_a_path_loads_no_engine(home):
    import subprocess

    place(home, pinned(home))
    program = "import sys; from paceline.cli import cli; cli(['models', 'path', 'tiny'], standalone_mode=False)"
    program += "; sys.exit(any(name in sys.modules for name in ('llama_cpp', 'textual', 'numpy', 'httpx', 'rich')))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(home.store / IN_STORE)


def test_every_command_and_option_explains_itself(home):
    from paceline.cli import cli

    def walk(command, path):
        assert command.help, path
        for parameter in command.params:
            assert getattr(parameter, "help", None) or parameter.param_type_name == "argument", (path, parameter.name)
        for name, child in getattr(command, "commands", {}).items():
            walk(child, [*path, name])

    for name in ("setup", "doctor", "models"):
        walk(cli.get_command(None, name), [name])
