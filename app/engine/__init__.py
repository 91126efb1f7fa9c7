"""The decoding engine; knows no HTTP, no editor and no terminal."""

import os

# GNU's OpenMP reads this when llama.cpp's libraries are loaded. A thread that waits for the others at a barrier spins,
# by default for some milliseconds, before it sleeps. There are hundreds of barriers in a decode, so where another
# program has one of the cores, every decode takes a hundred times as long: the thread that is waited for does not run
# because the waiting one spins. A thousand turns (about a microsecond) cost nothing where the cores are ours. (Qwen
# 1.5B on two cores, milliseconds a token, alone / beside a busy program: default 26 / 3200, 1000 turns 26 / 62, never
# spinning 39 / 43.)
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
