"""A progress that remembers what it was told."""


class Recorder:
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.starts: list[tuple[int, int]] = []
        self.done = 0
        self.stops = 0

    def start(self, total: int, done: int) -> None:
        self.starts.append((total, done))
        self.done = done

    def advance(self, count: int) -> None:
        self.done += count

    def note(self, text: str) -> None:
        self.notes.append(text)

    def stop(self) -> None:
        self.stops += 1

    def said(self, text: str) -> bool:
        return any(text in note for note in self.notes)
