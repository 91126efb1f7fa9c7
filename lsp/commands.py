"""Names of the commands that editors send."""

ACCEPT, ACCEPT_WORD, ACCEPT_LINE = "paceline.accept", "paceline.acceptWord", "paceline.acceptLine"
RESTART, STATUS, EDIT = "paceline.restartEngine", "paceline.status", "paceline.edit"
