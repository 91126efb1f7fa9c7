"""From what a model answered to changes of files: recognised, reviewed by a person, written, and undone."""
