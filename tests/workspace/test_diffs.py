"""Diffs, taken apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.workspace.diffs import parsed, redacted
from paceline.workspace.redaction import redact

KEY = "ghp_" + "a1B2" * 9
HUNK = "@@ -1 +1 @@\n-a\n+b\n"


def names(diff):
    return [(each.name, each.old) for each in parsed(diff)]


@pytest.mark.parametrize(
    ("head", "meant"),
    [
        ("diff --git a/x.py b/x.py\nindex 1..2 100644\n--- a/x.py\n+++ b/x.py\n" + HUNK, ("x.py", "x.py")),
        ("diff --git a/a b b/a b\nindex 1..2\n--- a/a b\t\n+++ b/a b\t\n" + HUNK, ("a b", "a b")),
        ("diff --git a/a b b/a b\nold mode 100644\nnew mode 100755\n", ("a b", "a b")),
        ('diff --git "a/q\\"\\t\\001" "b/q\\"\\t\\001"\nnew file mode 100644\n', ('q"\t\1', 'q"\t\1')),
        ("diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n", ("y", "x")),
        ('diff --git a/x "b/\\\\"\nsimilarity index 100%\nrename from x\nrename to "\\\\"\n', ("\\", "x")),
        ("diff --git a/x b/x\ndeleted file mode 100644\nindex 1..0\n--- a/x\n+++ /dev/null\n" + HUNK, ("x", "x")),
        ("diff --git a/ b/b/ b/b b/ b/b/ b/b\nnew file mode 100644\n", (" b/b/ b/b", " b/b/ b/b")),
    ],
)
def test_names_are_read_however_git_writes_them(head, meant):
    assert names(head) == [meant]
    assert names(HUNK + head + head) == [meant, meant]


def test_a_file_whose_time_alone_differs_and_one_that_is_cut_are_left_out():
    assert names("diff --git a/x b/x\ndiff --git a/y b/y\nindex 1..2 100644\n--- a/y\n+++ b/y\n") == []


def test_hashes_are_left_out_and_all_else_is_kept():
    head = "diff --git a/x b/x\nold mode 100644\nnew mode 100755\nindex 1a..2b\n--- a/x\n+++ b/x\n"
    (found,) = parsed(f"* Unmerged path x\n{head}{HUNK}* Unmerged path y\n")
    assert found.head == head.replace("index 1a..2b\n", "")
    assert found.hunks == HUNK


def test_a_secret_is_replaced_wherever_it_stands_in_a_line():
    assert redacted(f"-{KEY}\n+x = {KEY}\n {KEY}\n") == redact(f" {KEY}\n x = {KEY}\n {KEY}\n").replace(
        " *", "-*", 1
    ).replace(" x", "+x")


@given(st.text(alphabet="-+ a\n\x0b\u2028\r"))
def test_what_has_no_secrets_stays_as_it_is(text):
    assert redacted(text) == text


@given(st.text())
def test_any_text_is_taken_apart(text):
    for each in parsed(f"diff --git a/{text}"):
        assert each.name or each.head
