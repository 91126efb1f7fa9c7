"""Paceline in a Neovim that has inline completion of its own (0.12 and later), with that display and without it."""

import pytest

SIGNATURE = "def area(width, height):"
BODY = ['    """The area of a rectangle."""', "    return width * height"]
WHOLE = "\n".join(["width, height):", *BODY])
NEOVIMS_OWN = "nvim.lsp.inline_completion"


@pytest.fixture
def native(newer_neovim, script):
    """Neovim with its own display, in insert mode behind `def area(`, with the suggestion on the screen."""
    newer_neovim.space = NEOVIMS_OWN
    newer_neovim.set_up(script, "{ native = true }")
    newer_neovim.open(script)
    newer_neovim.keys("idef area(")
    newer_neovim.until(["def area("], WHOLE)
    return newer_neovim


def test_it_stands_between_what_is_before_and_behind_the_cursor(native):
    (mark,) = native.lua(
        "return vim.api.nvim_buf_get_extmarks(0, vim.api.nvim_get_namespaces()[...], 0, -1, { details = true })",
        NEOVIMS_OWN,
    )
    assert mark[1:3] == [0, len("def area(")]
    assert mark[3]["virt_text_pos"] == "inline"


def test_tab_accepts_all_of_it_and_tells_the_server(native, script):
    native.keys("<Tab>")
    native.after([SIGNATURE, *BODY])
    assert list(native.api.current.window.cursor) == [3, len(BODY[1])]
    assert [entry["command"] for entry in script.wait("command")] == ["paceline.accept"]
    native.keys("<Esc>u")
    native.after(["def area("])


def test_what_was_typed_of_it_is_not_inserted_again(native):
    native.keys("wi<Tab>")  # Neovim asks again only 200 ms after a key, and has the first item until then
    native.after([SIGNATURE, *BODY])


def test_tab_inserts_nothing_that_does_not_go_on_with_what_was_typed(native, script):
    script.goal.write_text("")  # no other suggestion will come
    native.keys("x<Tab>!")
    native.until(["def area(x!"], "")


def test_words_are_accepted_one_by_one(native, script):
    native.keys("<M-Right>")
    native.until(["def area(width"], WHOLE[5:])
    native.keys("<M-Right>")
    native.until(["def area(width,"], WHOLE[6:])
    script.until(lambda: len(script.notified("textDocument/didPartiallyAcceptCompletion")) == 2)
    parts = script.notified("textDocument/didPartiallyAcceptCompletion")
    assert [part["acceptedLength"] for part in parts] == [5, 1]


def test_leaving_insert_mode_and_the_key_for_it_take_it_away(native):
    native.keys("<C-]>")
    native.until(["def area("], "")
    native.keys("w")
    native.until(["def area(w"], WHOLE[1:])
    native.keys("<Esc>")
    native.until(["def area(w"], "")


def test_columns_are_counted_as_was_agreed(newer_neovim, script):
    script.goal.write_text('print("😀é", area)\n', encoding="utf-8")
    newer_neovim.space = NEOVIMS_OWN
    newer_neovim.set_up(script, "{ native = true }")
    newer_neovim.open(script)
    newer_neovim.keys('iprint("😀é", ')
    newer_neovim.until(['print("😀é", '], "area)")
    newer_neovim.keys("ar<Tab>")
    newer_neovim.after(['print("😀é", area)'])


def test_a_display_that_is_on_for_all_servers_does_not_draw_it_twice(newer_neovim, script):
    newer_neovim.lua("vim.lsp.inline_completion.enable(true)")
    newer_neovim.set_up(script)
    newer_neovim.open(script)
    newer_neovim.keys("idef area(")
    newer_neovim.until(["def area("], WHOLE)
    assert not newer_neovim.lua(
        "return vim.lsp.inline_completion.is_enabled({ bufnr = 0, client_id = vim.lsp.get_clients()[1].id })"
    )
    newer_neovim.keys("<Tab>")
    newer_neovim.after([SIGNATURE, *BODY])
