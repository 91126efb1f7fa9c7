"""Paceline in Emacs through its two clients of language servers, set up as the README says, without a screen."""

import json
import re
import subprocess

import pytest

from paceline.errors import ExitCode

from .conftest import EDITORS

README = (EDITORS / "emacs" / "README.md").read_text("utf-8")
BEGUN = "def area("
WHOLE = 'width, height):\n    """The area of a rectangle."""\n    return width * height'
# how a client is told to serve the buffer, asked whether it does, and its completion is taken. lsp-mode has its
# completions taken by company or corfu: completion-at-point alone puts in no more than the line that is listed
CLIENTS = {
    "eglot": ("(eglot-ensure) (run-hooks 'post-command-hook)", "(eglot-current-server)", "(completion-at-point)"),
    "lsp-mode": (
        "(lsp)",
        "(cl-some (lambda (each) (eq 'initialized (lsp--workspace-status each))) (lsp-workspaces))",
        """(pcase-let* ((`(,start ,end ,table . ,more) (lsp-completion-at-point))
                        (chosen (car (all-completions (buffer-substring start end) table))))
             (delete-region start end)
             (insert chosen)
             (funcall (plist-get more :exit-function) chosen 'finished))""",
    ),
}
SCENE = """
(package-initialize)
(setq inhibit-message t make-backup-files nil create-lockfiles nil eldoc-documentation-functions nil
      lsp-auto-guess-root t lsp-enable-snippet nil lsp-enable-file-watchers nil lsp-warn-no-matched-clients nil
      lsp-keep-workspace-alive nil lsp-auto-execute-action nil)
(unless (require '%(client)s nil t) (princ "not here") (kill-emacs 0))
%(set_up)s
(defun wait-for (fact)
  (let ((until (+ (float-time) 20)))
    (while (not (funcall fact))
      (when (> (float-time) until) (error "it does not happen: %%S" (buffer-string)))
      (accept-process-output nil 0.01))))
(find-file "%(file)s")
%(begin)s
(wait-for (lambda () %(served)s))
(goto-char (point-max))
(dolist (each (string-to-list "%(typed)s"))
  (setq last-command-event each)
  (call-interactively #'self-insert-command))
%(take)s
(princ (json-serialize (buffer-string)))
(kill-emacs 0)
"""


def documented(client: str) -> str:
    """The configuration that the README has for a client."""
    (found,) = [block for block in re.findall("```elisp\n(.*?)```", README, re.DOTALL) if f"{client}-" in block]
    return found


@pytest.mark.parametrize("client", CLIENTS)
def test_a_suggestion_is_completed_in_the_buffer_of_another_client(client, editor_program, script, folders):
    binary = editor_program("emacs")
    document = folders / "new.txt"
    document.write_text("", encoding="utf-8")
    command = " ".join(json.dumps(word) for word in script.command)
    set_up = documented(client.removesuffix("-mode")).replace('"paceline" "lsp"', command)
    assert command in set_up
    begin, served, take = CLIENTS[client]
    code = SCENE % {
        "client": client,
        "set_up": set_up,
        "file": document,
        "begin": begin,
        "served": served,
        "take": take,
        "typed": BEGUN,
    }
    file = folders / "test.el"
    file.write_text(code, encoding="utf-8")
    # without a person's own settings, but with what the system has installed beside Emacs
    ended = subprocess.run(
        [binary, "-q", "--batch", "-l", str(file)], capture_output=True, text=True, timeout=90, encoding="utf-8"
    )
    if ended.stdout == "not here":
        pytest.skip(f"{client} is not here")
    assert ended.returncode == ExitCode.OK, ended.stderr
    assert json.loads(ended.stdout) == BEGUN + WHOLE
    (opened,) = script.heard("open")
    assert opened["uri"] == document.as_uri()
    assert script.heard("text")[-1]["text"].startswith(BEGUN)
    assert script.heard("popup")[-1]["position"] == {"line": 0, "character": len(BEGUN)}
