"""Where a completion is wanted: what the editor says about a document and the cursor in it."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """A cursor in a document. Texts have the document's own line endings and come from the editor alone."""

    uri: str  # the document's; of a notebook, the cell's
    language: str  # the protocol's languageId; "" where the editor does not say
    version: int | None
    before: str  # the text up to the cursor
    after: str  # and after it
    path: str = ""  # within its workspace folder, with "/"; "" for a document that has no name or is outside of all
    root: str = ""  # that folder's path on this machine; "" where there is none
    lost: bool = False  # the editor's last change could not be read: its text is another one by now
    elsewhere: int = 0  # characters of `before` that stand in earlier cells of a notebook

    @property
    def offset(self) -> int:
        """Of the cursor in its document."""
        return len(self.before) - self.elsewhere
