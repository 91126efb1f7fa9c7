"""What goes with a message: files, symbols, changes, outputs of commands, and how much of it fits."""
