"""What is wrong with the app's table of the configuration, though it is of the right kind."""

from paceline.config import ChatConfig
from paceline.tui import keymap, themes


def wrong(chat: ChatConfig) -> list[str]:
    """A sentence for each value that means nothing: themes, actions and keys that there are not. The rest is used."""
    theme = themes.fault(chat.theme)
    return [
        *([f"chat.theme: {theme}"] if theme else []),
        *(f"chat.keys: {fault}" for fault in keymap.faults(chat.keys)),
    ]
