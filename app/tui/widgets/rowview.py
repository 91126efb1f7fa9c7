"""A view of rows that is moved by rows and pages."""

from textual.geometry import Size
from textual.scroll_view import ScrollView


class RowView(ScrollView):
    """Moves at once, where Textual glides: every step on the way would have to be laid out and drawn."""

    @property
    def room(self) -> Size:
        """Cells beside the scroll bar."""
        return self.scrollable_content_region.size

    def move(self, top: float) -> None:
        """Makes this the first row."""
        self.scroll_to(y=top, animate=False, force=True)

    def action_scroll_home(self) -> None:
        """Shows the beginning."""
        self.move(0)

    def action_scroll_end(self) -> None:
        """Shows the end."""
        self.move(self.max_scroll_y)

    def action_page_up(self) -> None:
        """Shows what is above."""
        self.move(self.scroll_offset.y - max(1, self.room.height - 2))

    def action_page_down(self) -> None:
        """Shows what is below."""
        self.move(self.scroll_offset.y + max(1, self.room.height - 2))

    def action_scroll_up(self) -> None:
        """One row up."""
        self.move(self.scroll_offset.y - 1)

    def action_scroll_down(self) -> None:
        """One row down."""
        self.move(self.scroll_offset.y + 1)
