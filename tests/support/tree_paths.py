"""Ways through trees of drafted tokens."""

from paceline.engine.tree import ROOT, Parents


def path_to(parents: Parents, node: int) -> list[int]:
    """The tokens from the root to this one, both ends included except the root."""
    path: list[int] = []
    while node != ROOT:
        path.append(node)
        node = parents[node]
    return path[::-1]
