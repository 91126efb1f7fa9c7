"""Of a repository's configuration only known words are taken, and Git is told of them in words of ours."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.workspace.formats import Format, format_of

REFTABLE = Format(reftable=True)


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ("", Format()),
        ("[core]\n\trepositoryformatversion = 1\n", Format()),
        ("[extensions]\n\tobjectformat = sha256\n\trefstorage = reftable\n", Format(long_hashes=True, reftable=True)),
        ("[Extensions]\nRefStorage=reftable ; so it is\n", REFTABLE),
        ('[ extensions ] refStorage = "reftable" # here\n', REFTABLE),
        ("[core][extensions]\n\trefstorage = reftable\n", REFTABLE),
        ("[extensions]\n\trefstorage = reftable\n\trefstorage = files\n", Format()),
        ("[extensions]\n\tworktreeConfig\n", Format(own_settings=True)),
        ("[extensions]\n\tworktreeConfig = TRUE\n", Format(own_settings=True)),
        ("[extensions]\n\tworktreeConfig = false\n", Format()),
        ("[extensions]\n\tobjectFormat = sha1\n\trefStorage = files\n", Format()),
        ("[extensions]\n\trefStorage = postgres\n", Format(unknown=True)),
        ("[extensions]\n\tobjectFormat = sha512\n", Format(unknown=True)),
        ("[extensions]\n\trefStorage\n", Format(unknown=True)),
        ("[extensions]\n\trefStorage = Reftable\n", Format(unknown=True)),
        ('[extensions "x"]\n\trefStorage = reftable\n', Format()),
        ("[alias]\n\trefStorage = reftable\n", Format()),
        ("[extensions]\n[core]\n\trefStorage = reftable\n", Format()),
        ("# [extensions]\n\trefStorage = reftable\n", Format()),
        ("[extensions]\n\t# refStorage = reftable\n", Format()),
    ],
)
def test_the_format_is_what_git_takes_it_for(config, found):
    assert format_of(config) == found


WORDS = st.sampled_from(
    [
        *("[extensions]", '[filter "x"]', "[core]", "\n", "\r", "\\", '"', "=", " ", "\t", "#", "\x85", "\0"),
        *("refstorage", "objectFormat", "worktreeConfig", "partialClone", "clean", "sshCommand"),
        *("reftable", "sha256", "true", "touch /x"),
    ]
)


@given(st.lists(WORDS, max_size=30).map("".join))
def test_nothing_of_a_configuration_reaches_git(config):
    known = {Format(one, other).config() for one in (False, True) for other in (False, True)}
    assert format_of(config).config() in known


def test_git_is_told_no_more_than_it_needs():
    assert Format().config() == "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
    assert Format(True, True, own_settings=True).config() == (
        "[core]\n\trepositoryformatversion = 1\n\tbare = false\n"
        "[extensions]\n\tobjectFormat = sha256\n\trefStorage = reftable\n"
    )
