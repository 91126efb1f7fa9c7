"""Chat without a screen: sessions, context, edits. Knows no Textual."""
