"""Closing tags that nobody needs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.prompts.trim import trim


def trimmed(marked, text, language="html"):
    before, after = marked.split("|")
    return trim(before, after, text, language)


@pytest.mark.parametrize(
    ("marked", "text", "expected"),
    [
        ("<body>\n  <h1>Hi</h1>\n  |\n</body>\n", "\n</html>", ""),
        ("<body>\n  |\n</body>\n", "<p>a</p>\n</body>\n</html>", "<p>a</p>"),
        ("<ul>\n  |\n</ul>\n", "<li>a</li>\n</ul>\n<p>b", "<li>a</li>"),
        ("<ul>\n  |\n", "<li>a</li>\n</ul>", "<li>a</li>\n</ul>"),
        ("<ul>\n  <li>|\n</ul>\n", "a</li>", "a</li>"),
        ("<div>\n  <div>\n    |\n</div>\n", "<br>\n  </div>\n</div>", "<br>\n  </div>"),
        ("<p>\n  |\n</p>\n", "<", ""),
        ("<p>\n  |\n</p>\n", "/>", ""),
        ('<img src="a"|\n', " />", " />"),
        ("<!-- <ul> -->\n|\n", "<p>a</p></ul>", "<p>a</p>"),
        ("<p>\n<!-- <ul> |\n</p>\n", "</ul> -->", "</ul> -->"),
        ("<ul>\n  <li>a\n  |\n</ul>\n", "<li>b", "<li>b"),
    ],
)
def test_a_tag_that_closes_nothing_is_left_out(marked, text, expected):
    assert trimmed(marked, text) == expected


@pytest.mark.parametrize("language", ["tsx", "typescriptreact", "vue", "svelte", "xml"])
def test_the_relatives_of_html_have_tags_too(language):
    marked = "<A onClick={() => f(1)}>\n  <>\n    |\n  </>\n</A>\n"
    assert trimmed(marked, "<B x={a > b} />\n  </>\n</A>", language) == "<B x={a > b} />"


def test_what_is_no_tag_is_left_alone():
    assert trimmed("if (a < b && c > d) {\n  |\n}\n", "return a < b;", "typescriptreact") == "return a < b;"
    assert trimmed("<p>\n|\n</p>\n", "x\n</html>", "python") == "x\n</html>"


def test_a_tag_may_close_what_is_too_far_away_to_be_seen():
    before = "<main>\n" + "<p>text</p>\n" * 1000
    assert trimmed(f"{before}|\n", "<p>a</p>\n</main>") == "<p>a</p>\n</main>"


NAMES = st.sampled_from(["ul", "li", "p", "div"])


@given(st.lists(NAMES, max_size=4), st.lists(st.tuples(NAMES, st.booleans()), max_size=6))
def test_what_is_open_around_the_cursor_can_still_be_closed_after_it(names, tags):
    before = "".join(f"<{name}>\n" for name in names)
    after = "\n" + "".join(f"</{name}>\n" for name in reversed(names))
    text = trim(before, after, "".join(f"</{name}>" if closes else f"<{name}>" for name, closes in tags), "html")
    depth = 0
    for part in text.split("<")[1:]:
        depth += -1 if part.startswith("/") else 1
    for closed in ("</ul>", "</li>", "</p>", "</div>"):
        assert text.count(closed) <= text.count(closed.replace("/", ""))
