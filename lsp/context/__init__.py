"""What else than the text around the cursor the model is shown: parts of other files, within a budget."""
