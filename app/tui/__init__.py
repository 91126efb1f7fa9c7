"""The terminal app: screens and widgets over paceline.chat."""
