"""What `paceline` opens, and what it says where that is not there."""

import pytest

from paceline.chat.store import Store
from paceline.commands import chat as command
from paceline.config import Config, EngineConfig
from paceline.daemon import selection
from paceline.errors import InputError, ResourceError
from support.written_turns import user

HERE = "/work"


@pytest.fixture
def file(tmp_path):
    return tmp_path / "chat.db"


def begun(file):
    store = Store(file)
    session = store.create(HERE)
    store.add(session.id, user("Hi"))
    store.close()
    return session.id


def test_the_last_session_of_the_folder_or_one_by_name_or_a_new_one(file):
    known = begun(file)
    store = command.opened(file)
    assert command.wanted(store, HERE, last=True, session="") == known
    assert command.wanted(store, "/elsewhere", last=False, session=known[:5]) == known
    assert command.wanted(store, HERE, last=False, session="") == ""


@pytest.mark.parametrize("how", [{"last": True, "session": ""}, {"last": False, "session": "abcdef"}])
def test_a_session_that_is_not_there_is_said(file, how):
    with pytest.raises(InputError, match=r"there is no|no session"):
        command.wanted(command.opened(file), HERE, **how)


@pytest.mark.parametrize("by_name", [True, False])
@pytest.mark.parametrize("state", ["damaged", "unreadable"])
def test_what_has_become_of_the_sessions_is_said_where_one_of_them_is_asked_for(file, state, by_name):
    known = begun(file)
    if state == "damaged":
        file.write_bytes(b"no database at all" * 500)
    else:
        file.unlink()
        file.mkdir()
    store = command.opened(file)
    with pytest.raises(ResourceError) as raised:
        command.wanted(store, HERE, last=not by_name, session=known if by_name else "")
    assert ("chat.db.damaged-" if state == "damaged" else command.NOT_KEPT) in raised.value.message
    assert raised.value.hint


class Files:
    """A store of models, of which the files are in these states."""

    def __init__(self, *states):
        self.files = range(len(states))
        self._states = states

    def status(self, file):
        return type("Status", (), {"state": self._states[file]})


@pytest.mark.parametrize(
    ("states", "is_set_up"),
    [(("ready", "ready"), True), (("unverified", "ready"), True), (("ready", "partial"), False), (("missing",), False)],
)
def test_models_that_are_there_can_answer_verified_or_not(monkeypatch, states, is_set_up):
    files = Files(*states)
    monkeypatch.setattr(selection, "pair_files", lambda _: files)
    monkeypatch.setattr(selection, "store_of", lambda _: files)
    assert command.is_set_up(Config()) is is_set_up


def test_a_server_elsewhere_can_answer_without_models():
    assert command.is_set_up(Config(engine=EngineConfig(url="http://127.0.0.1:9")))
