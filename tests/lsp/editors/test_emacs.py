"""Paceline in a real Emacs without a screen: keys are typed as macros, so that all hooks of its command loop run."""

import json
import subprocess

import pytest

from paceline.errors import ExitCode

PRELUDE = """
(setq paceline-command (list %s) paceline-delay 0.01 inhibit-message nil)
(defun wait-for (fact)
  (let ((until (+ (float-time) 20)))
    (while (not (funcall fact))
      (when (> (float-time) until) (error "it does not happen: %%S %%S" (buffer-string) (ghost)))
      (accept-process-output nil 0.01))))
(defun ghost () (if paceline--visible paceline--rest ""))
(defun until-ghost (text) (wait-for (lambda () (equal (ghost) text))))
(defun keys (typed) (execute-kbd-macro (kbd typed)))
(defvar said nil)
(defun say (&rest values) (push (apply #'vector values) said))
(find-file "%s")
(paceline-mode 1)
"""


@pytest.fixture
def emacs(editor_program, script, folders):
    """Runs elisp behind the prelude; what it says, a list each."""
    binary = editor_program("emacs")

    def run(code, name="new.py", text=""):
        path = folders / name
        path.write_text(text, encoding="utf-8")
        command = " ".join(json.dumps(word) for word in script.command)
        file = folders / "test.el"
        file.write_text(
            f"(load {json.dumps(str(script.editors / 'emacs' / 'paceline.el'))} nil t)\n"
            + PRELUDE % (command, path)
            + code
            # once this is answered, the server has read all
            + "\n(when paceline--connection (jsonrpc-request paceline--connection :shutdown nil))"
            + "\n(let ((text (json-serialize (apply #'vector (nreverse said)))))"
            "(princ (if (multibyte-string-p text) text (decode-coding-string text 'utf-8))))",  # bytes from Emacs 30 on
            encoding="utf-8",
        )
        ended = subprocess.run(
            [binary, "-Q", "--batch", "-l", str(file)], capture_output=True, text=True, timeout=90, encoding="utf-8"
        )
        assert ended.returncode == ExitCode.OK, ended.stderr
        return json.loads(ended.stdout)

    return run


WHOLE = 'width, height):\n    """The area of a rectangle."""\n    return width * height'
COME = f'(keys "def SPC area(") (until-ghost {json.dumps(WHOLE)})'


def test_typing_what_it_says_keeps_it_and_anything_else_takes_it_away(emacs):
    said = emacs(COME + '(setq paceline-delay 60) (keys "wi") (say (ghost)) (keys "x") (say (ghost))')
    assert said == [[WHOLE[2:]], [""]]


def test_tab_accepts_all_of_it_and_tells_the_server(emacs, script):
    said = emacs(COME + '(keys "TAB") (say (buffer-string) (ghost))')
    assert said == [[f"def area({WHOLE}", ""]]
    assert script.commands() == ["paceline.accept"]
    assert script.heard("text")[-1]["text"] == f"def area({WHOLE}"


def test_words_and_lines_are_accepted_one_by_one(emacs, script):
    said = emacs(
        COME + '(setq paceline-delay 60) (keys "M-<right>") (say (buffer-string) (ghost))'
        '(keys "M-<right>") (say (buffer-string) (ghost)) (keys "M-<down>") (say (buffer-string) (ghost))'
    )
    assert said == [
        ["def area(width", WHOLE[5:]],
        ["def area(width,", WHOLE[6:]],
        ["def area(width, height):", WHOLE[15:]],
    ]
    parts = script.notified("textDocument/didPartiallyAcceptCompletion")
    assert [part["acceptedLength"] for part in parts] == [5, 6, 15]


def test_its_keys_hold_only_while_it_is_shown(emacs):
    said = emacs(
        COME
        + '(keys "C-g") (say (ghost)) (say (eq (key-binding (kbd "TAB")) #\'paceline-accept))'.replace(
            "(say (eq", "(say (if (eq"
        ).replace("accept))", "accept) 1 0))")
    )
    assert said == [[""], [0]]


def test_moving_away_takes_it_away(emacs):
    assert emacs(COME + '(keys "C-a") (say (ghost))') == [[""]]


def test_columns_are_counted_as_was_agreed(emacs, script):
    script.goal.write_text('print("😀é", area)\n', encoding="utf-8")
    emacs('(insert "print(\\"😀é\\",") (keys "SPC") (until-ghost "area)") (say 1)')
    assert script.heard("ask")[-1]["position"] == {"line": 0, "character": 13}


def test_every_change_reaches_the_server(emacs, script):
    said = emacs(
        '(keys "a RET b RET c <up> C-k x DEL y") (goto-char (point-min)) (insert "😀\\n") (upcase-region 1 (point-max))'
        '(keys "z") (wait-for (lambda () (null paceline--pending))) (say (buffer-string))',
        text="first\nlast\n",
    )
    assert script.heard("text")[-1]["text"] == said[0][0]


def test_edit_sends_the_region_and_the_wish(emacs, script):
    emacs(
        '(paceline-edit 1 (point-max) "louder") (say 1)',
        text="one\n",
    )
    sent = script.wait("command")[0]
    assert (sent["command"], sent["arguments"][3]) == ("paceline.edit", "louder")
    assert sent["arguments"][1] == {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}


ASKED = """
(defvar here (current-buffer))
(defun proposed ()
  (with-current-buffer here
    (cl-remove-if-not (lambda (each) (eq (overlay-get each 'face) 'diff-removed))
                      (overlays-in (point-min) (1+ (point-max))))))
(cl-letf (((symbol-function 'y-or-n-p)
           (lambda (_)
             (dolist (each (proposed))
               (say (with-current-buffer here
                      (buffer-substring-no-properties (overlay-start each) (overlay-end each)))
                    (substring-no-properties (overlay-get each 'after-string))))
             %s)))
  (paceline-edit 5 8 "becomes ZWEI")
  (wait-for (lambda () (and said (not (proposed)))))
  (say (buffer-string)))
"""


@pytest.mark.parametrize(("answer", "line"), [("t", "ZWEI"), ("nil", "two")])
def test_an_edit_is_shown_and_made_only_if_the_person_says_so(emacs, script, answer, line):
    said = emacs(ASKED % answer, text="one\ntwo\nthree\n")
    assert said == [["two", "ZWEI"], [f"one\n{line}\nthree\n"]]
    assert script.wait("applied")[0]["result"]["applied"] == (answer == "t")


def test_an_edit_for_another_version_of_the_text_is_not_made(emacs):
    said = emacs(
        "(let ((change (list :textDocument (list :uri (paceline--uri) :version 7) :edits []))"
        "      (edit nil))"
        "  (setq edit (paceline--apply (list :documentChanges (vector change))))"
        "  (say (plist-get edit :failureReason)))",
        text="one\n",
    )
    assert said == [["the text has changed meanwhile"]]


def test_how_far_an_edit_is_stands_in_the_echo_area(emacs):
    said = emacs(
        "(let (shown) (cl-letf (((symbol-function 'message) (lambda (&rest all) (setq shown (apply #'format all)))))"
        " (paceline--notification nil '$/progress"
        '  (list :token 1 :value (list :kind "report" :message "writing" :percentage 40))))'
        " (say shown))"
    )
    assert said == [["Paceline: writing 40 %"]]


def test_a_missing_program_is_said_with_what_to_do(emacs):
    said = emacs(
        '(paceline-mode -1) (setq paceline--connection nil paceline-command (list "no-such-paceline"))(paceline-mode 1)'
        '(say (with-current-buffer "*Warnings*" (buffer-string)))'
    )
    assert "paceline editor emacs --write" in said[0][0]
