"""A person's files: what may be shown to a model, what they define, how a text changes."""
