"""`python -m paceline` does what the command `paceline` does."""

from paceline.cli import main

if __name__ == "__main__":
    main()
