"""From an answer to changes of files."""

from collections.abc import Mapping

from paceline.chat.edits.changes import Change


def propose(answer: str, files: Mapping[str, str], wanted: str = "") -> tuple[Change, ...]:
    r"""The changes that an answer asks for, one for each file, in the answer's order; empty: it asks for none.

    files: exact texts (see store.read: line endings and byte order mark as they are) by the name that they are shown
    to the model under, relative to the workspace. wanted: the file that the question was about, "": none in particular.

    What cannot be applied beyond doubt is not `certain` and has notes; nothing raises.
    """
    raise NotImplementedError
