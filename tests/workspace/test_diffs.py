"""Diffs, taken apart."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.workspace.diffs import listed, parsed, redacted
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


@pytest.mark.parametrize("behind", ["DB_PASSWORD=hunter2hunter2", "MIIEpAIBAAKCAQEA", "def f():"])
def test_the_line_that_git_says_behind_the_numbers_of_a_hunk_is_cut(behind):
    hunk = f"@@ -5,3 +5,3 @@ {behind}\n a\n-b\n+c @@ -1 +1 @@ d\n"
    assert redacted(hunk) == hunk.replace(f" {behind}", "")
    (found,) = parsed("diff --git a/x b/x\n--- a/x\n+++ b/x\n" + hunk)
    assert found.hunks == redacted(hunk)


LINE = "MIIEpAIBAAKCAQEA7bq1" + "x9Kz" * 11


@pytest.mark.parametrize("kind", ["RSA PRIVATE", "PRIVATE", "OPENSSH PRIVATE", "ENCRYPTED PRIVATE"])
@pytest.mark.parametrize("lines", [["ab12CD=="], [LINE, "abcd"], [LINE, "+" + LINE, "-" + LINE, "Q="]])
def test_the_end_of_a_key_whose_head_is_above_the_hunk_is_replaced(kind, lines):
    lines = [line if line[0] in "+-" else " " + line for line in lines]
    hunk = "\n".join(["@@ -20,5 +20,5 @@ x", *lines, f" -----END {kind} KEY-----", "-end", "+END", ""])
    hidden = [line[0] + "*" * (len(line) - 1) for line in lines]
    first = "@@ -1 +1 @@\n-word\n+other\n"
    assert redacted(first + hunk) == first + "\n".join(["@@ -20,5 +20,5 @@", *hidden, *hunk.split("\n")[-4:]])


def test_a_key_that_begins_in_one_hunk_hides_nothing_of_the_next():
    begins = f"@@ -1,2 +1,2 @@\n -----BEGIN PRIVATE KEY-----\n-{LINE}\n+{LINE}\n"
    ends = "@@ -20,2 +20,2 @@\n ab12\n -----END PRIVATE KEY-----\n-a word\n+another word\n"
    assert LINE not in redacted(begins + ends)
    assert redacted(begins + ends) == redacted(begins) + redacted(ends)
    assert redacted(ends) == ends.replace("ab12", "****")


def test_names_in_front_of_a_diff_are_listed_also_those_that_it_does_not_reach():
    front = (
        ":100644 100644 1a2b3c4 0000000 M\ta b\n:100644 000000 1a 00 D\tsub/gone\n"
        ':100644 100644 1a 1a R100\told\tnew\n:000000 100644 00 1a A\t"q\\"\\t"\n'
    )
    meant = ["a b", "sub/gone", "new", 'q"\t']
    assert listed(front) == meant
    assert (
        listed(f"{front}\ndiff --git a/a b b/a b\n{HUNK}+:100644 100644 1 0 M\tx\n:100644 100644 1 0 M\tx\n") == meant
    )


@given(st.text(alphabet="-+ a\n\x0b\u2028\r"))
def test_what_has_no_secrets_stays_as_it_is(text):
    assert redacted(text) == text


@given(st.text())
def test_any_text_is_taken_apart(text):
    for each in parsed(f"diff --git a/{text}"):
        assert each.name or each.head
