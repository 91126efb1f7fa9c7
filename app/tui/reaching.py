"""The way to the engine: made when it is needed, and made anew where the configuration is another one."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from paceline.client.async_client import AsyncClient
    from paceline.tui.screens.chat import ChatScreen


class Reaching:
    """One screen's. Conversations ask through it, so that they reach whoever answers now."""

    def __init__(self, screen: "ChatScreen") -> None:
        self._screen = screen
        self._client: AsyncClient | None = None

    @property
    def client(self) -> "AsyncClient":
        """Whoever answers now."""
        if self._client is None:
            screen = self._screen
            self._client = screen.services.connect(
                screen.config, lambda text: screen.app.call_from_thread(screen.tell, text)
            )
        return self._client

    def chat(self, *args: Any, **more: Any) -> Any:  # noqa: ANN401 - as AsyncClient.chat
        """As AsyncClient.chat."""
        return self.client.chat(*args, **more)

    async def close(self) -> None:
        """Let go of it; it is made again when it is needed."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
